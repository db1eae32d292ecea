#pragma once
// Until version 0.4 the journal of a SQLite store was a SQLite database with the tables journal,
// fence and store. SqliteStore::open(), which has locked the store, copies it into a JournalFile
// beside it, PATH-new; checks the store with that; and only then puts the copy in the place of the
// old journal. A start after a crash goes on from there. No state. Errors as of SqliteDatabase and
// JournalFile.

#include <cstdint>
#include <string>

namespace exchange {

std::string new_journal_of(const std::string& path);
// Makes the copy. Returns false if the old journal holds nothing, since no server has used it.
bool copy_old_journal(const std::string& path, std::uint32_t block_bytes);
// Writes the copy into the file of the old journal, which keeps its owner and rights, and removes
// the copy.
void replace_old_journal(const std::string& path, std::uint32_t block_bytes);

}  // namespace exchange
