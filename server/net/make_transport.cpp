#include "net/event_policies.hpp"
#include "net/thread_policy.hpp"

namespace exchange {

std::unique_ptr<Transport> make_transport(const Options& options, Service& service,
                                          Metrics& metrics, Certificate* certificate) {
  switch (options.policy) {
    case Policy::thread: return make_thread_policy(options, service, metrics, certificate);
    case Policy::pool: return make_pool_policy(options, service, metrics, certificate);
    case Policy::loop: return make_loop_policy(options, service, metrics, certificate);
  }
  return nullptr;
}

}  // namespace exchange
