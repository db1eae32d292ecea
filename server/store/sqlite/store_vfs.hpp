#pragma once
// A VFS (SQLite's file-system interface) between SQLite and the default VFS. It passes all calls to
// the VFS below, and lets its parts process reads and writes: PageChecksums those of a database
// file, FrameCheck and JoinedWrites those of its log. A thread that works in bursts rests between
// them. If a page is damaged, SQLite gets SQLITE_IOERR_DATA; last_page_damage() (page_damage.hpp)
// has the details. Used by SqliteDatabase and by the audit. Any thread; a connection stays on one
// thread. No state except the registration.

namespace exchange {

// Registers the layer, once per process, and returns its name for sqlite3_open_v2. Below it, each
// file uses the VFS that is the default when the file is opened.
const char* store_vfs();

}  // namespace exchange
