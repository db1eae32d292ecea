#pragma once
// The closed days of a SQLite store are folders PATH.days/NAME that contain the files of the store
// under their names. The folder is called NAME.closing until all files are there:
//   begin_day()     makes PATH.days/NAME.closing, durably. From then on the day is closed
//   complete_day()  moves the files into it and renames it to NAME; at once, or, after a crash, at
//                   the next start
// Both need the lock of the store (PATH.lock, which stays), and the other files of the store
// closed. Errors are StoreUnavailable.

#include <filesystem>
#include <string>

#include "store/store.hpp"

namespace exchange {

// Implements Store::check_day(). Any thread.
DayCheck check_day(const std::string& path, const std::string& name);
void begin_day(const std::string& path, const std::string& name);
// Does nothing if no day was begun. Throws StoreCorrupt if a file exists in both places.
void complete_day(const std::string& path);

// Makes the names in the folder durable. Throws StoreUnavailable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace exchange
