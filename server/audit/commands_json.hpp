#pragma once
// Writes the commands of a journal as lines of JSON, one for each batch, for programs that read a
// journal (docs/audit.md). The names are those of the described members of engine/commands.hpp, so
// a new command needs no code here. Called by exchange-audit and by tests. Thread: one.

#include <cstdio>

#include "audit/source.hpp"
#include "journal/journal_record.hpp"

namespace exchange::audit {

// Returns a line without its line end. It omits members that have their default value, except the
// side. It shows only whether there is a key.
std::string json_line(BatchNumber batch, const JournalRecord& record);

// Writes the lines of all batches, in order; the memory is that of one portion of the journal.
// Throws CannotRead, after the lines of the batches before, if the journal cannot be read or a
// batch, which the message names, cannot be decoded.
void write_commands(Source& source, std::FILE* out);

}  // namespace exchange::audit
