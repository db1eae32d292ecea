#pragma once
// OutageReasons decides which failures of one outage are logged: each reason once, so that the log
// has the one that keeps the outage going, such as a password that was changed, and not a line for
// each attempt. Thread: one at a time.

#include <set>
#include <string>

namespace exchange {

class OutageReasons {
 public:
  // Whether `reason` is to be logged.
  bool is_new(const std::string& reason) {
    constexpr std::size_t reasons_max = 16;
    return reasons_.size() < reasons_max && reasons_.insert(reason).second;
  }
  // The outage is over. Returns whether there was one.
  bool clear() {
    const bool was_out = !reasons_.empty();
    reasons_.clear();
    return was_out;
  }

 private:
  std::set<std::string> reasons_;
};

}  // namespace exchange
