#pragma once
// Histogram counts non-negative integers in fixed memory (30 KiB) with a relative error below 1/64:
// 64 linear buckets within each power of two, as in HdrHistogram (Tene). Merging adds counts, so
// that the percentiles of merged histograms are those of all their values. Used for the server's
// stage times and batch sizes, and by the load generator. Thread: one at a time.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace exchange {

class Histogram {
 public:
  void record(std::uint64_t value) {
    ++counts_[bucket_of(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
  }
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.max_ > max_) max_ = other.max_;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : double(sum_) / double(count_); }
  // Returns the smallest value such that the fraction `quantile` (0 to 1) of all values is not
  // above it, rounded up to the end of its bucket; 0 if nothing was recorded.
  std::uint64_t quantile(double quantile) const {
    const double rank = quantile * double(count_);
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen > 0 && double(seen) >= rank) return std::min(highest_of(bucket), max_);
    }
    return max_;
  }
  // Calls visit(highest value of the bucket, count) for each bucket with values, from the lowest;
  // for the last bucket the value is max().
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_bucket([&](std::uint64_t, std::uint64_t highest, std::uint64_t count) {
      visit(std::min(highest, max_), count);
    });
  }
  // Calls visit(lowest value, highest value, count) for each bucket with values, from the lowest.
  // The bounds of a bucket do not depend on the values recorded.
  template <class Visit>
  void for_each_bucket(Visit visit) const {
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket)
      if (counts_[bucket] > 0)
        visit(bucket == 0 ? 0 : highest_of(bucket - 1) + 1, highest_of(bucket), counts_[bucket]);
  }

 private:
  static constexpr unsigned sub_bits = 6;
  static constexpr std::uint64_t sub = 1u << sub_bits;
  static std::size_t bucket_of(std::uint64_t value) {
    if (value < sub) return std::size_t(value);
    const unsigned shift = unsigned(std::bit_width(value)) - sub_bits - 1;
    return (std::size_t(shift) + 1) * sub + std::size_t((value >> shift) - sub);
  }
  static std::uint64_t highest_of(std::size_t bucket) {
    if (bucket < sub) return bucket;
    const unsigned shift = unsigned(bucket / sub) - 1;
    return ((bucket % sub + sub + 1) << shift) - 1;
  }

  std::array<std::uint64_t, (64 - sub_bits + 1) * sub> counts_{};
  std::uint64_t count_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace exchange
