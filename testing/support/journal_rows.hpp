#pragma once
// Builds the journal of a SQLite store that no server has open, with rows of a test's choice, and
// records of any bytes.

#include <functional>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "journal/journal_file.hpp"

namespace exchange::testing {

// Returns these bytes as a record with a correct checksum.
inline std::string sealed(std::string body) {
  const std::uint32_t sum = crc32(body);
  for (int i = 0; i < 4; ++i) body += char(sum >> (8 * i));
  return body;
}

struct JournalContent {
  std::string id;  // of the store
  Epoch epoch = 0;
  std::vector<JournalRow> rows;
};

inline JournalContent read_journal_file(const std::string& path) {
  JournalFile journal(path, JournalFile::Use::read);
  JournalContent content{journal.id(), journal.epoch(), {}};
  journal.read(0, [&](const JournalRow& row) { return content.rows.push_back(row), true; });
  return content;
}

// Batch numbers must have no gap, and epochs must not decrease.
inline void write_journal_file(const std::string& path, const JournalContent& content,
                               std::uint32_t block_bytes = JournalFile::usual_block_bytes) {
  const BatchNumber before = content.rows.empty() ? 0 : content.rows.front().batch - 1;
  JournalFile::create(path, content.id, before, content.epoch, block_bytes,
                      [&](JournalFile& journal) {
                        for (const JournalRow& row : content.rows) journal.import(row);
                      });
}

// Writes the journal again after `edit`.
inline void edit_journal(const std::string& path, const std::function<void(JournalContent&)>& edit,
                         std::uint32_t block_bytes = JournalFile::usual_block_bytes) {
  JournalContent content = read_journal_file(path);
  edit(content);
  write_journal_file(path, content, block_bytes);
}

// Removes all batches except those from `first` to `last`.
inline void keep_batches(const std::string& path, BatchNumber first, BatchNumber last) {
  edit_journal(path, [&](JournalContent& content) {
    std::erase_if(content.rows,
                  [&](const JournalRow& row) { return row.batch < first || row.batch > last; });
  });
}

}  // namespace exchange::testing
