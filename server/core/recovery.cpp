#include "core/recovery.hpp"

#include "store/journal_record.hpp"

namespace exchange {
namespace {

Exchange load_exchange(const Rows& rows, std::uint64_t hash_seed) {
  try {
    Exchange exchange(rows, hash_seed);
    if (const std::string violation = exchange.check_invariants(); !violation.empty())
      throw StoreCorrupt("the tables contradict themselves: " + violation);
    return exchange;
  } catch (const StoreCorrupt&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw StoreCorrupt(std::string("the tables contradict themselves: ") + error.what());
  }
}

void replay(Recovered& recovered, const JournalRow& row) {
  Exchange& exchange = recovered.exchange;
  const std::string where = "journal batch " + std::to_string(row.batch);
  const JournalRecord record = [&] {
    try {
      return decode_journal_record(row.payload);
    } catch (const StoreCorrupt& error) {
      throw StoreCorrupt(where + ": " + error.what());
    }
  }();
  for (const Command& command : record.commands) {
    if (!changed_state(exchange.apply(command, record.time)))
      throw StoreCorrupt(where + ": a command that was accepted is refused in replay");
    if (const auto* created = std::get_if<CreateAccount>(&command); created != nullptr && created->key.has_key())
      recovered.keys.emplace_back(created->account, created->key);
  }
  const Totals& totals = exchange.totals();
  if (totals.orders != record.orders || totals.executions != record.executions || totals.digest != record.digest)
    throw StoreCorrupt(where + ": the replay differs from what was promised to clients");
}

}  // namespace

Recovered recover(Store& store, std::uint64_t hash_seed) {
  TablesImage image = store.load();
  Recovered recovered{load_exchange(image.rows, hash_seed), image.projected_batch, 0, {}, {}};
  for (const AccountKeyRow& row : image.rows.account_keys) recovered.keys.emplace_back(image.rows.accounts[row.account].id, row.key);
  store.read_journal(image.projected_batch, [&](const JournalRow& row) {
    if (row.batch != recovered.last_batch + 1)
      throw StoreCorrupt("the journal goes from batch " + std::to_string(recovered.last_batch) + " to " +
                         std::to_string(row.batch) + ": rows are missing");
    replay(recovered, row);
    recovered.last_batch = row.batch;
    ++recovered.batches_replayed;
  });
  recovered.tables = std::move(image.rows);
  return recovered;
}

}  // namespace exchange
