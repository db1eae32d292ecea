#pragma once
// The last damaged page that this thread has read, because SQLite's error codes do not name it.
// Code below SQLite sets it; code above SQLite reads it.

#include <sqlite3.h>

#include <string>

namespace exchange {

// Returns file, page and problem; empty if there was no damage.
const std::string& last_page_damage();
// Returns SQLITE_IOERR_DATA, which SQLite passes on.
int report_page_damage(const char* file, sqlite3_int64 page, sqlite3_int64 offset,
                       const char* problem);

}  // namespace exchange
