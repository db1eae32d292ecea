#pragma once
// Writes the result as text and JSON (course/docs/conformance.md shows them). Everything that a
// server sent is escaped. Pure.

#include <string>

#include "course/conformance/run.hpp"

namespace exchange::conformance {

// Lists on one screen what to fix first; then the rules up to the level `shown` that the server
// does not keep.
std::string text_of(const ConformanceReport& report, Level shown = Level::should);
std::string to_json(const ConformanceReport& report);

}  // namespace exchange::conformance
