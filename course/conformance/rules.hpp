#pragma once
// The rules of docs/protocol.md, which is built into the program, and what they mean for other
// people's servers.

#include <string>
#include <string_view>
#include <vector>

namespace exchange::conformance {

// As docs/protocol.md has it for each rule, and says what it means.
enum class Level { must, should, ours };
const char* name_of(Level level);
// Points for a rule that is kept.
inline constexpr unsigned points_of(Level level) {
  return level == Level::must ? 3 : level == Level::should ? 1 : 0;
}

struct Rule {
  std::string number;    // "M4"
  std::string sentence;  // as docs/protocol.md says it, without its level and tests
  Level level = Level::ours;
  std::string untested;  // why no case tests it; empty if one does
};

// In the order of the page.
std::vector<Rule> all_rules();
// The same from another text: for tests. Throws std::invalid_argument for a rule without a level.
std::vector<Rule> read_rules(std::string_view page);

}  // namespace exchange::conformance
