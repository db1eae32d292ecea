#pragma once
// Findings collects the result of an audit: violations, each with its row; counts; and what was not
// checked, with the reason. Owner: the caller of audit(). Thread: one.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace exchange::audit {

struct Violation {
  std::string check;  // "tables", "journal", "replay", "acknowledged", "files"
  std::string row;    // "orders 17"; empty if it concerns more than one row
  std::string problem;
};

class Findings {
 public:
  // Keeps the first `violations_kept` and counts all, so that memory does not grow with the damage.
  explicit Findings(std::size_t violations_kept) : kept_max_(violations_kept) {}

  void violation(std::string check, std::string row, std::string problem) {
    if (++violations_ <= kept_max_)
      kept_.push_back({std::move(check), std::move(row), std::move(problem)});
  }
  void count(std::string what, std::uint64_t number) {
    counts_.emplace_back(std::move(what), number);
  }
  void not_checked(std::string what) { not_checked_.push_back(std::move(what)); }

  std::uint64_t violations() const { return violations_; }
  const std::vector<Violation>& kept() const { return kept_; }
  const std::vector<std::pair<std::string, std::uint64_t>>& counts() const { return counts_; }
  const std::vector<std::string>& not_checked() const { return not_checked_; }

 private:
  const std::size_t kept_max_;
  std::uint64_t violations_ = 0;
  std::vector<Violation> kept_;
  std::vector<std::pair<std::string, std::uint64_t>> counts_;
  std::vector<std::string> not_checked_;
};

}  // namespace exchange::audit
