// Figures of a run that the client itself limited, and the stages of the server.
#include "client/loadgen/report/report.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

// Requests that left 5 ms late and were answered 6 ms after their planned time.
RunResult late_run() {
  RunResult result;
  for (int i = 0; i < 100; ++i) {
    result.counts.lateness_ns.record(5'000'000);
    result.counts.response_ns.record(6'000'000);
  }
  result.series = {{.client_cpu_share = 0.2, .server_cpu_share = 0.5}};
  return result;
}

// Returns the text of a run with these figures, against a server that is already running.
std::string text_of(const RunResult& result) {
  Options options;
  options.connect_to = "127.0.0.1:1";
  const Workload workload(options.workload, options.load.clients);
  const Report report{.options = options, .workload = workload, .result = result};
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const out = ::open_memstream(&text, &bytes);
  print_text(out, report);
  std::fclose(out);
  const std::string printed(text, bytes);
  std::free(text);
  return printed;
}

std::string metrics(std::uint64_t below_1us, std::uint64_t below_2us, std::uint64_t all,
                    double sum) {
  const auto bucket = [](const char* bound, std::uint64_t count) {
    return std::string("exchange_stage_seconds_bucket{stage=\"parse\",le=\"") + bound + "\"} " +
           std::to_string(count) + "\n";
  };
  return "# HELP exchange_stage_seconds x\nexchange_requests_total 5\n" +
         bucket("1e-06", below_1us) + bucket("2e-06", below_2us) + bucket("+Inf", all) +
         "exchange_stage_seconds_sum{stage=\"parse\"} " + std::to_string(sum) +
         "\nexchange_stage_seconds_count{stage=\"parse\"} " + std::to_string(all) + "\n";
}

}  // namespace

TEST_CASE("only a server that was there all the time is said to close after each reply") {
  RunResult result;
  result.counts.answered = 100;
  result.counts.errors[std::size_t(ErrorClass::reset)] = 100;
  CHECK_THAT(text_of(result), contains_text("closes connections after a reply"));
  result.stopped_early = true;
  CHECK_THAT(text_of(result), !contains_text("closes connections after a reply"));
  result.stopped_early = false;
  result.counts.errors[std::size_t(ErrorClass::refused)] = 1;
  CHECK_THAT(text_of(result), !contains_text("closes connections after a reply"));
}

TEST_CASE("a client that sends late is the bottleneck, unless a hypervisor made it late") {
  const LoadOptions load;
  RunResult result = late_run();
  CHECK_THAT(client_bottleneck(result, load, 2, 2), contains_text("left 5.0 ms or more"));
  result.stolen_cpu_share = 0.1;
  CHECK(client_bottleneck(result, load, 2, 2).empty());
  result.series = {{.client_cpu_share = 0.99, .server_cpu_share = 0.5}};
  CHECK_THAT(client_bottleneck(result, load, 2, 2), contains_text("used 99 %"));
}

TEST_CASE("stage latencies are of what came between two readings") {
  const std::vector<StageLatency> latencies = between(parse_stages_of(metrics(100, 100, 100, 1)),
                                                      parse_stages_of(metrics(100, 200, 200, 1.5)));
  REQUIRE(latencies.size() == 1);
  CHECK(latencies[0].name == "parse");
  CHECK(latencies[0].count == 100);
  CHECK(std::abs(latencies[0].mean_us - 5'000) < 1e-6);
  CHECK(std::abs(latencies[0].p50_us - 1.5) < 1e-9);  // evenly spread from 1 to 2
  CHECK(std::abs(latencies[0].p99_us - 1.99) < 1e-9);
}

TEST_CASE("values beyond the last bound count as that bound, and no values as no stage") {
  CHECK(between({}, parse_stages_of(metrics(0, 0, 10, 1))).at(0).p50_us == 2.0);
  CHECK(
      between(parse_stages_of(metrics(1, 2, 3, 1)), parse_stages_of(metrics(1, 2, 3, 1))).empty());
  CHECK(between({}, {}).empty());
}
