#pragma once
// The test cases, each of one rule: most as text (cases/README.md), and in C++ those that look at
// replies in more detail. A case runs several times, with other data each
// time.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "course/conformance/talk.hpp"

namespace exchange::conformance {

struct Case {
  std::string rule;  // its number in docs/protocol.md
  std::string name;
  std::function<void(Talk&)> run;
  bool once = false;  // a second round would show nothing new, and takes long
};

using Cases = std::vector<Case>;
Cases all_cases();

// Those of a file of cases/. `file` is its name, for messages. A line that is no step of the
// language is found when its case runs: that then throws TestError with file and line.
Cases read_cases(std::string_view file, std::string_view text);
Cases reply_cases();
Cases concurrency_cases();

}  // namespace exchange::conformance
