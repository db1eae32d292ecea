#include "store/sqlite/page_damage.hpp"

namespace exchange {
namespace {

thread_local std::string damage;

}  // namespace

const std::string& last_page_damage() { return damage; }

int report_page_damage(const char* file, sqlite3_int64 page, sqlite3_int64 offset,
                       const char* problem) {
  damage = std::string(file) + ": page " + std::to_string(page) + " (byte " +
           std::to_string(offset) + ") " + problem;
  return SQLITE_IOERR_DATA;
}

}  // namespace exchange
