#pragma once
// The closed days of a SQLite store: folders PATH.days/NAME with the files of the store under their
// names. The folder is NAME.closing until it has them all:
//   begin_day()     makes PATH.days/NAME.closing, durably. From then on the day is closed
//   complete_day()  moves the files into it, and gives it its name; at once, or, after a crash, at
//                   the next start
// Both need the lock of the store (PATH.lock, which stays), and its other files closed. Errors are
// StoreUnavailable.

#include <filesystem>
#include <string>

#include "store/store.hpp"

namespace exchange {

// Store::check_day(). Any thread.
DayCheck check_day(const std::string& path, const std::string& name);
void begin_day(const std::string& path, const std::string& name);
// Does nothing if no day was begun. Throws StoreCorrupt if a file is there twice.
void complete_day(const std::string& path);

// Makes the names in it durable. Throws StoreUnavailable.
void sync_folder(const std::filesystem::path& folder);

}  // namespace exchange
