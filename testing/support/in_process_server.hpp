#pragma once
// The server in this process, over a memory store, on free ports of the loopback interface. Stopped
// by its destructor. Without HTTP its clock stands still, so that every reply is known to the last
// byte. Thread: the test's.

#include <cstdint>
#include <functional>
#include <memory>

#include "options.hpp"
#include "server.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"

namespace exchange::testing {

class InProcessServer {
 public:
  // Not started: adjust options and store, then start().
  InProcessServer();
  // Started, with the XML port alone, under this policy. `adjust` may change the options before:
  // also keys and TLS.
  explicit InProcessServer(Policy policy, const std::function<void(Options&)>& adjust = {});
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // With both ports, on what the store has: again after a stop(), too.
  void start();
  // Returns how many milliseconds it took.
  long long stop();

  std::uint16_t port() const { return server->port(); }
  std::uint16_t http_port() const { return server->http_port(); }

  Options options;
  bool clock_stands_still = false;  // with HTTP, too
  Metrics metrics;
  FaultyStore store;  // open
  KeyRing keys;

 private:
  FixedClock clock_;

 public:
  std::unique_ptr<Server> server;  // ends before what it works with
};

}  // namespace exchange::testing
