#pragma once
// The payload of a journal row: the commands of one batch that changed state, their time, and the
// totals after them, which a replay must reproduce. The core writes it (one JournalWriter for all
// batches); recovery and the audit read it. It has no state except the writer's buffers; one thread
// at a time. A row's batch number and epoch are columns of their own, not part of the payload.
//
//   record  := format:u8        store_format, engine/rows.hpp
//              time:varint      microseconds since the Unix epoch, of all commands
//              count:varint     number of commands
//              command * count
//              orders:varint      totals after the commands: order ids given so far,
//              executions:varint  execution ids given so far,
//              digest:u64         digest of every outcome so far (Totals::digest)
//              crc:u32          CRC-32 (IEEE 802.3) of all bytes before it
//
//   command := kind:u8          its index in Command
//              present:varint   bit i: the i-th optional field is not zero, false, empty or none
//              field *          those always written and those present, in described order
//
// The fields are the members that engine/commands.hpp describes. Names and numbers of shares are
// always written, other fields are optional. New ones must be optional (std::optional<Shares>) and
// described last, new commands too: so an older record keeps its meaning, and an older server
// refuses a record that uses them.
//
//   text    := size:u8  u8 * size
//   cash    := low:varint high:varint   the halves, of 64 bits each, of a number of 1e-16
//   shares, limit                       numbers of 1e-8
//   enumerator := u8
//   true    := nothing: the bit says it
//   key     := log2_n:u8  r:u8  p:u8  salt:u8 * 16  digest:u8 * 28
//   varint  := 7 bits a byte, lowest first; bit 7 is set in all bytes but the last; shortest form
//   u32, u64   little-endian

#include <string>
#include <string_view>
#include <vector>

#include "engine/commands.hpp"
#include "engine/rows.hpp"

namespace exchange {

// Builds one payload at a time: begin(), add() for each command that changed state, finish(). The
// core uses one writer for all batches to keep its buffers.
class JournalWriter {
 public:
  void begin(Timestamp now);
  // `command` must not be a query.
  void add(const Command& command);
  bool empty() const { return count_ == 0; }
  // Returns the payload, which is valid until begin(). `after` holds the exchange's totals after
  // the commands.
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

// Throws StoreCorrupt, with the reason, for any bytes that JournalWriter cannot have written: a
// decoded record encodes to the same bytes again. Throws StoreOtherVersion if the checksum is right
// and the format or a value is unknown.
JournalRecord decode_journal_record(std::string_view payload);

}  // namespace exchange
