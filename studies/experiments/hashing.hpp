#pragma once
// Callers who each want one bcrypt hash after the other, served by a thread for each request or by
// a bounded pool. What the bcrypt experiment and the program bcrypt_pool run.

#include <cstdint>

#include "studies/experiments/lab.hpp"

namespace exchange::experiments {

struct HashingPlan {
  unsigned callers = 30;
  bool pool = true;  // else a thread for each request
  // requests that may wait before the pool; more callers have to wait outside
  unsigned buffer = 10;
  unsigned workers = 2;  // of the pool
  double seconds = 5;    // after that callers begin nothing more
  unsigned cost = 10;    // 2^cost rounds
};

struct HashingResult {
  std::uint64_t in_time = 0;      // hashes done when the time was over
  std::uint64_t left = 0;         // accepted, and not done by then
  std::uint64_t begun = 0;        // in all; each is done at the end
  std::uint64_t turned_away = 0;  // callers not yet accepted at the end
  std::uint64_t wrong = 0;        // hashes that are not what the password and salt give
  unsigned running_most = 0;      // hashes under way at a time
  unsigned waiting_most = 0;      // requests in the buffer at a time
  Run run = {};                   // until the last was done
  // from a caller's wish to its hash; of those turned away, how long they had waited
  Histogram latency_us;
};

// Throws std::runtime_error if the library has no bcrypt.
HashingResult run_hashing(const HashingPlan& plan);

// Seconds of one hash, alone.
double time_one_hash(unsigned cost);

}  // namespace exchange::experiments
