#pragma once
// The result as text, JSON and an HTML page (course/docs/conformance.md shows them). What a
// server sent is escaped everywhere. Pure.

#include <string>

#include "course/conformance/run.hpp"

namespace exchange::conformance {

// On one screen what to mend first; then the rules up to the level `shown` that are not kept.
std::string text_of(const ConformanceReport& report, Level shown = Level::should);
std::string to_json(const ConformanceReport& report);
std::string html_of(const ConformanceReport& report);

}  // namespace exchange::conformance
