#include "store/sqlite/sqlite_log.hpp"

#include <algorithm>
#include <vector>

#include "journal/raw_file.hpp"
#include "store/sqlite/wal_frames.hpp"

namespace exchange {
namespace {

WalState examine(RawFile& log) {
  return examine_wal(std::uint64_t(log.size()),
                     [&](unsigned char* into, std::size_t bytes, std::uint64_t offset) {
                       return log.read(into, bytes, sqlite3_int64(offset));
                     });
}

}  // namespace

std::string log_of(const std::string& path) { return behind_links(path) + "-wal"; }

std::string find_log_damage(const std::string& path) {
  const std::string name = log_of(path);
  if (!file_has_content(path) || !file_has_content(name)) return {};
  RawFile log(name, SQLITE_OPEN_READONLY | SQLITE_OPEN_WAL);
  return examine(log).damage;
}

void secure_log(const std::string& path) {
  const std::string name = log_of(path);
  if (!file_has_content(path) || !file_has_content(name)) return;
  RawFile log(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL);
  const WalState state = examine(log);
  if (!state.damage.empty()) throw StoreCorrupt(name + ": " + state.damage + "; " + restore_store);
  // Old frames after the last commit must not look like later commits after the next crash. A
  // checkpoint by SQLite would remove them too, but not while another program reads the file.
  const sqlite3_int64 size = sqlite3_int64(state.committed_bytes);
  if (size < log.size()) log.cut(size);
  std::vector<unsigned char> chunk(64 * 1024);  // one VFS call writes less than 128 KiB
  for (sqlite3_int64 at = 0; at < size; at += sqlite3_int64(chunk.size())) {
    const auto bytes = std::size_t(std::min<sqlite3_int64>(size - at, sqlite3_int64(chunk.size())));
    if (!log.read(chunk.data(), bytes, at))
      throw StoreUnavailable(name + " became shorter; does another program write it?");
    log.write({reinterpret_cast<const char*>(chunk.data()), bytes}, at);
  }
  log.sync();
}

}  // namespace exchange
