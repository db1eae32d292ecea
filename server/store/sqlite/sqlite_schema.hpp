#pragma once
// The schema of a SQLite store's tables. Called by SqliteStore::open(). No state; the thread of the
// database.

#include <string>

#include "store/sqlite/sqlite.hpp"

namespace exchange {

// Creates the tables (db/sqlite.sql) in an empty file; brings up those of an earlier format. Throws
// StoreCorrupt if a file with content is not a store's, StoreOtherVersion if this server cannot
// read its format.
void bring_up_schema(SqliteDatabase& tables, const std::string& path);
// Gives a store of an earlier format the columns and tables that it lacks, and this format.
void bring_up_tables(SqliteDatabase& tables);
// Creates the views for SQL clients. If that fails (a table of a user has the name of a view), logs
// a warning: trading does not need them.
void make_views(SqliteDatabase& tables);

}  // namespace exchange
