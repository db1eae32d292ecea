#pragma once
// ENSURE(condition) ends the process if the condition is false, which only a bug of ours can cause;
// client errors are values, failures of the environment are exceptions. It is active in release
// builds too: an exchange in a wrong state must stop before it acknowledges anything. Any thread.

namespace exchange {

// Prints the condition and its place to stderr, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace exchange

#define ENSURE(condition)                       \
  (__builtin_expect(!!(condition), 1) ? (void)0 \
                                      : ::exchange::check_failed(#condition, __FILE__, __LINE__))
