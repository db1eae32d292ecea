#pragma once
// Fail points are named places on the path of a batch where a test makes the server crash, hang,
// slow down or fail. EXCHANGE_FAIL_POINT="name=action[@nth],..." sets them. They are always
// compiled in, so that the tested binary is the released one; an unarmed fail point costs one
// relaxed load. This header includes nothing of the project. Any thread, after arm_fail_points().
//   crash     kill -9 of this process at the nth pass: no destructor runs, no buffer is written
//   hang      the thread stops at the nth pass for ever
//   slow(ms)  a pause at the nth and every later pass
//   error     the nth pass throws what the place throws when its environment fails (may_throw)
// Without @nth, the action happens at the first pass.

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace exchange {

struct FailPointPlace {
  std::string_view name;
  bool may_throw;    // accepts the action error
  bool sqlite_only;  // never passed with PostgreSQL, which does this in its own process
};

// The list is in the order in which a server passes them.
inline constexpr std::array fail_points = {
    FailPointPlace{"recovery.epoch_taken", false, false},
    FailPointPlace{"recovery.loaded", false, false},
    FailPointPlace{"recovery.amid_replay", false, false},  // after each batch
    FailPointPlace{"recovery.replayed", false, false},
    FailPointPlace{"start.before_ready", false, false},
    FailPointPlace{"append.before", true, false},
    // the row is written, not synced; open() passes here too when it takes its epoch
    FailPointPlace{"append.before_commit", false, true},
    FailPointPlace{"append.after_commit", true, false},
    FailPointPlace{"resolve.before", true, false},
    FailPointPlace{"resolve.after", true, false},
    // the batch is committed, no reply is sent
    FailPointPlace{"reply.before_completion", false, false},
    FailPointPlace{"reply.before_send", false, false},
    FailPointPlace{"reply.after_send", false, false},
    FailPointPlace{"projection.before", true, false},
    FailPointPlace{"projection.amid_rows", true, false},
    FailPointPlace{"projection.before_commit", true, false},
    FailPointPlace{"projection.after_commit", true, false},
    FailPointPlace{"checkpoint.before", false, true},
    FailPointPlace{"checkpoint.after", false, true},
    FailPointPlace{"prune.before", true, false},
    FailPointPlace{"prune.after", true, false},
    // the server wrote a block of the journal ahead of its use; open() passes here too when it
    // makes the first
    FailPointPlace{"journal.block_written", false, true},
    // the end of a day, after everything has stopped; then the steps of closing its store
    FailPointPlace{"day.before", true, false},
    FailPointPlace{"day.begun", false, true},
    FailPointPlace{"day.amid_files", false, true},  // after each file
    FailPointPlace{"day.before_commit", false, false},
    FailPointPlace{"day.after_commit", false, false},
};

// Arms the fail points of `text`, the value of EXCHANGE_FAIL_POINT; an empty text arms none. main
// calls it before it starts threads. Throws std::invalid_argument, whose message lists the valid
// names or actions.
void arm_fail_points(const std::string& text);

namespace fail_point_detail {

inline std::atomic<bool> armed{false};
// Performs the armed action, if any; returns whether the caller must throw.
bool pass(std::size_t place);

// The index of a name in fail_points. A name that is not in the list does not compile.
template <bool MayThrow>
struct Place {
  consteval Place(const char* name) : index(0) {
    while (fail_points.at(index).name != name) ++index;
    if (fail_points[index].may_throw != MayThrow)
      throw "may_throw of this name in fail_points differs from this call";
  }
  std::size_t index;
};

}  // namespace fail_point_detail

// A fail point of a place that does not throw.
inline void fail_point(fail_point_detail::Place<false> place) {
  if (fail_point_detail::armed.load(std::memory_order_relaxed))
    fail_point_detail::pass(place.index);
}

// Throws Error if the armed action is error.
template <class Error>
void fail_point(fail_point_detail::Place<true> place) {
  if (!fail_point_detail::armed.load(std::memory_order_relaxed) ||
      !fail_point_detail::pass(place.index))
    return;
  throw Error("fail point " + std::string(fail_points[place.index].name));
}

}  // namespace exchange
