#pragma once
// The acknowledged mark in PATH.lock of a SQLite store: the number of the newest batch whose append
// has returned, and the id of the store. It detects that the end of a journal was lost (a log that
// was deleted, or cut at a commit). A journal that ends before the mark has lost acknowledged
// batches; without the mark, it would look like the journal of a server that crashed before those
// commits. SqliteJournal writes the mark after each append; its check_mark() and JournalFileReader
// read it. The mark is never synced: it survives a crash of the process, but a power cut may set it
// back to an older batch, never to a newer one. Thread: core thread.
// older batch, never to a newer one. Thread: core thread.
//
// One line of 96 bytes, overwritten in place:
//    0  "acknowledged "
//   13  batch      20 decimal digits, with leading zeros
//   33  " of "
//   37  store id   32 characters
//   69  3 spaces
//   72  "sum "
//   76  checksum   16 digits of lower-case hex
//   92  3 spaces
//   95  newline
// The checksum is page_checksum() over bytes 0 to 71 and 24 zero bytes, with seed 69.

#include <optional>
#include <string>
#include <string_view>

#include "journal/journal_row.hpp"

namespace exchange {

struct AcknowledgedMark {
  std::string store;  // the id that both files carry
  BatchNumber batch = 0;
};

// `file` is the descriptor of PATH.lock. Returns nothing if there is no mark, or if it is damaged.
std::optional<AcknowledgedMark> read_mark(int file);
// Ignores errors: without a mark less damage is detected, but no data is lost.
void write_mark(int file, std::string_view store, BatchNumber batch);

}  // namespace exchange
