// Which figures of a run the client itself limited, and its seconds as CSV.
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

TEST_CASE("the CSV has a line a second, with empty fields for what is not known") {
  CHECK(to_csv({{.second = 3, .requests_per_s = 4990.25, .response_p50_ms = 0.1, .errors = 2}}) ==
        "second,warmup,planned_per_s,requests_per_s,response_mean_ms,response_p50_ms,"
        "response_p99_ms,response_p99_9_ms,response_max_ms,service_p50_ms,service_p99_ms,errors,"
        "rejected,in_flight,client_cpu_share,server_cpu_share,stolen_cpu_share\r\n"
        "3.0,false,,4990.25,,0.1,,,,,,2,0,0,0.0,,\r\n");
}
