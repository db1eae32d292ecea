#pragma once
// Invented names for a leaderboard. Pure.

#include <random>
#include <set>
#include <string>

namespace exchange::classroom {

// Returns a name that is not in `taken`, such as "Blue Heron", and adds it to `taken`.
std::string new_pseudonym(std::set<std::string>& taken, std::random_device& random);

}  // namespace exchange::classroom
