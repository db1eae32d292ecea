#pragma once
// Limits of batches, projection and the journal. The command line sets them (options.hpp).

#include <cstddef>
#include <cstdint>

#include "base/option.hpp"

namespace exchange {

struct CoreLimits {
  std::size_t batch_commands_max = 8'192;
  // executions that the replies to one request batch may list or skip; beyond it, queries are
  // refused, and cancels of one order do not list any. Bounds memory and time.
  std::size_t reply_executions_max = 100'000;
  // rows by which the tables may lag before the core waits for them
  std::size_t unprojected_rows_max = 400'000;
  // orders that the core copies for the projector, and that it frees, in each turn, in addition to
  // some for each command of the turn; it copies a 32nd of all if that is more. Requests wait
  // meanwhile.
  std::size_t orders_at_once = 512;
  // minimum time from the start of a projection to the next one: rows that change often are written
  // once
  std::uint32_t projection_interval_ms = 200;
  // the same minimum if a reader waits for rows
  std::uint32_t awaited_interval_ms = 10;
  std::uint64_t journal_batches_kept = 1'000;
  std::uint64_t journal_prune_step = 1'000;  // minimum number of rows deleted together
  // executions (24 bytes each) in outcomes that are not in a reply yet; beyond it, the core waits
  std::size_t executions_held_max = 1'000'000;
  // a request batch of at most this number of commands overtakes larger ones
  std::size_t small_commands_max = 64;
  bool keep_journal = false;
  std::uint32_t store_wait_s = 30;
  // pause between attempts while the store is unavailable
  std::uint32_t store_retry_ms = 100;
};
template <class Add>
void add_options(CoreLimits& limits, Add add) {
  add("--keep-journal", limits.keep_journal, "never prune the journal, for audit and replay");
  add("--journal-batches-kept", limits.journal_batches_kept,
      "projected batches that the journal keeps");
  add("--batch-commands-max", limits.batch_commands_max,
      "maximum commands in one commit; a request is never split", Range{1, 1'000'000});
  add("--projection-interval-ms", limits.projection_interval_ms,
      "minimum milliseconds from one update of the tables to the next; 2.5 times as many after a "
      "large one",
      Range{0, 60'000});
  add("--store-wait-s", limits.store_wait_s,
      "seconds to wait at start for a database that is not available yet", Range{0, 86'400});
}

}  // namespace exchange
