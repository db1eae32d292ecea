// The load generator's evaluation of the server's stage histograms.
#include "client/loadgen/server_stages.hpp"

#include <cmath>

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

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
