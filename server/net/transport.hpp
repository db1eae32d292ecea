#pragma once
// A transport accepts clients and serves them under one thread policy. A policy determines on which
// threads conversations run, not how they proceed: all share Conversation; pool and loop share one
// coroutine.

#include <cstdint>
#include <memory>

#include "core/service.hpp"
#include "metrics/metrics.hpp"
#include "net/limits.hpp"
#include "protocol/limits.hpp"

namespace exchange {

class Authenticator;
class Certificate;

// The parts that a transport uses. All of them outlive the transport, except the service: at the
// end, stop() the transport, then destroy the service, then the transport. Until the service is
// destroyed, it may still be inside one of the transport's sinks.
struct TransportParts {
  const NetOptions& options;
  const ProtocolLimits& protocol;
  Service& service;
  Metrics& metrics;
  Authenticator* authenticator = nullptr;  // null: accounts have no keys
  Certificate* certificate = nullptr;      // null: clients do not speak TLS
};

class Transport {
 public:
  virtual ~Transport() = default;
  // The port that it listens on, even if the options have 0.
  virtual std::uint16_t port() const = 0;
  // The number of threads that serve; 0 if each client has its own.
  virtual unsigned threads() const = 0;
  // How long no thread of an event queue has made progress, beyond the second between two beats;
  // the longest of several queues. 0 if each client has its own thread. Any thread.
  virtual std::int64_t silence_ns(std::int64_t now_ns) const = 0;
  // Accepts no more clients, lets every connection answer the requests that it has received, closes
  // all connections, and ends the threads. Waits drain_ms for clients, and without limit for the
  // service.
  virtual void stop() = 0;
};

// Begins to listen and serve. Throws std::system_error if it cannot listen on the address.
std::unique_ptr<Transport> make_transport(const TransportParts& parts);
// Each of these makes the transport of one policy.
std::unique_ptr<Transport> make_thread_policy(const TransportParts& parts);
std::unique_ptr<Transport> make_pool_policy(const TransportParts& parts);
std::unique_ptr<Transport> make_loop_policy(const TransportParts& parts);

// Returns the number of CPUs that this process may use (taskset, cpusets), at most the quota of its
// control group (cpu.max).
unsigned usable_cpus();

}  // namespace exchange
