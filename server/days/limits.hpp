#pragma once
// The limits of a replay.

#include <cstddef>
#include <cstdint>

namespace exchange {

struct ReplayLimits {
  // of a day: some 10 s of CPU time to its end
  std::uint64_t commands_max = 5'000'000;
  // of the exchange at any moment; its view takes about as much again
  std::size_t bytes_max = 256u << 20;
  std::size_t trades_kept_max = 500;        // newest trades of each symbol
  std::size_t trades_in_all_max = 500'000;  // of all symbols: 50 MB
};

}  // namespace exchange
