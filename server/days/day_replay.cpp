#include "days/day_replay.hpp"

#include <algorithm>
#include <random>

#include "base/bursts.hpp"
#include "engine/login_change.hpp"

namespace exchange {
namespace {

constexpr std::size_t rows_at_once = 20'000;      // of the journal
constexpr std::size_t changed_rows_max = 10'000;  // taken together

std::string where(BatchNumber batch) { return "journal batch " + std::to_string(batch); }

JournalRecord decode(const JournalRow& row) {
  try {
    return decode_journal_record(row.payload);
  } catch (const StoreOtherVersion& error) {
    throw StoreOtherVersion(where(row.batch) + ": " + error.what());
  } catch (const StoreCorrupt& error) {
    throw StoreCorrupt(where(row.batch) + ": " + error.what());
  }
}

std::string not_whole(const JournalRow& first) {
  return "its journal begins with batch " + std::to_string(first.batch) +
         ", so it cannot be replayed: the server of that day ran without --keep-journal";
}

void note_key(DaySummary& summary, const Command& command) {
  const auto change = login_change_of(command);
  if (!change || !change->key) return;
  const std::string account(change->account.view());
  if (change->key->has_key())
    summary.keys.insert_or_assign(account, *change->key);
  else
    summary.keys.erase(account);
}

void note_symbol(DaySummary& summary, const SymbolRow& row, const DayReplay& replay) {
  if (row.number == summary.symbols.size()) summary.symbols.push_back({row.name, 0, {}, {}});
  std::vector<DaySummary::Mark>& marks = summary.symbols[row.number].marks;
  const Trading before = marks.empty() ? Trading::open : marks.back().trading;
  if (row.trading != before && marks.size() < DaySummary::marks_max)
    marks.push_back({replay.position(), replay.time(), row.trading});
}

void note_trade(DaySummary& summary, const ExecutionRow& row) {
  DaySummary::Symbol& symbol = summary.symbols[row.symbol];
  const std::size_t bin = summary.bin_of(row.time);
  if (symbol.trades_of_bin.size() <= bin) symbol.trades_of_bin.resize(bin + 1);
  ++symbol.trades_of_bin[bin];
  ++symbol.trades;
}

}  // namespace

DayReplay::DayReplay(JournalReader& journal, const ReplayLimits& limits)
    : journal_(journal),
      limits_(limits),
      exchange_(std::random_device()()),
      view_(limits.trades_kept_max, limits.trades_in_all_max, std::random_device()()) {}

std::optional<Timestamp> DayReplay::next_time() {
  if (command_ == record_.commands.size() && !read_batch()) return {};
  return record_.time;
}

// Returns false at the end of the day.
bool DayReplay::read_batch() {
  if (row_ == read_.size()) {
    read_ = journal_.read(batch_, rows_at_once);
    row_ = 0;
  }
  if (read_.empty()) {
    if (const BatchNumber newest = journal_.newest(); batch_ < newest)
      throw StoreCorrupt("the journal ends with batch " + std::to_string(batch_) + ", but batch " +
                         std::to_string(newest) + " was acknowledged");
    return false;
  }
  const JournalRow& row = read_[row_++];
  if (batch_ == 0 && row.batch != 1) throw CannotReplay(not_whole(row));
  if (row.batch != batch_ + 1)
    throw StoreCorrupt(where(batch_ + 1) + " is missing: the next is " + std::to_string(row.batch));
  record_ = decode(row);
  if (record_.commands.empty()) throw StoreCorrupt(where(row.batch) + " has no commands");
  if (position_ + record_.commands.size() > limits_.commands_max)
    throw CannotReplay("it has more than " + std::to_string(limits_.commands_max) +
                       " commands, too many for a replay here; exchange-audit reads such a day");
  if (exchange_.working_set() > limits_.bytes_max)
    throw CannotReplay("its open orders and accounts take more memory than a replay may have");
  batch_ = row.batch;
  command_ = 0;
  exchange_.begin_batch(batch_);
  return true;
}

const Command& DayReplay::advance() {
  const bool there = next_time().has_value();
  ENSURE(there);
  if (exchange_.changed_rows() > changed_rows_max) take_changes();
  Bursts::rest_if_due();
  const Command& command = record_.commands[command_];
  if (!changed_state(exchange_.apply(command, record_.time)))
    throw StoreCorrupt(where(batch_) + ": a command that was accepted is refused in the replay");
  ++position_;
  time_ = record_.time;
  if (++command_ == record_.commands.size()) check_batch();
  return command;
}

void DayReplay::check_batch() const {
  const Totals& totals = exchange_.totals();
  if (totals.orders != record_.orders || totals.executions != record_.executions ||
      totals.digest != record_.digest)
    throw StoreCorrupt(where(batch_) + ": the replay differs from what was promised to clients");
}

DayReplay::Changes DayReplay::take_changes() {
  exchange_.release_closed(exchange_.take_changes(rows_));
  return {rows_, view_.apply(rows_, batch_)};
}

DayFacts look_at(JournalReader& journal) {
  const BatchNumber newest = journal.newest();
  if (newest == 0) return {};
  const std::vector<JournalRow> first = journal.read(0, 1), last = journal.read(newest - 1, 1);
  if (first.empty() || last.empty())
    throw StoreCorrupt(where(newest) + " is missing, and was acknowledged");
  DayFacts facts{decode(first[0]).time, decode(last[0]).time, {}};
  if (first[0].batch != 1) facts.problem = not_whole(first[0]);
  return facts;
}

const DaySummary::Symbol* DaySummary::find(const SymbolName& name) const {
  const auto found = std::ranges::find(symbols, name, &Symbol::name);
  return found == symbols.end() ? nullptr : &*found;
}

std::size_t DaySummary::bin_of(Timestamp time) const {
  const std::int64_t length = last_time.microseconds - first_time.microseconds + 1;
  const std::int64_t at =
      std::clamp<std::int64_t>(time.microseconds - first_time.microseconds, 0, length - 1);
  return std::size_t(Int128(at) * bins / length);
}

DaySummary summarize(DayReplay& replay, const DayFacts& facts, const std::function<void()>& go_on) {
  DaySummary summary;
  summary.first_time = facts.first_time.value_or(Timestamp());
  summary.last_time = facts.last_time.value_or(Timestamp());
  while (replay.next_time()) {
    note_key(summary, replay.advance());
    const Rows& rows = replay.take_changes().rows;
    for (const SymbolRow& row : rows.symbols) note_symbol(summary, row, replay);
    for (const ExecutionRow& row : rows.executions) note_trade(summary, row);
    if (replay.position() % commands_between_calls == 0) go_on();
  }
  summary.commands = replay.position();
  return summary;
}

}  // namespace exchange
