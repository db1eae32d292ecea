#pragma once
// The commands of a journal as lines of JSON, one for each batch, for programs that read a journal
// (docs/audit.md). The names are those of the described members of engine/commands.hpp, so a new
// command needs nothing here. Called by exchange-audit, and by tests. Thread: one.

#include <cstdio>

#include "audit/source.hpp"
#include "journal/journal_record.hpp"

namespace exchange::audit {

// Without the end of the line. Members that have the value of a new command are left out, but the
// side; of a key, only that there is one is said.
std::string json_line(BatchNumber batch, const JournalRecord& record);

// Writes the lines of all batches, in order; the memory is that of one portion of the journal.
// Throws CannotRead, after the lines of the batches before: the journal cannot be read, or a batch,
// which is named, cannot be decoded.
void write_commands(Source& source, std::FILE* out);

}  // namespace exchange::audit
