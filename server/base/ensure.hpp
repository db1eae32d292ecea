#pragma once
// ENSURE(condition) guards what only our own bug can break. It stays on in release builds: a wrong
// exchange must stop before it acknowledges anything.

namespace exchange {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace exchange

#define ENSURE(condition)                       \
  (__builtin_expect(!!(condition), 1) ? (void)0 \
                                      : ::exchange::check_failed(#condition, __FILE__, __LINE__))
