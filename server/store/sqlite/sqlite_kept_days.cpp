
#include <algorithm>

#include "base/log.hpp"
#include "store/kept_days.hpp"
#include "store/sqlite/sqlite_days.hpp"

namespace exchange {

namespace fs = std::filesystem;

namespace {

// Errors name the batch; the log has the file, which clients need not know.
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

class SqliteDays final : public KeptDays {
 public:
  explicit SqliteDays(const std::string& path) : path_(path), days_(days_of(path)) {}

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

std::unique_ptr<KeptDays> make_sqlite_days(const std::string& path) {
  return std::make_unique<SqliteDays>(path);
}

}  // namespace exchange
