#pragma once
// HTTP for operators, on a thread of its own (Boost.Beast). GET /healthz: the process lives. GET /readyz:
// 200 while the store is reachable, else 503. GET /metrics: counters as Prometheus text.
// Reads only metrics, so that it never slows the core.

#include <cstdint>
#include <memory>
#include <string>

#include "metrics/metrics.hpp"

namespace exchange {

class HttpServer {
 public:
  // Listens and serves at once; port 0 picks a free one. Throws std::system_error where the address cannot be had.
  HttpServer(const std::string& bind, std::uint16_t port, const Metrics& metrics);
  ~HttpServer();
  std::uint16_t port() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// All metrics in the Prometheus text format, version 0.0.4.
std::string prometheus_text(const Metrics& metrics);

}  // namespace exchange
