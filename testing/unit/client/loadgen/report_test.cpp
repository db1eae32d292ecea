// Which figures of a run the client itself limited.
#include "client/loadgen/report/report.hpp"

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

// Of requests that left 5 ms late and were answered 6 ms after their planned time.
RunResult late_run() {
  RunResult result;
  for (int i = 0; i < 100; ++i) {
    result.counts.lateness_ns.record(5'000'000);
    result.counts.response_ns.record(6'000'000);
  }
  result.series = {{.client_cpu_share = 0.2, .server_cpu_share = 0.5}};
  return result;
}

}  // namespace

TEST_CASE("a client that sends late is the bottleneck, unless a hypervisor made it late") {
  const LoadOptions load;
  RunResult result = late_run();
  CHECK_THAT(client_bottleneck(result, load, 2, 2), contains_text("left 5.0 ms or more"));
  result.stolen_cpu_share = 0.1;
  CHECK(client_bottleneck(result, load, 2, 2).empty());
  result.series = {{.client_cpu_share = 0.99, .server_cpu_share = 0.5}};
  CHECK_THAT(client_bottleneck(result, load, 2, 2), contains_text("used 99 %"));
}
