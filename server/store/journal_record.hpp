#pragma once
// The payload of a journal row: the commands of one batch that changed state, their time, and what
// they led to. Little-endian, version 1:
//   u8 version, varint microseconds, varint count, count commands, then the totals after them
//   (varint orders, varint executions, u64 digest), u32 CRC-32 of all before it.
// A command: u8 kind (index in Command), its fields in order; text as u8 length and bytes, shares,
// prices and ids as varint, cash as two varints (low 64 bits, high 64 bits), side as u8. An account
// with a key is kind 6: account, cash, then u8 log2_n, u8 r, u8 p, salt and digest of the hash;
// without one it is kind 0, as it ever was.

#include <string>
#include <string_view>
#include <vector>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

// Fills one payload; reused from batch to batch.
class JournalWriter {
 public:
  void begin(Timestamp now);
  void add(const Command& command);
  bool empty() const { return count_ == 0; }
  // Valid until begin().
  std::string_view finish(const Totals& after);

 private:
  std::string commands_, payload_;
  Timestamp now_;
  std::uint64_t count_ = 0;
};

struct JournalRecord {
  Timestamp time;
  std::vector<Command> commands;
  OrderId orders;  // the totals after the commands
  ExecutionId executions;
  std::uint64_t digest;
};

// Throws StoreCorrupt, saying what is wrong, for anything that JournalWriter did not write.
JournalRecord decode_journal_record(std::string_view payload);

}  // namespace exchange
