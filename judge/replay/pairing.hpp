#pragma once
// Every execution has a buy and a sell, which report the same of it.

#include <set>

#include "judge/replay/evidence.hpp"

namespace exchange::judge {

// `unclear`: symbols of orders whose final state is not known; they are left out.
void check_pairing(const Evidence& evidence, const std::set<std::uint16_t>& unclear,
                   Findings& findings);

}  // namespace exchange::judge
