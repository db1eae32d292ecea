// Histograms, and the stage times of requests in them.
#include "base/histogram.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "catch.hpp"
#include "metrics/stages.hpp"

using namespace exchange;

TEST_CASE("quantiles are those of the sorted values, within a sixty-fourth") {
  std::mt19937_64 random(test_seed());
  std::vector<std::uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(random() >> (random() % 64));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double quantile : {0.0001, 0.01, 0.5, 0.95, 0.99, 0.999, 1.0}) {
    const auto rank = std::size_t(std::max(1.0, std::ceil(quantile * double(values.size()))));
    const std::uint64_t exact = values[rank - 1], found = histogram.quantile(quantile);
    INFO(quantile << ": " << exact << " found " << found);
    CHECK(found >= exact);
    CHECK(double(found - exact) <= double(exact) / 64);
  }
  CHECK(histogram.max() == values.back());
  CHECK(histogram.count() == values.size());
}

TEST_CASE("merging two histograms is recording all their values in one") {
  std::mt19937_64 random(test_seed());
  Histogram a, b, all;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = random() % 1'000'000;
    (i % 3 == 0 ? a : b).record(value);
    all.record(value);
  }
  a.merge(b);
  for (const double quantile : {0.1, 0.5, 0.99, 1.0})
    CHECK(a.quantile(quantile) == all.quantile(quantile));
  CHECK(a.mean() == all.mean());
}

TEST_CASE("an empty histogram is all zeros, and extremes are held") {
  Histogram histogram;
  CHECK(histogram.quantile(0.5) == 0);
  CHECK(histogram.mean() == 0);
  histogram.record(0);
  histogram.record(UINT64_MAX);
  CHECK(histogram.quantile(0.5) == 0);
  CHECK(histogram.quantile(1) == UINT64_MAX);
}

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
