#pragma once
// The server in this process: core and memory store, with the XML port, the HTTP port or both on
// free ports of the loopback interface. Stopped by its destructor. Its clock stands still, so that
// every reply is known to the last byte; with HTTP, which reports ages, it is the system's. Thread:
// the test's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "auth/authenticator.hpp"
#include "core/core.hpp"
#include "http/http_server.hpp"
#include "net/certificate.hpp"
#include "net/transport.hpp"
#include "options.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"

namespace exchange::testing {

inline const char* name_of(Policy policy) {
  return policy == Policy::thread ? "thread" : policy == Policy::pool ? "pool" : "loop";
}

class InProcessServer {
 public:
  // Not started: adjust options and store, then start().
  InProcessServer();
  // Started, with the XML port under this policy. `adjust` may change the options before: also
  // keys and TLS.
  explicit InProcessServer(Policy policy, const std::function<void(Options&)>& adjust = {});
  ~InProcessServer();
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  struct Ports {
    bool xml = false, http = false;
  };
  // On what the store has: again after a stop(), too.
  void start(Ports ports);
  // In the order of main.cpp; returns how many milliseconds it took.
  long long stop();

  std::uint16_t port() const { return transport->port(); }
  std::uint16_t http_port() const { return http->port(); }

  Options options;
  Metrics metrics;
  FaultyStore store;  // open
  KeyRing keys;
  std::unique_ptr<Certificate> certificate;
  std::optional<MarketFeed> feed;
  std::unique_ptr<Core> core;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<Transport> transport;

 private:
  FixedClock clock_;
};

}  // namespace exchange::testing
