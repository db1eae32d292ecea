#pragma once
// Health is the state of the core, or of a standby before it has a core, that decisions read:
// readiness, liveness, refusals, lag. Metrics only observe. The threads of the core or of the
// standby write it; any thread reads it. Readers keep it alive beyond the core. Each value is exact
// by itself. All times are monotonic nanoseconds.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace exchange {

class Health {
 public:
  bool store_available() const { return store_available_.load(std::memory_order_relaxed); }
  // Returns true if the value changed. Core thread.
  bool set_store_available(bool available) {
    return store_available_.exchange(available, std::memory_order_relaxed) != available;
  }

  // Core thread: marks the batch in progress, or the wait for the projector before the next one.
  void begin_batch(std::int64_t now_ns) { set(batch_began_ns_, now_ns); }
  void end_batch() { set(batch_began_ns_, 0); }
  // Returns how long the batch in progress has taken; 0 if there is none.
  std::int64_t batch_age_ns(std::int64_t now_ns) const { return age(batch_began_ns_, now_ns); }

  // Core thread: called at least once a second while the thread runs. Silence shows that it hangs.
  void beat(std::int64_t now_ns) { set(beat_ns_, now_ns); }
  // Core thread: marks a call of the store, or the wait for the projector's call, which may take
  // long.
  void begin_store_call() { in_store_.store(true, std::memory_order_relaxed); }
  void end_store_call() { in_store_.store(false, std::memory_order_relaxed); }
  bool waits_for_store() const { return in_store_.load(std::memory_order_relaxed); }
  // Returns the time since the last beat; 0 before the first one.
  std::int64_t silence_ns(std::int64_t now_ns) const { return age(beat_ns_, now_ns); }

  // Order reader's thread: marks a read of the tables, which fails while the store is unavailable.
  void begin_read(std::int64_t now_ns) { set(read_began_ns_, now_ns); }
  void end_read(bool available) {
    set(read_began_ns_, 0);
    reads_available_.store(available, std::memory_order_relaxed);
  }
  bool reads_available() const { return reads_available_.load(std::memory_order_relaxed); }
  // Returns how long the read in progress has taken; 0 if there is none.
  std::int64_t read_age_ns(std::int64_t now_ns) const { return age(read_began_ns_, now_ns); }

  // Records that a standby has read the whole journal.
  void note_journal_read(std::int64_t now_ns) { set(journal_read_ns_, now_ns); }
  std::int64_t journal_age_ns(std::int64_t now_ns) const { return age(journal_read_ns_, now_ns); }

  // Core thread. Returns true if there are changes that no hand-over to the projector contains.
  // note_unprojected() records the time of the oldest one.
  bool lacks_projection() const { return unprojected_ns_.load(std::memory_order_relaxed) != 0; }
  void note_unprojected(std::int64_t now_ns) { set(unprojected_ns_, now_ns); }
  // Core thread, before a client can know of the batch: records the newest batch whose changes will
  // be in the tables. A batch that changed no row never will.
  void note_committed(std::uint64_t batch) { committed_batch_ = batch; }
  std::uint64_t committed_batch() const { return committed_batch_; }
  // Core thread: records that the core has begun to hand all changes to the projector.
  void note_offered() { set(offered_ns_, unprojected_ns_.exchange(0, std::memory_order_relaxed)); }
  // Projector thread: records that the tables have what was offered.
  void note_projected(std::uint64_t batch) {
    set(offered_ns_, 0);
    projected_batch_ = batch;
  }
  // Returns the batch up to which the tables have the changes; 0 before the first projection.
  std::uint64_t projected_batch() const { return projected_batch_; }
  // Returns the age of the oldest change that the tables lack; 0 if they lack none.
  std::int64_t projection_lag_ns(std::int64_t now_ns) const {
    return std::max(age(offered_ns_, now_ns), age(unprojected_ns_, now_ns));
  }

 private:
  using Time = std::atomic<std::int64_t>;  // 0: none
  static void set(Time& time, std::int64_t value) { time.store(value, std::memory_order_relaxed); }
  static std::int64_t age(const Time& since, std::int64_t now_ns) {
    const std::int64_t since_ns = since.load(std::memory_order_relaxed);
    return since_ns == 0 ? 0 : std::max<std::int64_t>(now_ns - since_ns, 0);
  }

  std::atomic<std::uint64_t> committed_batch_{0}, projected_batch_{0};
  std::atomic<bool> store_available_{true}, reads_available_{true}, in_store_{false};
  Time batch_began_ns_{0}, unprojected_ns_{0}, offered_ns_{0};
  Time beat_ns_{0}, read_began_ns_{0}, journal_read_ns_{0};
};

}  // namespace exchange
