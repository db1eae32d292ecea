#pragma once
// JournalReader reads a journal from outside: without the lock, the epoch or the connections of a
// server. Closed days, the audit and the history checker use it. An interface because there are
// two: the journal file of a SQLite store, and PostgreSQL. Thread: one.

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

// Of the SQLite store at `path`. Locks the journal file for each portion alone, so that a server
// that is started meanwhile waits for a moment at most.
class JournalFileReader final : public JournalReader {
 public:
  explicit JournalFileReader(const std::string& path) : path_(path), file_(path + ".journal") {}

  const std::string& file() const { return file_; }
  std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) override;
  BatchNumber newest() override;

  // What its header has. Throws as read().
  struct Header {
    std::string store;  // the id of the store
    Epoch epoch;        // of the server that opened it last
    BatchNumber newest;
  };
  Header header() const;
  // The newest acknowledged batch, if PATH.lock has the mark of this store.
  std::optional<BatchNumber> acknowledged(const std::string& store) const;
  // From now on a portion is refused (StoreFenced) once a server has taken another epoch.
  void require_epoch(Epoch epoch) { epoch_ = epoch; }

 private:
  const std::string path_, file_;
  std::optional<Epoch> epoch_;
};

}  // namespace exchange
