#pragma once
// Test cases that run once under each thread policy.

#include "catch.hpp"
#include "support/in_process_server.hpp"

namespace exchange::testing {

// Show it with INFO(name_of(policy)).
inline Policy any_policy() { return GENERATE(Policy::thread, Policy::pool, Policy::loop); }

}  // namespace exchange::testing
