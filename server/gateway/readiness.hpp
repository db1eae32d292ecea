#pragma once
// Readiness is what this server is, and how well: what the health paths answer, from state alone,
// so that they never wait. Owner: the door's server. Any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/guarded.hpp"
#include "core/health.hpp"
#include "gateway/limits.hpp"
#include "journal/journal.hpp"

namespace exchange {

class Readiness {
 public:
  // starting: the store is not open, or is being read.
  enum class Role { starting, standby, active, stopping };

  // Both must outlive it.
  Readiness(const GatewayLimits& limits, const Journal& journal)
      : limits_(limits), journal_(journal) {}

  // How long the threads of clients have not gone on, by now.
  using Silence = std::function<std::int64_t(std::int64_t now_ns)>;

  // `health`: of the core, or of the standby. `silence` is asked while the server is active; empty:
  // it has no such threads.
  void become(Role role, std::shared_ptr<const Health> health, std::int64_t now_ns,
              Silence silence = {});
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
    Silence silence = {};
    // A sentence, if it is for longer than `max_ns`.
    std::string clients_silent_for(std::int64_t max_ns, std::int64_t now_ns) const;
  };
  State state() {
    return state_.with([](const State& state) { return state; });
  }
  std::string stale(const State& state, std::int64_t now_ns) const;

  const GatewayLimits& limits_;
  const Journal& journal_;
  Guarded<State> state_;
};

}  // namespace exchange
