#pragma once
// A closed day in memory: random commands as a server would have journaled them, or commands of a
// test; and KeptDays that contain it.

#include <functional>

#include "journal/journal_record.hpp"
#include "model/random_commands.hpp"
#include "store/kept_days.hpp"

namespace exchange::testing {

class RecordedDay {
 public:
  struct Executed {
    Command command;
    Timestamp time;
  };

  // Executes the command; returns true if it is part of the day, false if it was refused.
  bool execute(const Command& command, Timestamp time) {
    if (commands_ == 0) {
      exchange_.begin_batch(rows.size() + 1);
      writer_.begin(time);
    }
    if (!changed_state(exchange_.apply(command, time))) return false;
    writer_.add(command);
    ++commands_;
    commands.push_back({command, time});
    return true;
  }
  void end_batch() {
    if (std::exchange(commands_, 0) == 0) return;
    rows.push_back({rows.size() + 1, 1, std::string(writer_.finish(exchange_.totals()))});
  }
  static RecordedDay random(std::uint64_t seed, std::size_t commands) {
    RecordedDay day;
    RandomCommands source(seed, false, true);
    for (Timestamp now = source.next_time(); day.commands.size() < commands;) {
      day.execute(source.next(day.exchange_.totals().orders), now);
      if (source.below(4) > 0) continue;
      day.end_batch();
      now = source.next_time();
    }
    day.end_batch();
    return day;
  }

  std::vector<JournalRow> rows;
  std::vector<Executed> commands;  // position 1 first

 private:
  Exchange exchange_;
  JournalWriter writer_;
  std::size_t commands_ = 0;  // of the batch
};

// A day "monday" with these rows.
class DaysInMemory final : public KeptDays {
 public:
  // `newest`: the acknowledged batch; 0: that of the last row. `on_read` is called before each
  // read.
  explicit DaysInMemory(
      std::vector<JournalRow> rows, BatchNumber newest = 0, std::function<void()> on_read = [] {})
      : rows_(std::move(rows)), newest_(newest), on_read_(std::move(on_read)) {}
  std::vector<std::string> names() override { return {"monday"}; }
  std::unique_ptr<JournalReader> open(const std::string& day) override {
    if (day != "monday") return nullptr;
    return std::make_unique<Journal>(*this);
  }

 private:
  struct Journal final : JournalReader {
    explicit Journal(const DaysInMemory& days) : of(days) {}
    std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) override {
      of.on_read_();
      constexpr std::size_t portion = 7;
      std::vector<JournalRow> rows;
      for (const JournalRow& row : of.rows_)
        if (row.batch > after && rows.size() < std::min(portion, rows_max)) rows.push_back(row);
      return rows;
    }
    BatchNumber newest() override {
      if (of.newest_ > 0) return of.newest_;
      return of.rows_.empty() ? 0 : of.rows_.back().batch;
    }
    const DaysInMemory& of;
  };
  const std::vector<JournalRow> rows_;
  const BatchNumber newest_;
  const std::function<void()> on_read_;
};

}  // namespace exchange::testing
