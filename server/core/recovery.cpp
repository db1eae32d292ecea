#include "core/recovery.hpp"

#include "base/fail_point.hpp"
#include "journal/journal_record.hpp"

namespace exchange {
namespace {

constexpr const char* restore = "; restore the store from a backup (docs/recovery.md)";
constexpr const char* rebuild =
    "; restore the store from a backup, or rebuild the tables where the whole journal was kept "
    "(docs/recovery.md)";

Exchange load_exchange(const Rows& rows, std::uint64_t hash_seed) {
  try {
    Exchange exchange(rows, hash_seed);
    if (const std::string violation = exchange.check_invariants(); !violation.empty())
      throw StoreCorrupt("the tables contradict themselves: " + violation + rebuild);
    return exchange;
  } catch (const StoreCorrupt&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw StoreCorrupt(std::string("the tables contradict themselves: ") + error.what() + rebuild);
  }
}

std::string where(const JournalRow& row) { return "journal batch " + std::to_string(row.batch); }

JournalRecord decode(const JournalRow& row) {
  try {
    return decode_journal_record(row.payload);
  } catch (const StoreOtherVersion& error) {
    throw StoreOtherVersion(where(row) + ": " + error.what());
  } catch (const StoreCorrupt& error) {
    throw StoreCorrupt(where(row) + ": " + error.what() + restore);
  }
}

bool leads_to(const JournalRecord& record, const Totals& totals) {
  return totals.orders == record.orders && totals.executions == record.executions &&
         totals.digest == record.digest;
}

}  // namespace

void replay(Recovered& recovered, const JournalRow& row) {
  if (row.batch != recovered.last_batch + 1)
    throw StoreCorrupt("the journal goes from batch " + std::to_string(recovered.last_batch) +
                       " to " + std::to_string(row.batch) + ": rows are missing" + restore);
  Exchange& exchange = recovered.exchange;
  const JournalRecord record = decode(row);
  exchange.begin_batch(row.batch);
  for (const Command& command : record.commands) {
    if (!changed_state(exchange.apply(command, record.time)))
      throw StoreCorrupt(where(row) + ": a command that was accepted is refused in replay" +
                         rebuild);
    if (auto change = login_change_of(command)) recovered.logins.push_back(*change);
  }
  if (!leads_to(record, exchange.totals()))
    throw StoreCorrupt(where(row) + ": the replay differs from what was promised to clients" +
                       rebuild);
  recovered.last_batch = row.batch;
  ++recovered.batches_replayed;
}

bool is_newest(const Recovered& recovered, const JournalRow& row) {
  return row.batch == recovered.last_batch && leads_to(decode(row), recovered.exchange.totals());
}

Recovered recover(Store& store, std::uint64_t hash_seed) {
  TablesImage image = store.tables().load();
  Recovered recovered{load_exchange(image.rows, hash_seed), image.projected_batch, 0, {}, {}};
  for (const AccountKeyRow& row : image.rows.account_keys)
    recovered.logins.push_back({image.rows.accounts[row.account].id, row.key});
  for (const AccountRulesRow& row : image.rows.account_rules)
    recovered.logins.push_back({image.rows.accounts[row.account].id, {}, row.role});
  fail_point("recovery.loaded");
  // Begin with the newest batch of the tables: its record holds the totals that they must have.
  const BatchNumber projected = image.projected_batch;
  bool reaches_tables = projected == 0;
  store.journal().read(projected == 0 ? 0 : projected - 1, [&](const JournalRow& row) {
    reaches_tables = true;
    if (row.batch == projected) {
      if (!leads_to(decode(row), image.rows.totals))
        throw StoreCorrupt("the tables are not what " + where(row) + " led to" + rebuild);
      return;
    }
    replay(recovered, row);
    fail_point("recovery.amid_replay");
  });
  if (!reaches_tables)
    throw StoreCorrupt("the journal ends before batch " + std::to_string(projected) +
                       ", which the tables hold already: acknowledged batches are lost" + restore);
  fail_point("recovery.replayed");
  recovered.tables = std::move(image.rows);
  return recovered;
}

}  // namespace exchange
