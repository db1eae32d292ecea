#pragma once
// Readiness knows the role of this server and its condition. The health paths answer from this
// state alone, so that they never wait. Owner: the door's server. Any thread.

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
  // starting: the server has not opened the store yet, or reads it.
  enum class Role { starting, standby, active, stopping };

  // Both arguments must outlive it.
  Readiness(const GatewayLimits& limits, const Journal& journal)
      : limits_(limits), journal_(journal) {}

  // Returns how long the threads of clients have made no progress at `now_ns`.
  using Silence = std::function<std::int64_t(std::int64_t now_ns)>;

  // `health` belongs to the core or to the standby. `silence` is called while the server is active;
  // empty if it has no such threads.
  void become(Role role, std::shared_ptr<const Health> health, std::int64_t now_ns,
              Silence silence = {});
  Role role() {
    return state_.with([](const State& state) { return state.role; });
  }

  // Each function returns the reason as a sentence, or an empty string if all is well.

  // The process cannot recover by itself.
  std::string not_alive(std::int64_t now_ns);
  std::string not_ready(std::int64_t now_ns);
  // The server is neither ready nor able to take over.
  std::string not_able(std::int64_t now_ns);
  // The state that this server shows may be outdated.
  std::string stale(std::int64_t now_ns);

 private:
  struct State {
    Role role = Role::starting;
    std::shared_ptr<const Health> health = std::make_shared<Health>();
    std::int64_t since_ns = 0;
    Silence silence = {};
    // Returns a sentence if the threads of clients have been silent for longer than `max_ns`.
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
