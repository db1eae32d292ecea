#include "history/journal_file.hpp"

#include "audit/source.hpp"

namespace exchange::history {
namespace {

void add(std::vector<Batch>& batches, const JournalRow& row) {
  if (row.batch != batches.size() + 1)
    throw Unusable("the journal has no batch " + std::to_string(batches.size() + 1) + " but has " +
                   std::to_string(row.batch) + ": was the server started with --keep-journal?");
  try {
    batches.push_back({row.batch, decode_journal_record(row.payload)});
  } catch (const StoreCorrupt& error) {
    throw Unusable("batch " + std::to_string(row.batch) + ": " + error.what());
  }
}

}  // namespace

std::vector<Batch> read_journal(const std::string& store) try {
  const std::unique_ptr<audit::Source> source = audit::open_source(store);
  if (const std::string hidden = source->journal_hidden(); !hidden.empty()) throw Unusable(hidden);
  std::vector<Batch> batches;
  for (std::vector<JournalRow> rows; !(rows = source->journal(batches.size())).empty();)
    for (const JournalRow& row : rows) add(batches, row);
  return batches;
} catch (const audit::CannotRead& error) {
  throw Unusable(std::string("cannot read the journal: ") + error.what());
} catch (const std::invalid_argument& error) {
  throw Unusable(error.what());
}

}  // namespace exchange::history
