// Conditions of success, and the search for capacity, which depends on them.
#include "client/loadgen/expectation.hpp"

#include <cmath>
#include <stdexcept>

#include "catch.hpp"

using namespace exchange::loadgen;

TEST_CASE("conditions name a measure, a direction and a bound with its unit") {
  const std::vector<Expectation> all = parse_expectations(
      "p99<20ms, errors<=0.1%,rate>5000,p99.9<1.5s,mean<900us,rejected<0.5,max>=1s");
  REQUIRE(all.size() == 7);
  const auto is = [](const Expectation& e, Measure measure, bool below, bool or_equal,
                     double bound) {
    return e.measure == measure && e.below == below && e.or_equal == or_equal &&
           std::abs(e.bound - bound) < 1e-9;
  };
  CHECK(is(all[0], Measure::p99, true, false, 20));
  CHECK(is(all[1], Measure::errors, true, true, 0.001));
  CHECK(is(all[2], Measure::rate, false, false, 5000));
  CHECK(is(all[3], Measure::p99_9, true, false, 1500));
  CHECK(is(all[4], Measure::mean, true, false, 0.9));
  CHECK(is(all[5], Measure::rejected, true, false, 0.5));
  CHECK(is(all[6], Measure::max, false, true, 1000));
  CHECK(all[1].text == "errors<=0.1%");
  CHECK(std::string(all[0].unit()) == "ms");
}

TEST_CASE("a condition holds up to its bound, and never for what was not measured") {
  const Expectation below = parse_expectations("p99<20ms")[0],
                    at_most = parse_expectations("p99<=20ms")[0],
                    above = parse_expectations("rate>10")[0];
  CHECK(below.met(19.9));
  CHECK(!below.met(20));
  CHECK(at_most.met(20));
  CHECK(!at_most.met(20.1));
  CHECK(above.met(11));
  CHECK(!above.met(10));
  CHECK(!below.met(NAN));
  CHECK(!above.met(NAN));
}

TEST_CASE("conditions that cannot be understood are refused with a sentence") {
  for (const std::string text :
       {"", "p99", "p99<", "p99<20", "p99<20 parsecs", "p98<20ms", "errors<0.1ms", "errors<200%",
        "rate>fast", "rate>1e999", "<20ms", "p99<20ms,", "p99<-1ms", "p99=20ms", "p99<nanms"})
    CHECK_THROWS_AS(parse_expectations(text), std::invalid_argument);
}

namespace {

// A server that holds every rate up to `limit`; it records each try.
struct Bench {
  double limit;
  CapacityTry operator()(double rate) const {
    return {.planned_per_s = rate, .achieved_per_s = std::min(rate, limit), .held = rate <= limit};
  }
};

Capacity find(double guess, const std::function<CapacityTry(double)>& attempt) {
  Capacity capacity;
  find_capacity(guess, attempt, capacity);
  return capacity;
}

}  // namespace

TEST_CASE(
    "the capacity found is held, and within the precision of the true one, wherever the search begins") {
  for (const double limit : {1.0, 7.3, 41'000.0, 900'000.0})
    for (const double guess : {0.1, 20.0, 40'000.0, 3e6}) {
      const Capacity capacity = find(guess, Bench{limit});
      CAPTURE(limit, guess, capacity.tries.size());
      CHECK(capacity.requests_per_s <= limit);
      CHECK(capacity.requests_per_s * capacity_precision >= limit);
      CHECK(capacity.tries.back().held);
      CHECK(capacity.tries.back().planned_per_s == capacity.requests_per_s);
      CHECK(capacity.tries.size() < 40);
    }
}

TEST_CASE(
    "a server that holds nothing has no capacity, one that holds everything has the highest rate tried") {
  CHECK(find(100, Bench{0}).requests_per_s == 0);
  CHECK(find(1e6, Bench{0}).tries.size() == 5);  // the lowest rate twice, after three others
  CHECK(find(100, Bench{1e12}).requests_per_s == capacity_highest_per_s);
}

TEST_CASE("a rate that held by luck is not the answer") {
  unsigned tries_at_top = 0;
  const Capacity capacity = find(1'000, [&](double rate) {
    const bool lucky = rate > 900 && rate < 1'100 && tries_at_top++ == 0;
    return CapacityTry{.planned_per_s = rate, .achieved_per_s = rate, .held = lucky || rate <= 800};
  });
  CHECK(capacity.requests_per_s <= 800);
  CHECK(capacity.requests_per_s > 770);
}

TEST_CASE(
    "a capacity is the client's where the lowest rate that failed did so for want of client") {
  Capacity capacity{.requests_per_s = 100,
                    .tries = {{.planned_per_s = 100, .held = true},
                              {.planned_per_s = 150, .client_bottleneck = "busy"},
                              {.planned_per_s = 200}}};
  CHECK(capacity.client_bottleneck() == "busy");
  capacity.tries[2].planned_per_s = 120;
  CHECK(capacity.client_bottleneck() == "");
  CHECK(Capacity().client_bottleneck() == "");
}

TEST_CASE("a search that is cut short keeps its tries") {
  Capacity capacity;
  unsigned tries = 0;
  const auto attempt = [&](double rate) {
    if (++tries == 3) throw std::runtime_error("the server is gone");
    return CapacityTry{.planned_per_s = rate, .held = true};
  };
  CHECK_THROWS_AS(find_capacity(1, attempt, capacity), std::runtime_error);
  CHECK(capacity.tries.size() == 2);
  CHECK(capacity.requests_per_s == 0);
}
