#pragma once
// Cases as text: cases/*.txt, which are built into the program; cases/README.md has their language.
// No state; any thread.

#include <string_view>

#include "judge/conformance/cases.hpp"

namespace exchange::conformance {

// The cases of a file. `file` is its name, for messages. A line that is no step of the language is
// found when its case runs: that then throws std::logic_error with file and line.
Cases read_cases(std::string_view file, std::string_view text);

}  // namespace exchange::conformance
