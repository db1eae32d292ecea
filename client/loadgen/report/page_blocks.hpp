#pragma once
// Parts of the model of a page (client/report/page.html), from which the reports build theirs.
// Pure.

#include <string>
#include <vector>

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen::page {

using List = std::vector<Json>;
using Values = std::vector<double>;  // NaN is a gap in a line

Json as(const char* kind, const Json& text);
Json verdict(const Json& good, const char* yes, const char* no);
// "1 client", "200 clients".
Json counted(const Json& count, const std::string& one);
Json percent(double share);

Json text_block(List parts);
// A command line as a shell would need it.
Json command_block(const Json& arguments);
Json side_by_side(List blocks);
// A name that starts with '#' is that of a column of numbers.
Json table(const std::vector<std::string>& names, List rows, const Json& note = "");
Json line(const std::string& name, Values values, const char* color, const char* look = "line");

// A chart of latencies by percentile: the lines are those of distribution_line().
Json distribution(const Json& title, List lines);
// `buckets` of a report: upper bound in microseconds and count, ascending. The line ends where
// fewer than one request is left above it.
Json distribution_line(const std::string& name, const Json& buckets, const char* color,
                       const char* look = "line");

}  // namespace exchange::loadgen::page
