#pragma once
// Readiness is what this server is, and how well: what the health paths answer, from state alone,
// so that they never wait. Owner: HttpServer. Any thread.

#include <cstdint>
#include <memory>
#include <string>

#include "base/guarded.hpp"
#include "core/health.hpp"
#include "http/limits.hpp"
#include "store/store.hpp"

namespace exchange {

class Readiness {
 public:
  // starting: the store is not open, or is being read.
  enum class Role { starting, standby, active, stopping };

  // Both must outlive it.
  Readiness(const HttpLimits& limits, const Store& store) : limits_(limits), store_(store) {}

  // `health`: of the core, or of the standby.
  void become(Role role, std::shared_ptr<const Health> health, std::int64_t now_ns);
  Role role() {
    return state_.with([](const State& state) { return state.role; });
  }

  // Each returns a sentence, the reason; empty: it is well.

  // A process that does not get well by itself.
  std::string not_alive(std::int64_t now_ns);
  std::string not_ready(std::int64_t now_ns);
  // Neither ready nor able to take over.
  std::string not_able(std::int64_t now_ns);
  // This server may not know what the exchange has done since.
  std::string stale(std::int64_t now_ns);

 private:
  struct State {
    Role role = Role::starting;
    std::shared_ptr<const Health> health = std::make_shared<Health>();
    std::int64_t since_ns = 0;
  };
  State state() {
    return state_.with([](const State& state) { return state; });
  }
  std::string stale(const State& state, std::int64_t now_ns) const;

  const HttpLimits& limits_;
  const Store& store_;
  Guarded<State> state_;
};

}  // namespace exchange
