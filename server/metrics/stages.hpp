#pragma once
// Stage times are how long a request batch spends in each stage of the server. One request batch in
// thirty-one is sampled, and at least a hundred per second under low load. A connection owns one
// StageStamps, which travels with its submission: transport and core write when each stage ended.
// The transport then adds the durations to the StageHistograms in Metrics, which the metrics
// endpoint reads.

#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/described.hpp"
#include "base/guarded.hpp"
#include "base/histogram.hpp"
#include "metrics/metric.hpp"

namespace exchange {

// The stages in order. Each begins when the one before it ends:
//   parse    bytes to commands
//   queue    until the core takes the submission
//   apply    the engine executes the whole batch of the core
//   commit   the journal row of that batch becomes durable
//   deliver  until a transport thread has the outcomes
//   write    outcomes to XML, and into the socket
BOOST_DEFINE_FIXED_ENUM_CLASS(Stage, std::uint8_t, parse, queue, apply, commit, deliver, write)
inline constexpr std::size_t stages = enumerators<Stage>;

// Returns the time of the monotonic clock in nanoseconds.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Records when each stage of one request batch ended. Owner: the connection; the core thread writes
// it between submit() and completion. Thread: one at a time.
class StageStamps {
 public:
  // Called where a request batch may begin. Decides whether the batch is sampled. The decision
  // holds until the next request batch has ended.
  void begin() {
    if (!waiting_) sampled_ = waiting_ = chosen();
    if (sampled_) begin_ns_ = monotonic_ns();
  }
  bool sampled() const { return sampled_; }
  // Records that `stage` ends now, or at `time_ns` (monotonic_ns()).
  void end(Stage stage) {
    if (sampled_) end(stage, monotonic_ns());
    if (stage == Stage::write) waiting_ = false;
  }
  void end(Stage stage, std::int64_t time_ns) { end_ns_[std::size_t(stage)] = time_ns; }
  // Returns nanoseconds; 0 if the clocks of two threads disagree.
  std::uint64_t duration(Stage stage) const {
    const std::size_t i = std::size_t(stage);
    const std::int64_t begin = i == 0 ? begin_ns_ : end_ns_[i - 1];
    return end_ns_[i] > begin ? std::uint64_t(end_ns_[i] - begin) : 0;
  }

 private:
  static bool chosen() {
    constexpr unsigned period = 62;  // begin() is called twice for each request batch
    static std::atomic<unsigned> threads{0};
    // threads start at different counts, so that short-lived ones are sampled too
    thread_local unsigned count = threads.fetch_add(1, std::memory_order_relaxed);
    if (++count % period == 0) return true;
    // At low load this samples too few batches, so sample one more every 10 ms.
    static std::atomic<std::int64_t> last_ms{0};
    timespec now{};
    // costs a few nanoseconds, exact to some milliseconds
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const std::int64_t now_ms = now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
    if (now_ms - last_ms.load(std::memory_order_relaxed) < 10) return false;
    last_ms.store(now_ms, std::memory_order_relaxed);
    return true;
  }

  bool sampled_ = false, waiting_ = false;
  std::int64_t begin_ns_ = 0;
  std::array<std::int64_t, stages> end_ns_{};
};

// StageHistograms holds the durations of all sampled request batches since the start: two families,
// under one lock. Any thread.
class StageHistograms : public Metric {
 public:
  explicit StageHistograms(MetricList& all)
      : Metric(all, "histogram", "exchange_request_seconds",
               "Time of sampled requests, from the last byte read to the reply written.") {}
  // Does nothing if `stamps` is not sampled.
  void record(const StageStamps& stamps) {
    if (!stamps.sampled()) return;
    histograms_.with([&](Histograms& histograms) {
      std::uint64_t total = 0;
      for (std::size_t i = 0; i < stages; ++i) {
        histograms[i].record(stamps.duration(Stage(i)));
        total += stamps.duration(Stage(i));
      }
      histograms[stages].record(total);
    });
  }
  Histogram nanoseconds(Stage stage) const { return histogram(std::size_t(stage)); }
  // The total lasts from the start of parse to the end of write.
  Histogram total_nanoseconds() const { return histogram(stages); }

 private:
  void write_samples(MetricText& text) const override {
    constexpr auto unit = MetricText::Unit::nanoseconds;
    text.histogram(name_, "", total_nanoseconds(), unit);
    const char* const of_stages = "exchange_stage_seconds";
    text.family(of_stages, "histogram", "Time of sampled requests in each stage.");
    for (std::size_t i = 0; i < stages; ++i)
      text.histogram(of_stages, metric_label("stage", to_string(Stage(i))), nanoseconds(Stage(i)),
                     unit);
  }
  using Histograms = std::array<Histogram, stages + 1>;
  Histogram histogram(std::size_t at) const {
    return histograms_.with([&](const Histograms& histograms) { return histograms[at]; });
  }
  mutable Guarded<Histograms> histograms_;
};

}  // namespace exchange
