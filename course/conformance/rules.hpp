#pragma once
// The rules of docs/protocol.md, which is built into the program, and their weight for servers of
// other authors.

#include <string>
#include <string_view>
#include <vector>

namespace exchange::conformance {

// The level of a rule. docs/protocol.md gives it for each rule and explains it.
enum class Level { must, should, ours };
const char* to_string(Level level);
// The points for a rule that the server keeps.
inline constexpr unsigned points_of(Level level) {
  return level == Level::must ? 3 : level == Level::should ? 1 : 0;
}

struct Rule {
  std::string number;    // "M4"
  std::string sentence;  // as in docs/protocol.md, without its level and tests
  Level level = Level::ours;
  std::string untested;  // why no case tests it; empty if one does
};

// Returns the rules in the order of the page. Throws std::invalid_argument for a rule without a
// level.
std::vector<Rule> all_rules();

}  // namespace exchange::conformance
