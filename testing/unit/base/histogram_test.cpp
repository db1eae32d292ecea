#include "catch.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "base/histogram.hpp"

using exchange::Histogram;

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
