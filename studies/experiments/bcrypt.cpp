// 8. A thread for every request, or a bounded pool?

#include "studies/experiments/hashing.hpp"

namespace exchange::experiments {
namespace {

struct SetUp {
  const char* there;  // hashes in 5 s in the write-up
  bool pool;
  unsigned callers, workers, buffer;

  std::string name() const {
    return pool ? name_of("bcrypt/pool", workers, callers, buffer)
                : name_of("bcrypt/unbounded", callers);
  }
  std::string label() const {
    return (pool ? "pool of " + std::to_string(workers) + ", buffer " + std::to_string(buffer)
                 : std::string("a thread each")) +
           ", " + std::to_string(callers) + " callers";
  }
};
const SetUp set_ups[] = {
    {"61", false, 30, 0, 0}, {"27", false, 90, 0, 0}, {"-", false, 300, 0, 0},
    {"37", true, 30, 1, 1},  {"37", true, 30, 1, 2},  {"37", true, 30, 1, 10},
    {"69", true, 30, 2, 10}, {"70", true, 30, 3, 10}, {"69", true, 30, 4, 10},
    {"-", true, 30, 8, 10},  {"69", true, 90, 3, 10}, {"-", true, 90, 2, 10},
    {"-", true, 300, 2, 10},
};

HashingPlan plan_of(const SetUp& set_up, const Settings& settings) {
  return {set_up.callers,
          set_up.pool,
          set_up.buffer,
          set_up.workers,
          settings.quick ? 0.3 : 5,
          settings.quick ? 5u : 10u};
}

void prepare(const Settings& settings) {
  // 5 s and more each
  const unsigned repetitions = std::min(settings.repetitions, settings.quick ? 1u : 2u);
  measure("bcrypt/alone",
          [cost = settings.quick ? 5u : 10u](Counters&) { return time_one_hash(cost); });
  for (const SetUp& set_up : set_ups)
    measure(
        set_up.name(),
        [plan = plan_of(set_up, settings)](Counters& counters) {
          const HashingResult result = run_hashing(plan);
          counters["in_time"] = double(result.in_time);
          counters["left"] = double(result.left);
          counters["turned_away"] = double(result.turned_away);
          counters["rate"] = double(result.begun) / result.run.seconds;
          counters["cpu"] = result.run.used.cpu_s() / double(result.begun);
          counters["wrong"] = double(result.wrong);
          counters["beyond"] =
              std::max(0.0,
                       double(result.running_most) - (plan.pool ? plan.workers : plan.callers)) +
              (plan.pool ? std::max(0.0, double(result.waiting_most) - plan.buffer) : 0);
          counters["lost"] =
              double(result.latency_us.count()) - double(result.begun + result.turned_away);
          set_quantiles(counters, result.latency_us, 1e-6);
          return result.run.seconds;
        },
        repetitions);
}

void report(const Settings& settings, const Measurements& measured, Report& out) {
  const HashingPlan usual = plan_of(set_ups[0], settings);
  const double alone_s = measured.of("bcrypt/alone").low();
  const std::string in_time = "in " + duration(usual.seconds);
  Table& table = out.add(
      Table{"F",
            "Table F: bcrypt of cost " + std::to_string(usual.cost) + " for " +
                duration(usual.seconds) + "; one hash alone takes " + duration(alone_s) + ", so " +
                number(usual.seconds / alone_s * double(usable_cpus().size()), 2) +
                " would be the most on " + std::to_string(usable_cpus().size()) + " CPUs",
            {"set-up", "there: hashes in 5 s", "here: hashes " + in_time, "begun, not done",
             "turned away", "hashes a second, to the last", "CPU time a hash"}});
  Table& tails = out.add(
      Table{"waits",
            "From a caller's wish to its hash (of those turned away: how long they had waited)",
            {"set-up", "median", "99 %", "longest"}});
  for (const SetUp& set_up : set_ups) {
    const Named of(measured, set_up.name());
    table.rows.push_back({set_up.label(), set_up.there, count(of("in_time")),
                          number(of.median("left")), number(of.median("turned_away")),
                          count(of("rate")), of.median_time("cpu")});
    tails.rows.push_back({set_up.label(), of.time("p50"), of.time("p99"), of.time("worst")});
  }
  out.check_none("every hash is right", measured.all("bcrypt/", "wrong").worst(), "wrong");
  out.check_none("every request accepted is done, and every caller gets its result",
                 measured.all("bcrypt/", "lost").worst(), "lost");
  out.check_none("a pool never runs more than its workers, nor keeps more than its buffer",
                 measured.all("bcrypt/", "beyond").worst(), "beyond");
}

const Add add(
    8, {.name = "bcrypt",
        .title = "8. A thread for every request, or a bounded pool?",
        .asked = "30, 90 or 300 callers want bcrypt hashes of cost 10 for 5 s on two CPUs: does it "
                 "matter whether each request "
                 "gets a thread of its own?",
        .prepare = prepare,
        .report = report});

}  // namespace
}  // namespace exchange::experiments
