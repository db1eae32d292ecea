#include "base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

namespace exchange {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "ENSURE failed: %s (%s:%d); this is a bug in the exchange, stopping\n",
               condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace exchange
