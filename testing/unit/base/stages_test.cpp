// Stage times of requests.
#include "metrics/stages.hpp"

#include "catch.hpp"

using namespace exchange;

TEST_CASE("a choice stands until a request batch has come and ended") {
  for (int i = 0; i < 200; ++i) {
    StageStamps stamps;
    stamps.begin();  // no stage has a time yet
    const bool chosen = stamps.sampled();
    stamps.begin();
    if (chosen) CHECK(stamps.sampled());
    stamps.end(Stage::write);
  }
}

TEST_CASE("one in sixty-two chooses a request batch to sample; its stages lie between its stamps") {
  MetricList all;
  StageHistograms histograms(all);
  int sampled = 0;
  constexpr int batches = 3'100;
  for (int i = 0; i < batches; ++i) {
    StageStamps stamps;
    stamps.begin();
    const std::int64_t parsed = monotonic_ns() + 1'000'000'000;
    stamps.end(Stage::parse, parsed);
    stamps.end(Stage::queue, parsed + 10);
    stamps.end(Stage::apply, parsed + 30);
    stamps.end(Stage::commit, parsed + 60);
    stamps.end(Stage::deliver, parsed + 100);
    stamps.end(Stage::write, parsed + 90);  // another thread's clock: a time is never negative
    histograms.record(stamps);
    sampled += stamps.sampled();
  }
  CHECK(sampled >= batches / 62);  // and one more every ten milliseconds
  CHECK(sampled < batches / 4);
  CHECK(histograms.nanoseconds(Stage::parse).count() == std::uint64_t(sampled));
  CHECK(histograms.nanoseconds(Stage::parse).quantile(0.5) >= 1'000'000'000);
  CHECK(histograms.nanoseconds(Stage::queue).max() == 10);
  CHECK(histograms.nanoseconds(Stage::apply).max() == 20);
  CHECK(histograms.nanoseconds(Stage::commit).max() == 30);
  CHECK(histograms.nanoseconds(Stage::deliver).max() == 40);
  CHECK(histograms.nanoseconds(Stage::write).max() == 0);
  CHECK(histograms.total_nanoseconds().count() == std::uint64_t(sampled));
  CHECK(histograms.total_nanoseconds().max() == histograms.nanoseconds(Stage::parse).max() + 100);
}
