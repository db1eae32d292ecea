#include "audit/checks.hpp"

#include <optional>
#include <tuple>
#include <unordered_map>

#include "engine/exchange.hpp"
#include "journal/journal_record.hpp"

namespace exchange::audit {
namespace {

constexpr std::size_t changed_rows_max = 10'000;  // in a replay, before they are taken out

std::string batch_name(BatchNumber batch) { return row_name("journal batch", batch); }

// Compares every row of the tables with a replay of the journal from batch 1. It compares closed
// orders, executions and replacements while the replay runs, then drops them; it compares accounts,
// symbols, positions, references and open orders at the end of the replay. Memory: as much as a
// server with the same open orders needs, and all references.
class TableCompare {
 public:
  TableCompare(Source& source, Findings& findings)
      : source_(source),
        findings_(findings),
        executions_(select_rows<ExecutionRow>(source, "ORDER BY id")),
        replacements_(select_rows<ReplacementRow>(source, "ORDER BY number")) {}

  // Takes the rows that the replay has changed since the last call, with their values now.
  void apply(const Rows& rows) {
    for_each_kept([&](auto& kept, auto member) {
      for (const auto& row : rows.*member.pointer) kept[key(row)] = row;
    });
    for (const OrderRow& row : rows.orders) {
      if (row.is_open()) {
        open_[row.id] = row;
        continue;
      }
      open_.erase(row.id);
      due_[row.id] = row;
    }
    if (due_.size() >= orders_at_once) compare_orders();
    for (const ExecutionRow& row : rows.executions) compare_next(executions_, row);
    for (const ReplacementRow& row : rows.replacements) compare_next(replacements_, row);
  }

  // Call it once the replay has reached the projected batch. Compares all remaining rows.
  void finish(const Totals& stored, const Totals& replayed) {
    due_.merge(open_);
    compare_orders();
    report_rest(executions_);
    report_rest(replacements_);
    for_each_kept([&](auto& kept, auto) { compare_table(kept); });
    expect_equal("projection", stored, replayed);
    findings_.count("rows compared with the replay", compared_);
  }

 private:
  template <class Row>
  static constexpr bool compared_meanwhile =
      std::same_as<Row, OrderRow> || std::same_as<Row, ExecutionRow> ||
      std::same_as<Row, ReplacementRow>;
  template <class Row>
  using ByKey = std::unordered_map<std::uint64_t, Row>;

  // Calls use(rows by key, member of Rows) for each table that is compared at the end of the
  // replay.
  template <class Use>
  void for_each_kept(Use use) {
    for_each_member<Rows>([&](auto member) {
      using Row = RowIn<decltype(member)>;
      if constexpr (!compared_meanwhile<Row>) use(std::get<ByKey<Row>>(kept_), member);
    });
  }

  // Compares every row of a table with the rows of the replay. Consumes `expected`.
  template <class Row>
  void compare_table(ByKey<Row>& expected) {
    const std::string order = std::string("ORDER BY ") + TableTraits<Row>::key;
    for (const auto rows = select_rows<Row>(source_, order); rows->next();) {
      const Row stored = read_stored<Row>(*rows);
      const auto found = expected.extract(key(stored));
      if (found.empty())
        surplus(row_name(stored));
      else
        expect_equal(row_name(stored), stored, found.mapped());
    }
    std::map<std::uint64_t, Row> rest(expected.begin(), expected.end());  // in order
    for (const auto& [number, row] : rest) missing(row_name(row));
  }

  // Both the table and the replay have these rows in the order of their keys.
  template <class Row>
  void compare_next(RowCursor<Row>& stored, const Row& expected) {
    for (; stored.row() != nullptr && key(*stored.row()) <= key(expected); stored.advance()) {
      if (key(*stored.row()) < key(expected)) {
        surplus(row_name(*stored.row()));
        continue;
      }
      expect_equal(row_name(expected), *stored.row(), expected);
      return stored.advance();
    }
    missing(row_name(expected));
  }
  template <class Row>
  void report_rest(RowCursor<Row>& stored) {
    for (; stored.row() != nullptr; stored.advance()) surplus(row_name(*stored.row()));
  }

  // check_tables() finds orders whose ids were never given.
  void compare_orders() {
    while (!due_.empty()) {
      std::map<OrderId, OrderRow> some;
      while (!due_.empty() && some.size() < orders_at_once) some.insert(due_.extract(due_.begin()));
      for (const auto rows = select_rows<OrderRow>(
               source_, where_in("id", some.begin(), some.end()) + "ORDER BY id");
           rows->next();) {
        const OrderRow stored = read_stored<OrderRow>(*rows);
        expect_equal(row_name(stored), stored, some.at(stored.id));
        some.erase(stored.id);
      }
      for (const auto& [id, row] : some) missing(row_name(row));
    }
  }

  template <class Row>
  void expect_equal(const std::string& name, const Row& stored, const Row& expected) {
    ++compared_;
    if (const std::string found = difference(stored, expected); !found.empty())
      findings_.violation("replay", name, found);
  }
  void missing(const std::string& name) {
    findings_.violation("replay", name, "is missing: the journal has it");
  }
  void surplus(const std::string& name) {
    findings_.violation("replay", name, "should not be there: the journal does not have it");
  }

  Source& source_;
  Findings& findings_;
  std::uint64_t compared_ = 0;
  template <class Member>
  using Kept = ByKey<RowIn<Member>>;
  boost::mp11::mp_rename<boost::mp11::mp_transform<Kept, MembersOf<Rows>>, std::tuple> kept_;
  std::map<OrderId, OrderRow> open_, due_;  // due: to be compared now
  RowCursor<ExecutionRow> executions_;
  RowCursor<ReplacementRow> replacements_;
};

class JournalCheck {
 public:
  JournalCheck(Source& source, const TablesImage& image, bool sound, Findings& findings,
               JournalLeaderboard* board)
      : source_(source), image_(image), sound_(sound), findings_(findings), board_(board) {}

  AfterTables run() {
    BatchNumber last = 0;
    std::uint64_t records = 0;
    for (std::vector<JournalRow> rows; !(rows = source_.journal(last)).empty();)
      for (const JournalRow& row : rows) {
        if (records++ == 0) begin(row.batch);
        check(row, last);
        last = row.batch;
      }
    findings_.count("journal records", records);
    if (records == 0 && image_.projected_batch > 0)
      violation(
          image_.projected_batch,
          "is missing, as are all others: the tables are at that batch, and a server never prunes "
          "its row");
    if (const auto acknowledged = source_.acknowledged(); acknowledged && last < *acknowledged)
      violation(*acknowledged,
                "was acknowledged, but the journal ends with batch " + std::to_string(last));
    if (records == 0) begin(image_.projected_batch + 1);
    if (records > 0 && last < image_.projected_batch)
      violation(last, "is the last, but the tables are at batch " +
                          std::to_string(image_.projected_batch));
    return end();
  }

 private:
  void violation(BatchNumber batch, const std::string& problem) {
    findings_.violation("journal", batch_name(batch), problem);
  }

  // The journal's first batch decides what can be replayed.
  void begin(BatchNumber first) {
    const BatchNumber projected = image_.projected_batch;
    if (first > projected + 1) {
      violation(projected + 1, "is missing: the tables are at batch " + std::to_string(projected) +
                                   ", the journal begins with " + std::to_string(first));
      return stop_replay("the journal does not reach back to the tables' batch");
    }
    if (const Epoch epoch = source_.tables_epoch().value_or(0); epoch > source_.epoch())
      findings_.violation("journal", "projection",
                          "its epoch " + std::to_string(epoch) +
                              " is above that of the journal's fence, " +
                              std::to_string(source_.epoch()));
    if (first == 1) {
      exchange_.emplace();
      from_first_ = true;
      if (sound_)
        compare_.emplace(source_, findings_);
      else
        findings_.not_checked(
            "the tables, row by row, against a replay: they have violations of their own");
      if (projected == 0) reach_tables();
      return;
    }
    findings_.not_checked(
        "the tables, row by row, against a replay: the journal was pruned, it begins with batch " +
        std::to_string(first) + " (a server with --keep-journal keeps all of it)");
    if (!sound_) return stop_replay("the tables have violations and cannot be loaded");
    load();
  }

  // Loads the tables as a server does at its start.
  void load() try {
    exchange_.emplace(image_.rows);
    if (const std::string found = exchange_->check_invariants(); !found.empty())
      throw std::runtime_error(found);
    reached_ = true;
    at_ = image_.projected_batch;
  } catch (const std::runtime_error& error) {
    findings_.violation("replay", "",
                        std::string("a server would not load these tables: ") + error.what());
    stop_replay("the tables cannot be loaded");
  }

  void stop_replay(const std::string& why) {
    exchange_.reset();
    compare_.reset();
    findings_.not_checked("a replay of the journal: " + why);
  }

  void check(const JournalRow& row, BatchNumber last) {
    if (last > 0 && row.batch != last + 1) {
      violation(last + 1, "is missing: the next is " + std::to_string(row.batch));
      if (exchange_ && row.batch > at_ + 1) stop_replay("batches are missing");
    }
    if (row.epoch < last_epoch_)
      violation(row.batch, "its epoch " + std::to_string(row.epoch) +
                               " is below that of the previous batch, " +
                               std::to_string(last_epoch_));
    if (row.epoch > source_.epoch())
      violation(row.batch, "its epoch " + std::to_string(row.epoch) +
                               " was never taken: the fence is at " +
                               std::to_string(source_.epoch()));
    last_epoch_ = std::max(last_epoch_, row.epoch);
    try {
      const JournalRecord record = decode_journal_record(row.payload);
      commands_ += record.commands.size();
      check_order(row.batch, record);
      if (row.batch == image_.projected_batch && !compare_) check_tables(record);
      if (exchange_ && row.batch > at_) replay(row.batch, record);
    } catch (const StoreCorrupt& error) {
      violation(row.batch, error.what());
      if (exchange_ && row.batch > at_)
        stop_replay("batch " + std::to_string(row.batch) + " cannot be read");
    }
  }

  void check_order(BatchNumber batch, const JournalRecord& record) {
    if (record.time < last_.time) violation(batch, "its time is before that of the previous batch");
    if (record.orders < last_.orders || record.executions < last_.executions)
      violation(batch, "its counters go back");
    if (record.commands.empty()) violation(batch, "has no commands");
    last_ = {record.time, {}, record.orders, record.executions, 0};
  }

  // If the replay does not start with batch 1, the record of the projected batch has the totals
  // that the tables must have.
  void check_tables(const JournalRecord& record) {
    const Totals& totals = image_.rows.totals;
    if (agree(totals, record)) return;
    findings_.violation("replay", "projection",
                        "has " + counters(totals) + ", but " + batch_name(image_.projected_batch) +
                            " led to " + counters(record));
  }

  static bool agree(const Totals& totals, const JournalRecord& record) {
    return totals.orders == record.orders && totals.executions == record.executions &&
           totals.digest == record.digest;
  }
  template <class T>
  static std::string counters(const T& counted) {
    return std::to_string(counted.orders) + " orders, " + std::to_string(counted.executions) +
           " executions and digest " + std::to_string(counted.digest);
  }

  void replay(BatchNumber batch, const JournalRecord& record) {
    exchange_->begin_batch(batch);
    for (const Command& command : record.commands)
      if (!changed_state(exchange_->apply(command, record.time))) {
        findings_.violation("replay", batch_name(batch),
                            "a command that was accepted is rejected in the replay");
        return stop_replay("it differs from the record of batch " + std::to_string(batch));
      }
    const Totals& totals = exchange_->totals();
    if (!agree(totals, record)) {
      findings_.violation(
          "replay", batch_name(batch),
          "leads to " + counters(totals) + ", but the record has " + counters(record));
      return stop_replay("it differs from the record of batch " + std::to_string(batch));
    }
    ++replayed_;
    at_ = batch;
    if (at_ == image_.projected_batch)
      reach_tables();
    else if (exchange_->changed_rows() > changed_rows_max)
      take_changes();
  }

  void take_changes() {
    exchange_->release_closed(exchange_->take_changes(rows_));
    if (board_ != nullptr && from_first_) board_->add(rows_);
    if (reached_) {
      for (const OrderRow& row : rows_.orders) after_.orders[row.id] = row;
      after_.accounts.insert(after_.accounts.end(), rows_.accounts.begin(), rows_.accounts.end());
      after_.symbols.insert(after_.symbols.end(), rows_.symbols.begin(), rows_.symbols.end());
      for (const ReplacementRow& row : rows_.replacements)
        after_.replacements.emplace(row.order, row);
    } else if (compare_) {
      compare_->apply(rows_);
    }
  }

  void reach_tables() {
    take_changes();
    if (compare_) compare_->finish(image_.rows.totals, exchange_->totals());
    compare_.reset();
    reached_ = true;
  }

  AfterTables end() {
    if (!exchange_) return std::move(after_);
    take_changes();
    if (const std::string found = exchange_->check_invariants(); !found.empty())
      findings_.violation("replay", batch_name(at_),
                          "after it the exchange violates its invariants: " + found);
    findings_.count("journal commands", commands_);
    findings_.count("batches replayed", replayed_);
    findings_.count("last batch", at_);
    after_.known = reached_;
    if (board_ != nullptr) board_->complete = from_first_;
    return std::move(after_);
  }

  Source& source_;
  const TablesImage& image_;
  const bool sound_;
  Findings& findings_;
  std::optional<Exchange> exchange_;  // nothing once the replay has stopped
  std::optional<TableCompare> compare_;
  JournalLeaderboard* const board_;
  bool from_first_ = false;  // the replay began with batch 1
  bool reached_ = false;     // the replay is at the tables' batch or beyond
  BatchNumber at_ = 0;
  Epoch last_epoch_ = 0;
  JournalRecord last_{};
  std::uint64_t commands_ = 0, replayed_ = 0;
  Rows rows_;
  AfterTables after_;
};

}  // namespace

void JournalLeaderboard::add(const Rows& rows) {
  for (const AccountRow& row : rows.accounts)
    if (row.number == accounts.size()) accounts.push_back(row.id);
  for (const AccountRulesRow& row : rows.account_rules) names[row.account] = row.name;
  standings.add(rows, [](const auto& all, auto visit) {
    for (const auto& row : all) visit(row);
  });
}

AfterTables check_journal(Source& source, const TablesImage& image, bool sound, Findings& findings,
                          JournalLeaderboard* board) {
  return JournalCheck(source, image, sound, findings, board).run();
}

}  // namespace exchange::audit
