#pragma once
// The rules of docs/protocol.md, which is built into the program, and what they mean for other
// people's servers.

#include <string>
#include <string_view>
#include <vector>

namespace exchange::conformance {

// must: the course protocol says it. should: a careful reader of the course protocol expects it, or
// clients break without it. ours: a decision of this exchange that other servers need not share.
enum class Level { must, should, ours };
const char* name_of(Level level);
// Points for a rule that is kept.
inline constexpr unsigned points_of(Level level) {
  return level == Level::must ? 3 : level == Level::should ? 1 : 0;
}

struct Rule {
  std::string number;    // "M4"
  std::string sentence;  // as docs/protocol.md says it, without its origin
  bool course = false;   // its origin
  Level level;
  std::string untested;  // why no case tests it; empty if one does
};

// In the order of the page.
std::vector<Rule> all_rules();
// The same from another text: for tests.
std::vector<Rule> read_rules(std::string_view page);

}  // namespace exchange::conformance
