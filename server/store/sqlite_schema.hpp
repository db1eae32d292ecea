#pragma once
// Brings a file of a SQLite store to what this server writes: its tables, its views, and page
// checksums (checksum_vfs.hpp). Called by sqlite_store.cpp while it opens.

#include <string>

#include "store/sqlite.hpp"

namespace exchange {

// The user_version of a file. Servers that knew no page checksums know the first alone: they would
// change pages and leave the old checksums in them.
inline constexpr std::int64_t schema_without_checksums = 1, schema_with_checksums = 2;

// `own_table` tells the files of a store apart. Throws StoreCorrupt for files that are not ours.
void create_schema(SqliteDatabase& database, const char* schema, const char* own_table,
                   const std::string& path);
// Files of servers that knew none are rewritten with checksums, where that takes a moment only and
// there is room; else a warning says that they work without.
void add_checksums(SqliteDatabase& database, const std::string& path);
// The views are for people: where they cannot be made (somebody's table is called `tape`), trading
// goes on without.
void make_views(SqliteDatabase& tables);

}  // namespace exchange
