#pragma once
// Fail points: named places in the path of a batch where a test makes the server crash, hang,
// dawdle or fail, as EXCHANGE_FAIL_POINT="name=action[@nth],..." asks for. Compiled in always, so
// that what is tested is what runs; while none is armed each costs one relaxed load. A leaf:
// includes nothing of the project. Any thread.
//   crash     kill -9 of this process, as the nth passes: no destructor runs, no buffer is written
//   hang      the nth stays here for ever
//   slow(ms)  the nth and all later ones pause
//   error     the nth throws what the place throws when the world breaks; not every place can
// Without @nth it is the first.

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace exchange {

struct FailPointPlace {
  std::string_view name;
  bool may_throw;    // knows the action error
  bool sqlite_only;  // PostgreSQL has no such moment, or not in this process
};

// In the order in which a server comes past them.
inline constexpr std::array fail_points = {
    FailPointPlace{"recovery.epoch_taken", false, false},
    FailPointPlace{"recovery.loaded", false, false},
    FailPointPlace{"recovery.amid_replay", false, false},  // after each batch
    FailPointPlace{"recovery.replayed", false, false},
    FailPointPlace{"start.before_ready", false, false},
    FailPointPlace{"append.before", true, false},
    // the row is written, its transaction open; taking the epoch counts too
    FailPointPlace{"append.before_commit", false, true},
    FailPointPlace{"append.after_commit", true, false},
    FailPointPlace{"resolve.before", true, false}, FailPointPlace{"resolve.after", true, false},
    // the batch is committed, nobody knows yet
    FailPointPlace{"reply.before_completion", false, false},
    FailPointPlace{"reply.before_send", false, false},
    FailPointPlace{"reply.after_send", false, false},
    FailPointPlace{"projection.before", true, false},
    FailPointPlace{"projection.amid_rows", true, false},
    FailPointPlace{"projection.before_commit", true, false},
    FailPointPlace{"projection.after_commit", true, false},
    FailPointPlace{"checkpoint.before", false, true},
    FailPointPlace{"checkpoint.after", false, true}, FailPointPlace{"prune.before", true, false},
    FailPointPlace{"prune.after", true, false},
    FailPointPlace{"prune.rows_deleted", true, true},  // in the transaction of an append
};

// Arms what `text` asks for; empty arms nothing. At start, before other threads. Throws
// std::invalid_argument, with the list of names where one is unknown.
void arm_fail_points(const std::string& text);

namespace fail_point_detail {

inline std::atomic<bool> armed{false};
// Does what is asked for; returns whether to throw.
bool pass(std::size_t place);

// A name that is not in the list does not compile.
template <bool MayThrow>
struct Place {
  consteval Place(const char* name) : index(0) {
    while (fail_points.at(index).name != name) ++index;
    if (fail_points[index].may_throw != MayThrow)
      throw "this place throws, or it does not: see fail_points";
  }
  std::size_t index;
};

}  // namespace fail_point_detail

inline void fail_point(fail_point_detail::Place<false> place) {
  if (fail_point_detail::armed.load(std::memory_order_relaxed))
    fail_point_detail::pass(place.index);
}

// Throws Error where the action is error.
template <class Error>
void fail_point(fail_point_detail::Place<true> place) {
  if (!fail_point_detail::armed.load(std::memory_order_relaxed) ||
      !fail_point_detail::pass(place.index))
    return;
  throw Error("fail point " + std::string(fail_points[place.index].name));
}

}  // namespace exchange
