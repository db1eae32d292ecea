#pragma once
// JournalReader reads a journal from outside: without the lock, the epoch or the connections of a
// server. Closed days, the audit and the history checker use it. It is an interface because there
// are several kinds of journals: PostgreSQL, and files of this machine. Thread: one.

#include <optional>
#include <string>
#include <vector>

#include "journal/journal_row.hpp"
#include "journal/store_errors.hpp"

namespace exchange {

class JournalReader {
 public:
  virtual ~JournalReader() = default;
  // Returns the next rows with batch numbers above `after`, in order: at most `rows_max` rows, and
  // some megabytes. Returns no rows at the end. Throws StoreCorrupt; StoreUnavailable; StoreFenced
  // if a server has opened the store.
  virtual std::vector<JournalRow> read(BatchNumber after, std::size_t rows_max) = 0;
  // Returns the newest batch that the store is known to have had; 0: none. A journal that ends
  // before that batch has lost some. Throws as read().
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
  // Returns the path of the file or folder that is the journal.
  virtual const std::string& file() const = 0;
  // Returns false if it is empty or unfinished. Throws StoreCorrupt if it is not a journal.
  virtual bool is_complete() const = 0;
  // Reads the header. Throws as read().
  virtual Header header() const = 0;
  // Returns the newest acknowledged batch if this store has a mark (acknowledged_mark.hpp).
  virtual std::optional<BatchNumber> acknowledged(const std::string& store) const = 0;
  BatchNumber newest() override;

  // After this call, read() throws StoreFenced once a server has taken another epoch.
  void require_epoch(Epoch epoch) { epoch_ = epoch; }

 protected:
  // Throws StoreFenced if require_epoch() asks for another epoch than `found`.
  void check_epoch(Epoch found) const;

 private:
  std::optional<Epoch> epoch_;
};

// Reads the journal of the SQLite store at `path`. Locks the journal file only while it reads a
// portion, so that a server that starts meanwhile waits for a moment at most.
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
