#pragma once
// A VFS (SQLite's file-system interface) between SQLite and the default VFS. It passes everything
// on and lets its parts act on reads and writes: PageChecksums on those of a database file,
// FrameCheck and JoinedWrites on those of its log. A thread that works in bursts rests between
// them. A page that is damaged is an SQLITE_IOERR_DATA for SQLite; last_page_damage()
// (page_damage.hpp) has the details. Used by SqliteDatabase and by the audit. Any thread; a
// connection stays on one thread. No state but the registration.

namespace exchange {

// Registers the layer, once per process, and returns its name for sqlite3_open_v2. Each file uses
// the VFS below it that is the default when the file is opened.
const char* store_vfs();

}  // namespace exchange
