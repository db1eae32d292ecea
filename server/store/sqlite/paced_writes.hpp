#pragma once
// Rests between SQLite's reads and writes, if this thread works in bursts (base/bursts.hpp). What
// was written before a rest is synced: one large sync later would delay commits of the journal,
// which is on the same disk. Used by store_vfs.cpp. No state.

#include <sqlite3.h>

#include "base/bursts.hpp"

namespace exchange {

// Before a write to the file. Returns SQLite's code of the sync.
inline int pace_write(sqlite3_file* file) {
  if (!Bursts::rest_if_due()) return SQLITE_OK;
  return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}
inline void pace_read() { Bursts::rest_if_due(); }

}  // namespace exchange
