#pragma once
// The schema of a SQLite store's tables. Called by SqliteStore::open(). No state; the thread of the
// database.

#include <string>

#include "store/sqlite/sqlite.hpp"

namespace exchange {

// Creates the tables (db/sqlite.sql) in an empty file; updates those of an earlier format. Throws
// StoreCorrupt if a file with content is not a store, StoreOtherVersion if this server cannot read
// its format.
void bring_up_schema(SqliteDatabase& tables, const std::string& path);
// Adds missing columns and tables to a store of an earlier format, and sets the current format.
void bring_up_tables(SqliteDatabase& tables);
// Creates the views for SQL clients. If that fails (a table of a user has the name of a view), logs
// a warning: trading does not need them.
void make_views(SqliteDatabase& tables);

}  // namespace exchange
