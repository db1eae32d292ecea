// Runs the tests. Own option: --seed N for the random tests (and Catch2's own --rng-seed).
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {
std::uint64_t seed;
}

std::uint64_t test_seed() { return seed; }

int main(int argc, char** argv) {
  seed = std::random_device()();
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::string(argv[i]) == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      rest.push_back(argv[i]);
  }
  std::printf("random tests: --seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return Catch::Session().run(int(rest.size()), rest.data());
}
