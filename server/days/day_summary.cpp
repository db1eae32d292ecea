#include "days/day_summary.hpp"

#include <algorithm>

#include "engine/login_change.hpp"

namespace exchange {
namespace {

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
