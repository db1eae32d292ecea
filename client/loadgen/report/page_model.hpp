#pragma once
// The report of a run as a page for people: the same figures as the JSON, with charts.

#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

// The model (client/report/page.html) of a report in the form "exchange-loadgen/1". Whatever is
// missing or null is left out.
Json page_model(const Json& report);

}  // namespace exchange::loadgen
