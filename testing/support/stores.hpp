#pragma once
// Steps of a server on its store without a server: projection, start and log.

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/recovery.hpp"
#include "journal/journal_record.hpp"
#include "store/store.hpp"

namespace exchange::testing {

// Projects the changed rows, and releases closed orders.
inline void project(Store& store, Exchange& exchange, BatchNumber batch) {
  Rows rows;
  const ClosedMark closed = exchange.take_changes(rows);
  store.tables().project(rows, batch);
  exchange.release_closed(closed);
}

// Deletes journal rows up to `through` that the tables safely contain.
inline void prune(Store& store, BatchNumber through) {
  store.journal().prune(std::min(through, store.tables().secure()));
}

// Applies and journals commands as one batch, at a time of its own.
inline void commit(Store& store, Exchange& exchange, BatchNumber batch,
                   const std::vector<Command>& commands) {
  const Timestamp now{std::int64_t(batch) * 10'000'000};
  JournalWriter writer;
  writer.begin(now);
  for (const Command& command : commands) {
    ENSURE(changed_state(exchange.apply(command, now)));
    writer.add(command);
  }
  store.journal().append(batch, writer.finish(exchange.totals()));
}

// Returns the rows of the journal after a batch.
inline std::vector<JournalRow> journal_after(Store& store, BatchNumber batch) {
  std::vector<JournalRow> rows;
  store.journal().read(batch, [&](const JournalRow& row) { rows.push_back(row); });
  return rows;
}

// Returns the last batch of a server that starts on this store, or why it refuses.
inline std::string start(Store&& store) {
  try {
    store.open();
    return "batch " + std::to_string(recover(store).last_batch);
  } catch (const StoreCorrupt& error) {
    return error.what();
  }
}

// Collects the log of the server while it lives.
class CapturedLog {
 public:
  CapturedLog() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

}  // namespace exchange::testing
