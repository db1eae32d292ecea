#pragma once
// The server in this process, for test cases that run under each thread policy. A failure names the
// policy.

#include "support/in_process_server.hpp"
#include "support/policies.hpp"

namespace exchange::testing {

class AnyServer : public InProcessServer {
 public:
  using Adjust = std::function<void(Options&)>;
  explicit AnyServer(const Adjust& adjust = {}) : AnyServer(any_policy(), adjust) {}

 private:
  AnyServer(Policy policy, const Adjust& adjust)
      : InProcessServer(policy, adjust),
        named_(Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
               << to_string(policy)) {}
  const Catch::ScopedMessage named_;
};

}  // namespace exchange::testing
