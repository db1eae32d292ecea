#include "store/sqlite/sqlite_schema.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "journal/raw_file.hpp"
#include "store/schema.hpp"
#include "store/sqlite/checksum_vfs.hpp"
#include "store/sqlite/sqlite_log.hpp"

namespace exchange {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

std::int64_t version_of(SqliteDatabase& database) {
  SqliteStatement version(database, "PRAGMA user_version");
  version.step();
  return version.integer(0);
}

std::string set_version(std::int64_t version) {
  const std::string text = "PRAGMA user_version=" + std::to_string(version) + ";";
  return version == schema_without_checksums
             ? text
             : text + "PRAGMA application_id=" + std::to_string(checksum_application_id) + ";";
}

// Returns why a file is not rewritten; empty if it can be.
std::string too_large(SqliteDatabase& database, const std::string& path) {
  constexpr std::int64_t rewritten_bytes_max = 256 * mebibyte;  // two seconds or so
  SqliteStatement size(database,
                       "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  size.step();
  const std::int64_t bytes = size.integer(0);
  if (bytes > rewritten_bytes_max)
    return "the file has " + std::to_string(bytes / mebibyte) + " MiB";
  // A copy in a temporary file, and the log.
  const std::int64_t needed = 2 * bytes + mebibyte;
  std::error_code unknown;
  const auto space =
      std::filesystem::space(std::filesystem::path(log_of(path)).parent_path() / ".", unknown);
  if (!unknown && space.available < std::uintmax_t(needed))
    return "the disk has " + std::to_string(space.available / mebibyte) + " MiB free, and " +
           std::to_string(needed / mebibyte + 1) + " are needed";
  return {};
}

// Returns an empty text on success, else the reason why the file stays as it is.
std::string rewrite(SqliteDatabase& database, const std::string& path) {
  if (const std::string why_not = too_large(database, path); !why_not.empty()) return why_not;
  try {
    database.run("PRAGMA temp_store=FILE");  // the copy
    database.run("VACUUM");
    database.run("PRAGMA temp_store=MEMORY");
    return {};
  } catch (const StoreUnavailable& error) {
    // The failed rewrite's frames in the log take up disk space, and would stand behind the commits
    // that follow.
    database.rollback();
    sqlite3_wal_checkpoint_v2(database.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                              nullptr);
    database.run("PRAGMA temp_store=MEMORY");
    return error.what();
  }
}

}  // namespace

bool has_schema(SqliteDatabase& database, const char* own_table, const std::string& path) {
  const std::int64_t found = version_of(database);
  if (found != 0 && found != schema_without_checksums && found != schema_with_checksums)
    throw StoreCorrupt(path + " was written by another version of the exchange (schema " +
                       std::to_string(found) + ", this server knows " +
                       std::to_string(schema_with_checksums) + "); start the server that wrote it");
  SqliteStatement table(database, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1");
  if (found != 0 && !table.with(std::string_view(own_table)).step())
    throw StoreCorrupt(
        path + " has no table '" + own_table +
        "': it is the other file of a store, or was changed by another program; put the right file back");
  return found != 0;
}

void create_schema(SqliteDatabase& database, const char* schema, const char* own_table,
                   const std::string& path) {
  const bool is_new = !has_schema(database, own_table, path);
  database.run("BEGIN IMMEDIATE");
  database.run(schema);
  SqliteStatement column(database,
                         "SELECT 1 FROM pragma_table_info('projection') WHERE name = 'file_batch'");
  const bool has_column = column.step();
  column.reset();
  if (!has_column)
    database.run("ALTER TABLE projection ADD COLUMN file_batch INTEGER NOT NULL DEFAULT 0");
  if (is_new)
    database.run(set_version(has_page_checksums(database.handle()) ? schema_with_checksums
                                                                   : schema_without_checksums)
                     .c_str());
  database.run("COMMIT");
}

void add_checksums(SqliteDatabase& database, const std::string& path) {
  if (!has_page_checksums(database.handle())) {
    if (const std::string why_not = rewrite(database, path); !why_not.empty()) {
      spdlog::warn(
          "{}: its pages carry no checksums, so damage to them may not be detected; to add checksums see docs/recovery.md (not added now: {})",
          path, why_not);
      return;
    }
    spdlog::info("{}: rewritten with page checksums", path);
  }
  if (version_of(database) == schema_with_checksums) return;
  database.run(("BEGIN IMMEDIATE;" + set_version(schema_with_checksums) +
                "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
                   .c_str());
}

void make_views(SqliteDatabase& tables) {
  try {
    tables.run("BEGIN IMMEDIATE");
    tables.run(schema::sqlite_views);
    tables.run("COMMIT");
  } catch (const StoreUnavailable& error) {
    tables.rollback();
    spdlog::warn(
        "the SQL views (db/sqlite_views.sql) cannot be created; trading works without them: {}",
        error.what());
  }
}

}  // namespace exchange
