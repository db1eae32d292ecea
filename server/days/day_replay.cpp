#include "days/day_replay.hpp"

#include <random>

#include "base/bursts.hpp"

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

}  // namespace exchange
