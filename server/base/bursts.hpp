#pragma once
// Bursts lets a background thread work in short bursts of CPU time with rests between them. If the
// thread shares a CPU with threads that clients wait for, those wait for one burst at most. Without
// it, Linux lets the thread run for up to 4 ms (a timer tick), even at a low priority, because it
// credits a thread that got little time (https://docs.kernel.org/scheduler/sched-eevdf.html).
//   Bursts::Work work(bursts, spread);
//   Bursts::each(rows, [](const Row& row) { ... });
// Code that such work calls, such as the file layer of a database, may call rest_if_due() too.

#include <atomic>
#include <chrono>

namespace exchange {

class Bursts {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // `burst` is the CPU time of one burst.
  explicit Bursts(Nanoseconds burst = std::chrono::microseconds(50)) : burst_(burst) {}

  // While a Work lives, this thread works in bursts. A thread has one Work at a time, and so has a
  // Bursts. The rests are so long that work of as much CPU time as the last one takes `spread`, but
  // a rest is at most ten times as long as a burst. Waits for the disk are added to that. After
  // four times `spread` the thread takes no more rests, but it still gives way for a moment after
  // each eight bursts.
  class Work {
   public:
    Work(Bursts& bursts, Nanoseconds spread);
    Work(const Work&) = delete;
    ~Work();

   private:
    Bursts& bursts_;
  };

  // Ends the rests of the work in progress, or of the next one if none is in progress. The thread
  // still gives way as described above. Any thread.
  void hurry() { hurried_.store(true, std::memory_order_relaxed); }

  // The CPU time that the work in progress had used at the end of its last burst; 0 if none is in
  // progress. Any thread.
  Nanoseconds used() const { return used_.load(std::memory_order_relaxed); }
  // The CPU time of the last work. The thread that worked.
  Nanoseconds last_work() const { return last_work_; }
  // The same as time of the clock, without rests: work of which another process does a part.
  Nanoseconds taken() const;
  Nanoseconds last_taken() const { return last_taken_; }

  // Rests or gives way if this thread works in bursts and its burst is over. Returns true if it has
  // rested. Reads the clock: some 30 ns.
  static bool rest_if_due();
  // Calls function(one) for each of `range`, with rests. Meant for short functions: it reads the
  // clock after every eighth.
  template <class Range, class Function>
  static void each(const Range& range, Function function) {
    unsigned calls = 0;
    for (const auto& one : range) {
      function(one);
      if (++calls % 8 == 0) rest_if_due();
    }
  }

 private:
  bool rest();

  const Nanoseconds burst_;
  std::atomic<bool> hurried_ = false;
  Nanoseconds rest_{0}, rests_until_{0};  // after each burst; time of the clock
  std::atomic<Nanoseconds> used_ = Nanoseconds(0);
  // of the work in progress: time of the clock when it began, 0 if none is; sum of its rests
  std::atomic<Nanoseconds> clock_began_ = Nanoseconds(0), rested_ = Nanoseconds(0);
  Nanoseconds last_work_{0}, last_taken_{0};  // CPU time and time of the clock of the last work
  Nanoseconds work_began_{0};                 // CPU time of the thread when the work began
  Nanoseconds clock_{0}, cpu_{0};             // when the burst began: time of the clock, CPU time
};

}  // namespace exchange
