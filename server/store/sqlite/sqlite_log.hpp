#pragma once
// Checks the write-ahead log of a SQLite file before SQLite opens it. SQLite takes a damaged frame
// for the end of the log and silently continues without the commits after it. Called by
// SqliteDatabase, SqliteStore and the audit. The format and the search for damage are in
// wal_frames.hpp; this is the access to the files. No state; any thread.

#include <string>

namespace exchange {

// The name of the log of a database file. If that is a symbolic link, SQLite keeps the log beside
// the target of the link.
std::string log_of(const std::string& path);

// Returns the damage of a database file's log in words; empty if it is sound or does not exist.
// Only reads. Throws StoreUnavailable if a file cannot be opened or read.
std::string find_log_damage(const std::string& path);

// Makes the log of a database file safe to open; called before the first connection. Throws
// StoreCorrupt if it is damaged. Removes the rest of an unfinished transaction behind the last
// commit, then writes and syncs the log once more: if a sync failed before, the page cache may hold
// parts of the log that never reached the disk. SQLite would not sync them again, and would copy
// pages into the file as if the log were durable. Throws StoreUnavailable if the log cannot be
// read or written, StoreCorrupt if the sync fails.
void secure_log(const std::string& path);

}  // namespace exchange
