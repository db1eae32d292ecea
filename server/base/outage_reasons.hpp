#pragma once
// OutageReasons decides which failures of one outage are logged: each reason once. So the log has
// the reason that keeps the outage going, such as a changed password, but not a line for each
// attempt. Thread: one at a time.

#include <set>
#include <string>

namespace exchange {

class OutageReasons {
 public:
  // Returns true if `reason` must be logged.
  bool is_new(const std::string& reason) {
    constexpr std::size_t reasons_max = 16;
    return reasons_.size() < reasons_max && reasons_.insert(reason).second;
  }
  // Marks the outage as over. Returns true if there was one.
  bool clear() {
    const bool was_out = !reasons_.empty();
    reasons_.clear();
    return was_out;
  }

 private:
  std::set<std::string> reasons_;
};

}  // namespace exchange
