// The planned times of requests in an open loop.
#include "client/loadgen/pacer.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

std::vector<std::int64_t> plan(const std::vector<Stage>& stages, Arrivals arrivals,
                               std::uint64_t seed = 1) {
  Pacer pacer(stages, arrivals, seed);
  std::vector<std::int64_t> times;
  while (const auto time = pacer.next()) times.push_back(*time);
  return times;
}

constexpr std::int64_t ms = 1'000'000;

}  // namespace

TEST_CASE("uniform arrivals are evenly spaced from the start of their stage") {
  CHECK(plan({{0.5, 10}}, Arrivals::uniform) ==
        std::vector<std::int64_t>{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms});
  CHECK(plan({{0.2, 10}, {0.3, 0}, {0.1, 20}}, Arrivals::uniform) ==
        std::vector<std::int64_t>{0, 100 * ms, 500 * ms, 550 * ms});
}

TEST_CASE("a stage has exactly as many uniform arrivals as its time and rate say") {
  for (const double rate : {0.7, 3.0, 33.0, 1'000.0, 12'345.0, 99'999.0})
    for (const double seconds : {0.1, 1.0, 3.0, 7.0}) {
      const std::vector<std::int64_t> times = plan({{seconds, rate}}, Arrivals::uniform);
      CAPTURE(rate, seconds);
      CHECK(times.size() == std::size_t(std::ceil(seconds * rate - 1e-6)));
      CHECK(times.back() < std::int64_t(seconds * 1e9));
    }
}

TEST_CASE("Poisson arrivals follow from the seed, and their gaps are exponential") {
  const std::vector<std::int64_t> times = plan({{50, 2'000}}, Arrivals::poisson, test_seed());
  CHECK(times == plan({{50, 2'000}}, Arrivals::poisson, test_seed()));
  CHECK(times != plan({{50, 2'000}}, Arrivals::poisson, test_seed() + 1));
  CHECK(std::is_sorted(times.begin(), times.end()));
  CHECK(std::abs(double(times.size()) - 100'000) < 5 * std::sqrt(100'000));
  double sum = 0, squares = 0, longer_than_mean = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double gap = double(times[i] - times[i - 1]) / (0.5 * ms);  // in mean gaps
    sum += gap;
    squares += gap * gap;
    longer_than_mean += gap > 1;
  }
  const double count = double(times.size() - 1);
  CHECK(std::abs(squares / count - sum * sum / count / count - 1) < 0.05);  // variance
  CHECK(std::abs(longer_than_mean / count - std::exp(-1)) < 0.01);
}

TEST_CASE("Poisson stages keep their rates") {
  const std::vector<std::int64_t> times =
      plan({{10, 1'000}, {10, 5'000}}, Arrivals::poisson, test_seed());
  const auto first =
      double(std::lower_bound(times.begin(), times.end(), 10'000 * ms) - times.begin());
  CHECK(std::abs(first - 10'000) < 5 * std::sqrt(10'000));
  CHECK(std::abs(double(times.size()) - first - 50'000) < 5 * std::sqrt(50'000));
}

TEST_CASE("the planned rate at a time is that of the stage under way") {
  const Pacer pacer({{2, 100}, {3, 500}}, Arrivals::uniform, 1);
  CHECK(pacer.rate_at(0) == 100);
  CHECK(pacer.rate_at(1.99) == 100);
  CHECK(pacer.rate_at(2) == 500);
  CHECK(pacer.rate_at(5) == 0);
}

TEST_CASE("ticks end at each second of the warm-up and of the measured part") {
  const Ticks warm({}, {.duration_s = 2.5, .warmup_s = 1.5});
  std::vector<std::int64_t> ends;
  for (std::uint64_t tick = 0; tick < 5; ++tick) ends.push_back(warm.end_of(tick) / ms);
  CHECK(ends == std::vector<std::int64_t>{1'000, 1'500, 2'500, 3'500, 4'500});
  CHECK(warm.is_warmup(1));
  CHECK(!warm.is_warmup(2));
  CHECK(warm.end() == 4'000 * ms);
  const Ticks cold({}, {.requests = 5});
  CHECK(!cold.is_warmup(0));
  CHECK(cold.end_of(0) == 1'000 * ms);
  CHECK(cold.end() == INT64_MAX);
  CHECK(Ticks({}, {.stages = {{2, 1}, {3, 1}}, .warmup_s = 1}).end() == 6'000 * ms);
}
