#pragma once
// The common part of the fuzz targets. A target is one file with one LLVMFuzzerTestOneInput:
// libFuzzer drives it with clang, replay.cpp otherwise. It keeps nothing from one input to the
// next, and stops the process at the first property that does not hold.

#include <sys/prctl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace exchange::fuzz {

[[noreturn]] inline void property_failed(const char* property, const char* file, int line,
                                         const std::string& details) {
  std::fprintf(stderr, "property does not hold: %s (%s:%d)\n%s\n", property, file, line,
               details.c_str());
  std::fflush(stderr);
  std::abort();
}

// The engine asks for huge pages, which suit an engine that lives for years: clearing them would
// take most of the time of an engine that lives for a millisecond.
inline const int small_pages = prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);

// Takes an input apart from its front. At its end, everything is 0.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = std::uint8_t(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  // Returns a number in [0, end); `end` is at most 256.
  unsigned below(unsigned end) { return byte() % end; }
  std::uint64_t word() {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= std::uint64_t(byte()) << (8 * i);
    return word;
  }

 private:
  std::string_view rest_;
};

}  // namespace exchange::fuzz

// `details`: a std::string for the message, evaluated only on failure.
#define HOLDS(property, details)     \
  (__builtin_expect(!!(property), 1) \
       ? (void)0                     \
       : ::exchange::fuzz::property_failed(#property, __FILE__, __LINE__, details))
