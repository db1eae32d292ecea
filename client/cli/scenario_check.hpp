#pragma once
// Finds what the exchange would refuse before a class is created. Pure.

#include <string>

#include "client/classroom/scenario.hpp"

namespace exchange::cli {

// Executes the scenario on a separate engine, for this number of students, and parses its
// timetable. `file` is its name. Throws UsageError with the first error, which names the file.
void check_scenario(const classroom::Scenario& scenario, std::size_t students,
                    const std::string& file);

}  // namespace exchange::cli
