#pragma once
// Limits of a store that is reached over a network, and its URL. The command line sets them
// (options.hpp).

#include <chrono>

#include "base/option.hpp"
#include "store/store_url.hpp"

namespace exchange {

struct StoreLimits {
  // How long PostgreSQL may take to answer before the connection is dropped: `answer_max` for one
  // statement of the core or the reader, `bulk_answer_max` for one that reads or writes many rows,
  // of recovery or the projector.
  std::chrono::milliseconds answer_max{10'000}, bulk_answer_max{120'000};
  unsigned replicas_required = 0;
};
template <class Add>
void add_options(StoreLimits& limits, Add add) {
  add("--require-replicas", limits.replicas_required,
      "serve only while PostgreSQL commits to at least this many synchronous replicas; 0: no "
      "condition (docs/operations.md#replication)",
      Range{0, 100});
}

}  // namespace exchange
