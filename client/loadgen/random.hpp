#pragma once
// SplitMix64 (Steele, Lea, Flood): eight bytes of state per client, the same numbers everywhere.

#include <cstdint>

namespace exchange::loadgen {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream)
      : state_(mix(seed + 0x9e3779b97f4a7c15u) ^ mix(~stream)) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  // From 0 to bound - 1.
  std::uint32_t below(std::uint32_t bound) { return std::uint32_t(((next() >> 32) * bound) >> 32); }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace exchange::loadgen
