#pragma once
// The test cases. Each tests one rule; most are text (cases/README.md), and those that check
// replies in more detail are C++. A case runs several times, each time with other data.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.hpp"
#include "course/conformance/talk.hpp"

namespace exchange {
std::span<const EmbeddedFile> case_files();  // of cases/
}

namespace exchange::conformance {

struct Case {
  std::string rule;  // its number in docs/protocol.md
  std::string name;
  std::function<void(Talk&)> run;
  bool once = false;  // a second round would show nothing new, and takes long
};

using Cases = std::vector<Case>;
Cases all_cases();

// Reads the cases of a file in cases/. `file` is its name, for messages. A line that is not a step
// of the language is found only when its case runs: it then throws TestError with file and line.
Cases read_cases(std::string_view file, std::string_view text);

}  // namespace exchange::conformance
