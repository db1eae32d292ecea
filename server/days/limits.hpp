#pragma once
// The limits of replays of closed days.

#include <cstddef>
#include <cstdint>

namespace exchange {

struct ReplayLimits {
  // of a day: about 10 s of CPU time to its end
  std::uint64_t commands_max = 5'000'000;
  // of the exchange at any moment; its view takes about the same in addition
  std::size_t bytes_max = 256u << 20;
  std::size_t trades_kept_max = 500;        // newest trades of each symbol
  std::size_t trades_in_all_max = 500'000;  // of all symbols: 50 MB
  // lines of an account, and levels of a side, in one answer
  std::size_t page_lines_max = 1'000;
  // commands that one answer advances at most, even if they do not change the requested state
  std::uint64_t reach = 100'000;
  // requests that wait for the replay thread, at most three quarters of them from one address; more
  // are refused
  std::size_t requests_max = 16;
  // time for an answer before the request is refused; the replay then continues
  std::uint32_t answer_ms = 10'000;
  // a replay without a request for this long is dropped, with its memory
  std::uint32_t idle_ms = 120'000;
};

}  // namespace exchange
