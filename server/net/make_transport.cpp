#include "net/event_policies.hpp"
#include "net/thread_policy.hpp"

namespace exchange {

const char* policy_name(Policy policy) {
  switch (policy) {
    case Policy::thread: return "thread";
    case Policy::pool: return "pool";
    case Policy::loop: return "loop";
  }
  return "";
}

std::unique_ptr<Transport> make_transport(const TransportParts& parts) {
  switch (parts.options.policy) {
    case Policy::thread: return make_thread_policy(parts);
    case Policy::pool: return make_pool_policy(parts);
    case Policy::loop: return make_loop_policy(parts);
  }
  return nullptr;
}

}  // namespace exchange
