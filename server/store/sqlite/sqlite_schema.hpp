#pragma once
// Creates or upgrades the schema of a SQLite store's files: tables, views, and page checksums
// (checksum_vfs.hpp). Called by SqliteStore::open(). No state; the thread of the database.

#include <string>

#include "store/sqlite/sqlite.hpp"

namespace exchange {

// The user_version of a file. Servers from before page checksums accept the first only: they would
// change pages and keep the old checksums.
inline constexpr std::int64_t schema_without_checksums = 1, schema_with_checksums = 2;

// Whether the file has the tables of a server. Throws as create_schema().
bool has_schema(SqliteDatabase& database, const char* own_table, const std::string& path);
// Creates missing tables of `schema` (db/*.sql). `own_table`: a table that only this file of the
// store has, so that a swapped file is detected. Throws StoreCorrupt if the file belongs to another
// version or another program.
void create_schema(SqliteDatabase& database, const char* schema, const char* own_table,
                   const std::string& path);
// Rewrites the file of an older server with page checksums if it is small (256 MiB, about two
// seconds) and the disk has space for it. Otherwise logs a warning; the file works without them.
void add_checksums(SqliteDatabase& database, const std::string& path);
// Creates the views for SQL clients. If that fails (a table of a user has the name of a view), logs
// a warning: trading does not need them.
void make_views(SqliteDatabase& tables);

}  // namespace exchange
