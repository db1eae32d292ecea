#pragma once
// The server in this process, over a memory store, on free ports of the loopback interface. Its
// destructor stops it. Without HTTP its clock stands still, so that every byte of each reply is
// known. Thread: the test's.

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
  // Starts it with the XML port alone, under this policy. `adjust` may change the options before,
  // also keys and TLS.
  explicit InProcessServer(Policy policy, const std::function<void(Options&)>& adjust = {});
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // Starts it with both ports, on the content of the store; also again after a stop().
  void start();
  // Stops it; returns how many milliseconds that took.
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
  std::unique_ptr<Server> server;  // destroyed before the objects that it uses
};

}  // namespace exchange::testing
