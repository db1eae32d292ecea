#pragma once
// JournalReader reads a journal from outside: without the lock, the epoch or the connections of a
// server. Closed days, the audit and the history checker use it. An interface because there are
// several: PostgreSQL, and files of this machine. Thread: one.

#include <optional>
#include <string>
#include <vector>

#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"

namespace exchange {

class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // The next rows with batch numbers above `after`, in order: `rows_max` at most, and some
  // megabytes. Empty at the end. Throws StoreCorrupt; StoreUnavailable; StoreFenced if a server has
  // opened the store.
  virtual std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) = 0;
  // The newest batch that the store is known to have had; 0: none. A journal that ends before has
  // lost some. Throws as read().
  virtual BatchNumber newest() = 0;
};

// Reads the journal of a store in local files, whose tables are in SQLite.
class LocalJournalReader : public JournalReader {
 public:
  struct Header {
    std::string store;  // the id of the store
    Epoch epoch;        // of the server that opened it last
    BatchNumber newest;
  };
  // The file, or folder, that is the journal.
  virtual const std::string& file() const = 0;
  // False if it is empty or unfinished. Throws StoreCorrupt if it is no journal.
  virtual bool is_complete() const = 0;
  // Throws as read().
  virtual Header header() const = 0;
  // The newest acknowledged batch, if there is a mark of this store (acknowledged_mark.hpp).
  virtual std::optional<BatchNumber> acknowledged(const std::string& store) const = 0;
  BatchNumber newest() override;

  // From now on a portion is refused (StoreFenced) once a server has taken another epoch.
  void require_epoch(Epoch epoch) { epoch_ = epoch; }

 protected:
  // Throws StoreFenced if `found` is not what require_epoch() asks for.
  void check_epoch(Epoch found) const;

 private:
  std::optional<Epoch> epoch_;
};

// Reads the journal of the SQLite store at `path`. Locks the journal file for each portion alone,
// so that a server that is started meanwhile waits for a moment at most.
class JournalFileReader final : public LocalJournalReader {
 public:
  explicit JournalFileReader(const std::string& path) : path_(path), file_(path + ".journal") {}

  std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) override;
  const std::string& file() const override { return file_; }
  bool is_complete() const override;
  Header header() const override;
  std::optional<BatchNumber> acknowledged(const std::string& store) const override;

 private:
  const std::string path_, file_;
};

}  // namespace exchange
