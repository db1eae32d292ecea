#pragma once
// The seconds of a run (`series` of the report) as CSV after RFC 4180: comma separated, CRLF at the
// end of each line.

#include <string>

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

std::string csv_header();
// One second; what is missing or null is an empty field.
std::string csv_row(const Json& second);

}  // namespace exchange::loadgen
