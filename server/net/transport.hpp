#pragma once
// A transport accepts clients and serves them under one thread policy. A policy is where
// conversations run, not how they go: all share Conversation; pool and loop share one coroutine.

#include <cstdint>
#include <memory>

#include "core/service.hpp"
#include "metrics/metrics.hpp"
#include "net/limits.hpp"
#include "protocol/limits.hpp"

namespace exchange {

class Authenticator;
class Certificate;

// What a transport is made of and works with. All of it outlives the transport, but the service: at
// the end stop() the transport, then destroy the service, then the transport. Until it is gone, the
// service may still be inside one of the transport's sinks.
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
  // The port it listens on, also where 0 was asked for.
  virtual std::uint16_t port() const = 0;
  // How many threads serve: of one per client, 0.
  virtual unsigned threads() const = 0;
  // How long no thread of a queue of events has gone on, beyond the second between two beats; of
  // several queues the longest. Of one thread per client, 0. Any thread.
  virtual std::int64_t silence_ns(std::int64_t now_ns) const = 0;
  // Accepts no more, lets every connection answer what it has received, closes them all, ends the
  // threads. Waits drain_ms for clients, and without limit for the service.
  virtual void stop() = 0;
};

// Listens and serves at once. Throws std::system_error if it cannot listen on the address.
std::unique_ptr<Transport> make_transport(const TransportParts& parts);
// Of each policy.
std::unique_ptr<Transport> make_thread_policy(const TransportParts& parts);
std::unique_ptr<Transport> make_pool_policy(const TransportParts& parts);
std::unique_ptr<Transport> make_loop_policy(const TransportParts& parts);

// CPUs that this process may use (taskset, cpusets), and that the quota of its control group pays
// for (cpu.max).
unsigned usable_cpus();

}  // namespace exchange
