// Figures of a run that the client itself limited, and its percentiles as HdrHistogram prints them.
#include "client/loadgen/report/report.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>

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

TEST_CASE("percentiles in the format of HdrHistogram have a line for each bucket and a summary") {
  exchange::Histogram ns;
  for (const std::uint64_t value : {10, 10, 20, 30}) ns.record(value * 1'000'000'000);
  std::istringstream rows(to_hdr(ns));
  std::string row;
  std::vector<std::vector<double>> values;
  std::getline(rows, row);
  CHECK(row == "       Value     Percentile TotalCount 1/(1-Percentile)");
  std::getline(rows, row);
  CHECK(row.empty());
  while (std::getline(rows, row) && !row.starts_with('#')) {
    std::istringstream cells(row);
    values.emplace_back(std::istream_iterator<double>(cells), std::istream_iterator<double>());
  }
  REQUIRE(values.size() == 3);
  CHECK(std::abs(values[0][0] - 10'000) < 200);
  CHECK(std::vector(values[0].begin() + 1, values[0].end()) == std::vector{0.5, 2.0, 2.0});
  CHECK(std::vector(values[1].begin() + 1, values[1].end()) == std::vector{0.75, 3.0, 4.0});
  CHECK(values[2] == std::vector{30'000.0, 1.0, 4.0});
  CHECK_THAT(row, contains_text("#[Mean    =    17500.000, StdDeviation   = "));
  std::getline(rows, row);
  CHECK(row == "#[Max     =    30000.000, Total count    =            4]");
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
