#pragma once
// The report of a run as one HTML file for people: the same figures as the JSON, with charts. It
// fetches nothing and needs no script; without one the readouts of the charts are plain tooltips.
// Written as XHTML, so that XML tools read it too.

#include <string>

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

// Of a report in the form "exchange-loadgen/1". Whatever is missing or null is left out. All texts
// are escaped.
std::string html_page(const Json& report);

}  // namespace exchange::loadgen
