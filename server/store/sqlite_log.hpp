#pragma once
// The write-ahead log of a SQLite file, looked at before SQLite does: it takes a damaged frame for
// the end of the log and goes on without what follows. No state. Any thread.

#include <string>

namespace exchange {

inline constexpr const char* restore_store = "restore the store from a backup (docs/recovery.md)";
inline constexpr const char* after_failed_sync =
    ": the disk failed to sync; start again once it is sound";

// Whether a file is there and not empty, as SQLite sees it.
bool file_has_content(const std::string& path);
// The name of the log of a database file. Where that is a symbolic link, SQLite keeps the log
// beside what it leads to.
std::string log_of(const std::string& path);

// What is wrong with the log of a database file; empty where it is sound or not there. Only reads.
// Nothing is said of the logs of files without page checksums: older servers did not sync each
// commit of the tables, and a power cut may leave some of them. Throws StoreUnavailable where it
// cannot be read.
std::string find_log_damage(const std::string& path);

// Before the first connection: refuses a damaged log with StoreCorrupt, cuts what a crash left
// behind the last commit, and writes the rest once more. For what the system still has of it in
// memory may never have reached the disk, where a sync failed before: SQLite would sync nothing,
// and copy pages into the file in the belief that the log holds them.
void secure_log(const std::string& path);

}  // namespace exchange
