#pragma once
// Catch2 3.x where it is installed, else the single header of 2.x.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstdint>
#include <string>

// Matches a string that contains `text`.
#if __has_include(<catch2/catch_all.hpp>)
inline auto contains_text(const std::string& text) {
  return Catch::Matchers::ContainsSubstring(text);
}
#else
inline auto contains_text(const std::string& text) { return Catch::Contains(text); }
#endif

// The seed of every random test of this run: --seed N, else drawn; printed at the start.
std::uint64_t test_seed();

// Whether tests may take long: EXCHANGE_NIGHTLY=1.
bool nightly();
