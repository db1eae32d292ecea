#pragma once
// Invented names for a leaderboard. Pure.

#include <random>
#include <set>
#include <string>

namespace exchange::classroom {

// One that is not in `taken`, such as "Blue Heron"; it is added.
std::string new_pseudonym(std::set<std::string>& taken, std::random_device& random);

}  // namespace exchange::classroom
