#pragma once
// The acknowledged mark in PATH.lock of a SQLite store: the number of the newest batch whose append
// has returned, and the id of the store. It makes visible that the end of a journal was lost (a log
// that was deleted, or cut at a commit): a journal that ends before the mark has lost acknowledged
// batches, while the journal alone looks like that of a server that crashed before those commits.
// Written by SqliteJournal after each append, read by its check_mark() and by JournalFileReader.
// The mark is never synced: a crash of the process keeps it, a power cut may put it back to an
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

// `file`: descriptor of PATH.lock. Returns nothing if there is no mark, or it is damaged.
std::optional<AcknowledgedMark> read_mark(int file);
// Best effort, so errors are ignored: without a mark less damage is detected, but nothing is lost.
void write_mark(int file, std::string_view store, BatchNumber batch);

}  // namespace exchange
