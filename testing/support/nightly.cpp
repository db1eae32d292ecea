#include <cstdlib>

#include "catch.hpp"

bool nightly() {
  const char* value = std::getenv("EXCHANGE_NIGHTLY");
  return value != nullptr && std::string(value) == "1";
}
