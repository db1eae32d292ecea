#pragma once
// A transport accepts clients and runs their sessions under one thread policy. A policy is where
// sessions run, not how they are written: all share Session; pool and loop share one coroutine.

#include <cstdint>
#include <memory>

#include "core/service.hpp"
#include "metrics/metrics.hpp"
#include "options.hpp"

namespace exchange {

class Certificate;

class Transport {
 public:
  virtual ~Transport() = default;
  // The port it listens on, also where 0 was asked for.
  virtual std::uint16_t port() const = 0;
  // How many threads serve: of one per client, 0.
  virtual unsigned threads() const = 0;
  // Accepts no more, lets every connection answer what it has received, closes them all, ends the
  // threads. Waits drain_ms for clients, and without limit for the service.
  virtual void stop() = 0;
};

// Listens and serves at once. Throws std::system_error where the address cannot be had.
// All but `service` must outlive it. At the end: stop() the transport, then destroy the service,
// then the transport: until it is gone, the service may still be inside one of the transport's
// sinks. `certificate`: clients speak TLS; null: they do not.
std::unique_ptr<Transport> make_transport(const Options& options, Service& service,
                                          Metrics& metrics, Certificate* certificate = nullptr);

// CPUs that this process may use (taskset, cpusets).
unsigned usable_cpus();

}  // namespace exchange
