#pragma once
// Limits of a store that is reached over a network. Set from the command line (options.hpp).

#include <chrono>

namespace exchange {

struct StoreLimits {
  // How long PostgreSQL may take to answer before the connection is dropped: one statement of the
  // core or the reader; and one that reads or writes many rows, of recovery or the projector.
  std::chrono::milliseconds answer_max{10'000}, bulk_answer_max{120'000};
  // --require-replicas: standbys that must have a commit before it counts
  unsigned replicas_required = 0;
};

}  // namespace exchange
