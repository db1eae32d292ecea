#pragma once
// Where the time of a request goes. One request batch in thirty-one is sampled, and a
// hundred a second where they are few: the transport and the core note when it passes from one hand
// to the next, and the transport adds what lies between to histograms.

#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/guarded.hpp"
#include "base/histogram.hpp"

namespace exchange {

// parse: from bytes to commands. queue: until the core takes them. apply: the whole batch through
// the engine. commit: the journal row of the batch. deliver: until a transport thread has the
// outcomes. write: outcomes to XML and into the socket.
enum class Stage : std::uint8_t { parse, queue, apply, commit, deliver, write };
inline constexpr std::array<const char*, 6> stage_names{"parse",  "queue",   "apply",
                                                        "commit", "deliver", "write"};
inline constexpr std::size_t stages = stage_names.size();

// Nanoseconds of a clock that is never set.
inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// When each stage of one request batch ended. Owner: whoever has the batch.
class StageStamps {
 public:
  // A request batch may begin here: decides whether it is sampled. A choice stands until a request
  // batch has come and ended.
  void begin() {
    if (!waiting_) sampled_ = waiting_ = chosen();
    if (sampled_) begin_ns_ = monotonic_ns();
  }
  bool sampled() const { return sampled_; }
  void end(Stage stage) {
    if (sampled_) end(stage, monotonic_ns());
    if (stage == Stage::write) waiting_ = false;
  }
  void end(Stage stage, std::int64_t time_ns) { end_ns_[std::size_t(stage)] = time_ns; }
  // Nanoseconds.
  std::uint64_t duration(Stage stage) const {
    const std::size_t i = std::size_t(stage);
    const std::int64_t begin = i == 0 ? begin_ns_ : end_ns_[i - 1];
    return end_ns_[i] > begin ? std::uint64_t(end_ns_[i] - begin) : 0;
  }

 private:
  static bool chosen() {
    constexpr unsigned period = 62;  // a transport asks twice for each request batch
    static std::atomic<unsigned> threads{0};
    // short-lived threads must not all start alike
    thread_local unsigned count = threads.fetch_add(1, std::memory_order_relaxed);
    if (++count % period == 0) return true;
    // Under little load that would be too few to look at.
    static std::atomic<std::int64_t> last_ms{0};
    timespec now{};
    // a few nanoseconds, and exact to some milliseconds
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

// Any thread.
class StageHistograms {
 public:
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
  // Of all stages together.
  Histogram total_nanoseconds() const { return histogram(stages); }

 private:
  using Histograms = std::array<Histogram, stages + 1>;
  Histogram histogram(std::size_t at) const {
    return histograms_.with([&](const Histograms& histograms) { return histograms[at]; });
  }
  mutable Guarded<Histograms> histograms_;
};

}  // namespace exchange
