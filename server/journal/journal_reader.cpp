#include "journal/journal_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "journal/acknowledged_mark.hpp"
#include "journal/journal_file.hpp"

namespace exchange {

BatchNumber LocalJournalReader::newest() {
  const Header header = this->header();
  return std::max(header.newest, acknowledged(header.store).value_or(0));
}

void LocalJournalReader::check_epoch(Epoch found) const {
  if (epoch_ && found != *epoch_)
    throw StoreFenced(file() + ": a server has opened the store meanwhile");
}

// Returns what was read before a damaged place. The next call throws for the damage.
std::vector<JournalRow> JournalFileReader::read(BatchNumber after, std::size_t rows_max) {
  constexpr std::size_t bytes_at_once = 4 << 20;
  std::vector<JournalRow> rows;
  std::size_t bytes = 0;
  try {
    JournalFile journal(file_, JournalFile::Use::read);
    check_epoch(journal.epoch());
    journal.read(after, [&](const JournalRow& row) {
      rows.push_back(row);
      bytes += row.payload.size();
      return bytes < bytes_at_once && rows.size() < rows_max;
    });
  } catch (const StoreCorrupt&) {
    if (rows.empty()) throw;
  }
  return rows;
}

bool JournalFileReader::is_complete() const { return JournalFile::is_complete(file_); }

JournalFileReader::Header JournalFileReader::header() const {
  const JournalFile journal(file_, JournalFile::Use::read);
  return {journal.id(), journal.epoch(), journal.newest_batch()};
}

std::optional<BatchNumber> JournalFileReader::acknowledged(const std::string& store) const {
  const int file = ::open((path_ + ".lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const auto mark = read_mark(file);
  ::close(file);
  if (!mark || mark->store != store) return {};
  return mark->batch;
}

}  // namespace exchange
