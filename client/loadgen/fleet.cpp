#include "client/loadgen/fleet.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <thread>

#include "client/loadgen/trading_days.hpp"

namespace exchange::loadgen {
namespace {

constexpr auto look_interval = std::chrono::milliseconds(100);
constexpr double shortest_second_s = 0.05;

// One reading of the watched processes.
struct Reading {
  std::int64_t time;
  Usage client;
  std::optional<Usage> server, database;
  std::optional<double> stolen_cpu_s;
};

std::optional<std::uint64_t> difference(std::optional<std::uint64_t> after,
                                        std::optional<std::uint64_t> before) {
  if (!after || !before) return std::nullopt;
  if (*after < *before) return std::nullopt;  // threads that ended no longer count in the total
  return *after - *before;
}

Consumption between(const Usage& before, const Usage& after, double seconds) {
  return {
      {.cpu_s = after.cpu_s - before.cpu_s,
       .resident_bytes = after.resident_bytes,
       .voluntary_switches = difference(after.voluntary_switches, before.voluntary_switches),
       .involuntary_switches = difference(after.involuntary_switches, before.involuntary_switches)},
      seconds};
}

std::optional<Consumption> between(const std::optional<Usage>& before,
                                   const std::optional<Usage>& after, double seconds) {
  if (!before || !after) return std::nullopt;
  return between(*before, *after, seconds);
}

std::optional<double> stolen_share(const std::optional<double>& before,
                                   const std::optional<double>& after, double seconds) {
  if (!before || !after) return std::nullopt;
  return std::max(0.0, *after - *before) / std::max(seconds, 1e-9);
}

std::optional<double> latency_of_any(Measure measure, const Histogram& ns) {
  if (ns.count() == 0) return std::nullopt;
  return latency_ms(measure, ns);
}

// The results that the workers publish.
struct Board {
  std::deque<Interval> ticks;  // from tick `first`, merged over the workers
  std::uint64_t first = 0;
  std::vector<std::uint64_t> published;  // ticks, by worker
  unsigned finished = 0;
  std::vector<bool> has_finished;
  std::exception_ptr error;

  void add(unsigned worker, const Interval& interval) {
    const std::uint64_t tick = published[worker]++;
    while (first + ticks.size() <= tick) ticks.emplace_back();
    Interval& merged = ticks[std::size_t(tick - first)];
    merged.add(interval);
    merged.in_flight += interval.in_flight;
  }
  // Whether all workers have published the first tick here, or have ended.
  bool complete() const {
    if (ticks.empty()) return false;
    for (std::size_t i = 0; i < published.size(); ++i)
      if (published[i] <= first && !has_finished[i]) return false;
    return true;
  }
};

class Fleet {
 public:
  Fleet(const LoadOptions& load, const Workload& workload, client::Servers& servers,
        const Watched& watched)
      : load_(load), workload_(workload), watched_(watched), pacer_(load.stages, load.arrivals, 0) {
    for (unsigned worker = 0; worker < load.workers; ++worker)
      drivers_.push_back(std::make_unique<Driver>(load, workload, servers, worker));
    if (load.trading_days_s) trading_days_.emplace(load, workload, servers);
  }

  RunResult run(const client::StopFlag& stop, const Look& look) {
    for (auto& driver : drivers_) driver->open_connections(stop);
    // accepting is not part of the measurement
    drivers_.back()->await_accepted(set_up_query(workload_), stop);
    board_.with([&](Board& board) {
      board.published.resize(drivers_.size());
      board.has_finished.resize(drivers_.size());
    });
    const Ticks ticks(Ticks::Clock::now(), load_);
    ticks_ = &ticks;
    last_ = before_ = read_usage();
    {
      std::vector<std::jthread> threads;
      for (unsigned worker = 0; worker < drivers_.size(); ++worker)
        threads.emplace_back([this, worker] { work(worker); });
      std::optional<std::jthread> as_operator;  // destroyed before the wait for the workers
      if (trading_days_)
        as_operator.emplace([this](std::stop_token over) { trading_days_->run(*ticks_, over); });
      try {
        watch(stop, look);
      } catch (...) {
        end_ = true;
        throw;
      }
    }
    return finish();
  }

 private:
  void work(unsigned worker) {
    try {
      drivers_[worker]->run(*ticks_, end_, [this, worker](std::unique_ptr<Interval> interval) {
        board_.with([&](Board& board) { board.add(worker, *interval); });
      });
    } catch (...) {
      board_.with([](Board& board) { board.error = std::current_exception(); });
      end_ = true;
    }
    board_.with([worker](Board& board) {
      board.has_finished[worker] = true;
      ++board.finished;
    });
    board_.notify();
  }

  // Watches the run until all workers have finished.
  void watch(const client::StopFlag& stop, const Look& look) {
    const auto all_finished = [this](const Board& board) {
      return board.finished == drivers_.size();
    };
    for (bool done = false, warm = false; !done;) {
      auto wait = std::chrono::nanoseconds(look_interval);
      if (!warm)
        wait = std::clamp(std::chrono::nanoseconds(ticks_->warmup_end() - ticks_->now()),
                          std::chrono::nanoseconds(0), wait);
      done = board_.wait_for(wait, all_finished);
      if (!warm && ticks_->now() >= ticks_->warmup_end()) {
        if (watched_.at_begin) watched_.at_begin();
        before_ = read_usage();
        warm = true;
      }
      take_seconds(look);
      if (stop) end_ = stopped_early_ = true;
    }
    if (std::exception_ptr error = board_.with([](Board& board) { return board.error; }))
      std::rethrow_exception(error);
  }

  void take_seconds(const Look& look) {
    while (true) {
      std::optional<Interval> interval;
      std::uint64_t tick = 0;
      bool over = false;
      board_.with([&](Board& board) {
        if (!board.complete()) return;
        tick = board.first++;
        interval = board.ticks.front();
        board.ticks.pop_front();
        over = board.finished == drivers_.size() && board.ticks.empty();
      });
      if (!interval) return;
      add_second(tick, *interval, over, look);
    }
  }

  void add_second(std::uint64_t tick, const Interval& interval, bool over, const Look& look) {
    const std::int64_t begin = tick == 0 ? 0 : ticks_->end_of(tick - 1);
    const std::int64_t end =
        over ? std::clamp(ticks_->now(), begin + 1, ticks_->end_of(tick)) : ticks_->end_of(tick);
    const double length_s = double(end - begin) / 1e9;
    Second second{.second = double(end) / 1e9,
                  .warmup = ticks_->is_warmup(tick),
                  .requests_per_s = double(interval.answered) / length_s,
                  .response_mean_ms = latency_of_any(Measure::mean, interval.response_ns),
                  .response_p50_ms = latency_of_any(Measure::p50, interval.response_ns),
                  .response_p99_ms = latency_of_any(Measure::p99, interval.response_ns),
                  .response_p99_9_ms = latency_of_any(Measure::p99_9, interval.response_ns),
                  .response_max_ms = latency_of_any(Measure::max, interval.response_ns),
                  .service_p50_ms = latency_of_any(Measure::p50, interval.service_ns),
                  .service_p99_ms = latency_of_any(Measure::p99, interval.service_ns),
                  .errors = interval.errors_in_all(),
                  .rejected = interval.rejected_in_all(),
                  .in_flight = interval.in_flight};
    const double warmup_s = double(ticks_->warmup_end()) / 1e9;
    if (load_.open_loop() && begin < ticks_->end())
      second.planned_per_s = pacer_.rate_at(std::max(0.0, double(begin) / 1e9 - warmup_s));
    read_shares(second);
    if (second.warmup) {  // its latencies and rates do not count, its errors do
      add_each(result_.counts.errors, interval.errors);
    } else {
      result_.counts.add(interval);
    }
    if (length_s >= shortest_second_s || result_.series.empty()) {
      result_.series.push_back(second);
    } else {  // milliseconds in which the last replies come: too short for a rate
      result_.series.back().errors += second.errors;
      result_.series.back().rejected += second.rejected;
      result_.series.back().in_flight = second.in_flight;
    }
    const double share = load_.duration_s || load_.open_loop()
                             ? std::min(1.0, double(end) / double(ticks_->end()))
                             : double(result_.counts.answered + result_.counts.errors_in_all()) /
                                   double(load_.requests);
    if (!look(second, result_.counts, share)) end_ = stopped_early_ = true;
  }

  void read_shares(Second& second) {
    const std::int64_t now = ticks_->now();
    const double client_cpu = own_usage().cpu_s;
    const double seconds = double(now - last_.time) / 1e9;
    if (seconds < shortest_second_s && !result_.series.empty()) {  // two ticks were taken at once
      second.client_cpu_share = result_.series.back().client_cpu_share;
      second.server_cpu_share = result_.series.back().server_cpu_share;
      second.stolen_cpu_share = result_.series.back().stolen_cpu_share;
      return;
    }
    second.client_cpu_share =
        (client_cpu - last_.client.cpu_s) / std::max(seconds, 1e-9) / double(drivers_.size());
    const std::optional<double> server_cpu =
        watched_.server_pid ? cpu_seconds(*watched_.server_pid) : std::nullopt;
    if (server_cpu && last_.server) {
      second.server_cpu_share = (*server_cpu - last_.server->cpu_s) / std::max(seconds, 1e-9);
      last_.server->cpu_s = *server_cpu;
    }
    const std::optional<double> stolen = stolen_cpu_seconds();
    second.stolen_cpu_share = stolen_share(last_.stolen_cpu_s, stolen, seconds);
    last_.stolen_cpu_s = stolen;
    last_.client.cpu_s = client_cpu;
    last_.time = now;
  }

  Reading read_usage() const {
    return {.time = ticks_->now(),
            .client = own_usage(),
            .server = watched_.server_pid ? usage_of(*watched_.server_pid) : std::nullopt,
            .database =
                watched_.database_pid ? usage_with_children(*watched_.database_pid) : std::nullopt,
            .stolen_cpu_s = stolen_cpu_seconds()};
  }

  RunResult finish() {
    const Reading after = read_usage();
    const double seconds = double(after.time - before_.time) / 1e9;
    result_.client = between(before_.client, after.client, seconds);
    result_.server = between(before_.server, after.server, seconds);
    result_.database = between(before_.database, after.database, seconds);
    result_.stolen_cpu_share = stolen_share(before_.stolen_cpu_s, after.stolen_cpu_s, seconds);
    IdSet ids;
    std::int64_t last_answer = ticks_->warmup_end();
    for (auto& driver : drivers_) {
      result_.examples.add(driver->examples());
      result_.deviations.add(driver->deviations());
      result_.unsent += driver->unsent();
      result_.stopped_early |= driver->gave_up();
      last_answer = std::max(last_answer, driver->last_answer());
      if (drivers_.size() > 1) take_ids(ids, driver->opened_ids());
      result_.history.add(std::move(driver->history()));
      result_.transcript.add(std::move(driver->transcript()));
    }
    if (trading_days_) {
      result_.history.add(std::move(trading_days_->history()));
      result_.transcript.add(std::move(trading_days_->transcript()));
    }
    result_.stopped_early |= stopped_early_;
    const bool timed = load_.duration_s || load_.open_loop();
    const std::int64_t end =
        timed && !result_.stopped_early ? std::max(last_answer, ticks_->end()) : last_answer;
    result_.seconds = double(end - ticks_->warmup_end()) / 1e9;
    return std::move(result_);
  }

  // A worker finds an id that it received twice; this finds an id that two workers received.
  void take_ids(IdSet& all, const IdSet& ids) {
    const std::uint64_t twice = all.insert(ids);
    result_.counts.errors[std::size_t(ErrorClass::wrong_answer)] += twice;
    if (twice > 0)
      result_.examples.add({.wrong_answer = "a transaction id that another order has"});
  }

  const LoadOptions& load_;
  const Workload& workload_;
  const Watched watched_;
  const Pacer pacer_;  // gives the planned rates
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::optional<TradingDays> trading_days_;
  Guarded<Board> board_;
  client::StopFlag end_{false};
  const Ticks* ticks_ = nullptr;
  Reading before_{}, last_{};
  bool stopped_early_ = false;
  RunResult result_;
};

}  // namespace

double RunResult::error_share() const {
  const double all = double(counts.answered + counts.errors_in_all());
  return all > 0 ? double(counts.errors_in_all()) / all : 0;
}

double RunResult::rejected_share() const {
  return counts.elements > 0 ? double(counts.rejected_in_all()) / double(counts.elements) : 0;
}

RunResult run_load(const LoadOptions& load, const Workload& workload, client::Servers& servers,
                   const Watched& watched, const client::StopFlag& stop, const Look& look) {
  return std::make_unique<Fleet>(load, workload, servers, watched)->run(stop, look);
}

}  // namespace exchange::loadgen
