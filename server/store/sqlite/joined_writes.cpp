#include "store/sqlite/joined_writes.hpp"

namespace exchange {

int JoinedWrites::write(const unsigned char* bytes, int amount, sqlite3_int64 offset) {
  constexpr std::size_t bytes_max = 64 * 1024;  // SQLite's VFS writes less than 128 KiB in one call
  if (offset != end() || bytes_.size() + std::size_t(amount) > bytes_max)
    if (const int code = flush(); code != SQLITE_OK) return code;
  if (bytes_.empty()) from_ = offset;
  bytes_.insert(bytes_.end(), bytes, bytes + amount);
  return SQLITE_OK;
}

int JoinedWrites::read(void* into, int amount, sqlite3_int64 offset) {
  const bool held_back = offset < end() && from_ < offset + amount;
  if (const int code = held_back ? flush() : SQLITE_OK; code != SQLITE_OK) return code;
  return file_->pMethods->xRead(file_, into, amount, offset);
}

int JoinedWrites::flush() {
  if (bytes_.empty()) return SQLITE_OK;
  const int code = file_->pMethods->xWrite(file_, bytes_.data(), int(bytes_.size()), from_);
  if (code == SQLITE_OK) bytes_.clear();
  return code;
}

}  // namespace exchange
