#pragma once
// What the exchange would refuse of a class, found before it is made. Pure.

#include <string>

#include "client/classroom/scenario.hpp"

namespace exchange::cli {

// Executes the scenario on an engine of its own, for this number of students, and reads its
// timetable. `file` is its name. Throws UsageError with the first error, which names the file.
void check_scenario(const classroom::Scenario& scenario, std::size_t students,
                    const std::string& file);

}  // namespace exchange::cli
