#pragma once
// Checks the write-ahead log of a SQLite file before SQLite opens it, because SQLite treats a
// damaged frame as the end of the log and silently continues without the commits after it. Called
// by SqliteDatabase, SqliteStore and the audit. wal_frames.hpp has the format and the search for
// damage; this file accesses the files. No state; any thread.

#include <string>

namespace exchange {

// Returns the name of the log of a database file. If the database is a symbolic link, SQLite keeps
// the log beside the target of the link.
std::string log_of(const std::string& path);

// Describes the damage of a database file's log; empty if the log is sound or does not exist. Only
// reads. Throws StoreUnavailable if a file cannot be opened or read.
std::string find_log_damage(const std::string& path);

// Makes the log of a database file safe to open. Call it before the first connection. Throws
// StoreCorrupt if the log is damaged. Removes the rest of an unfinished transaction after the last
// commit, then writes and syncs the log once more: if a sync failed before, the page cache may hold
// parts of the log that never reached the disk. SQLite would not sync them again, and would copy
// pages into the file as if the log were durable. Throws StoreUnavailable if the log cannot be read
// or written, StoreCorrupt if the sync fails.
void secure_log(const std::string& path);

}  // namespace exchange
