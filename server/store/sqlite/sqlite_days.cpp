#include "store/sqlite/sqlite_days.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/fail_point.hpp"
#include "base/log.hpp"
#include "store/kept_days.hpp"

namespace exchange {

namespace fs = std::filesystem;

namespace {

// Returns the folder of the days.
fs::path days_of(const std::string& path) { return path + ".days"; }

// A suffix that a name of a day cannot have.
constexpr const char* closing = ".closing";

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// Returns the folder of a day that was begun and is not complete.
std::optional<fs::path> closing_folder(const fs::path& days) {
  if (!fs::is_directory(days)) return {};
  for (const fs::directory_entry& entry : fs::directory_iterator(days))
    if (entry.path().extension() == closing) return entry.path();
  return {};
}

dev_t device_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_dev : dev_t();
}

// Returns the reason why a new store cannot be made in this folder; empty if it can.
std::string lack_of_space(const fs::path& folder) {
  // A new journal has a block of 1 MiB, and the tables with their log need some hundred KiB.
  constexpr std::uint64_t bytes_min = 4 << 20, files_min = 16;
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return {};
  const std::uint64_t bytes = std::uint64_t(status.f_bavail) * status.f_frsize;
  if (bytes < bytes_min)
    return "the disk of " + folder.string() + " has " + std::to_string(bytes >> 10) +
           " KiB free, and the store of the new day needs " + std::to_string(bytes_min >> 10);
  const bool counts_files = status.f_files != 0;
  if (counts_files && status.f_favail < files_min)
    return "the disk of " + folder.string() + " has room for " + std::to_string(status.f_favail) +
           " more files, and the store of the new day needs " + std::to_string(files_min);
  return {};
}

void sync(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const std::string problem = std::strerror(errno);
  if (file >= 0) ::close(file);
  if (!synced) throw StoreUnavailable("cannot sync " + path.string() + ": " + problem);
}

void move(const fs::path& file, const fs::path& folder) {
  const fs::path target = folder / file.filename();
  if (!fs::exists(file)) return;  // moved before a crash, or it never existed
  if (fs::exists(target))
    throw StoreCorrupt(file.string() + " and " + target.string() +
                       " both exist; one of them was put there by hand: move it away");
  fs::rename(file, target);
  fail_point("day.amid_files");
}

// Its errors name the batch. The log has the path of the file, which clients need not know.
class SqliteDayJournal final : public JournalReader {
 public:
  explicit SqliteDayJournal(const fs::path& path) : reader_(path) {}

  std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) override try {
    return reader_.read(after, rows_max);
  } catch (const std::runtime_error&) {
    rethrow(after + 1);
  }
  BatchNumber newest() override try { return reader_.newest(); } catch (const std::runtime_error&) {
    rethrow(1);
  }

 private:
  [[noreturn]] static void rethrow(BatchNumber batch) try {
    throw;
  } catch (const StoreFenced& error) {
    log_warning("{}", error.what());
    throw StoreFenced("another program has opened this day");
  } catch (const StoreOtherVersion&) {
    throw;
  } catch (const StoreCorrupt& error) {
    log_error("{}", error.what());
    throw StoreCorrupt("journal batch " + std::to_string(batch) + " cannot be read");
  } catch (const std::runtime_error& error) {
    log_error("{}", error.what());
    throw StoreUnavailable("the journal of this day cannot be read now");
  }

  JournalFileReader reader_;
};

class SqliteKeptDays final : public KeptDays {
 public:
  explicit SqliteKeptDays(const std::string& path) : path_(path), days_(days_of(path)) {}

  std::vector<std::string> names() override try {
    std::vector<std::string> names;
    if (!fs::is_directory(days_)) return names;
    for (const fs::directory_entry& entry : fs::directory_iterator(days_))
      if (const std::string name = entry.path().filename(); is_day_name(name))
        names.push_back(name);
    std::ranges::sort(names);
    return names;
  } catch (const fs::filesystem_error& error) {
    throw StoreUnavailable(error.what());
  }

  std::unique_ptr<JournalReader> open(const std::string& day) override {
    std::error_code ignored;
    if (!is_day_name(day) || !fs::is_directory(days_ / day, ignored)) return nullptr;
    return std::make_unique<SqliteDayJournal>(days_ / day / path_.filename());
  }

 private:
  const fs::path path_, days_;
};

}  // namespace

void sync_folder(const fs::path& folder) { sync(folder.empty() ? "." : folder, O_DIRECTORY); }

DayCheck check_day(const std::string& path, const std::string& name) {
  const fs::path folder = folder_of(path), days = days_of(path), day = days / name;
  std::error_code ignored;
  if (fs::exists(day, ignored)) return {"sqlite:" + (day / fs::path(path).filename()).string(), {}};
  for (const std::string& file : {path, path + ".journal"})
    if (fs::is_symlink(file, ignored))
      return {{}, file + " is a symbolic link: start the server with the path that it leads to"};
  for (const fs::path& parent : {folder, days})
    if (fs::exists(parent, ignored) && ::access(parent.c_str(), W_OK | X_OK) != 0)
      return {{}, "the server cannot write in " + parent.string() + ": " + std::strerror(errno)};
  if (fs::exists(days, ignored) && device_of(days) != device_of(path))
    return {{}, days.string() + " is on another file system than " + path};
  return {{}, lack_of_space(folder)};
}

void begin_day(const std::string& path, const std::string& name) try {
  const fs::path days = days_of(path);
  if (fs::create_directory(days)) sync_folder(folder_of(path));
  if (fs::exists(days / name))
    throw StoreUnavailable((days / name).string() + " exists: the day is closed already");
  fs::create_directory(days / (name + closing));
  sync_folder(days);
  fail_point("day.begun");
} catch (const fs::filesystem_error& error) {
  throw StoreUnavailable(error.what());
}

void complete_day(const std::string& path) try {
  const fs::path folder = folder_of(path), days = days_of(path);
  const std::optional<fs::path> begun = closing_folder(days);
  if (!begun) return;
  // Copy the lock file instead of moving it: without it, another server could start beside this
  // one.
  const fs::path lock = *begun / fs::path(path + ".lock").filename();
  fs::copy_file(path + ".lock", lock, fs::copy_options::overwrite_existing);
  sync(lock, 0);
  for (const char* suffix : {".journal", "-wal", "-shm", ""}) move(path + suffix, *begun);
  sync_folder(*begun);
  sync_folder(folder);
  fail_point("day.before_commit");
  const fs::path day = days / begun->stem();
  fs::rename(*begun, day);
  sync_folder(days);  // before new files are made, which must not get into the old day
  fail_point("day.after_commit");
  log_info("{} is closed as the day {}", path, day.string());
} catch (const fs::filesystem_error& error) {
  throw StoreUnavailable(error.what());
}

std::unique_ptr<KeptDays> make_sqlite_days(const std::string& path) {
  return std::make_unique<SqliteKeptDays>(path);
}

}  // namespace exchange
