#pragma once
// JournalFile is the journal of a SqliteStore, PATH.journal: the payload of each batch, appended
// and synced before any reply of the batch leaves. The file is written in place, in blocks that
// exist beforehand, so that a sync writes the bytes of the batch and nothing of the file system.
//
//   file     := header block*         numbers are little-endian
//
//   header   := 4,096 bytes
//      0  "EXCHJRN1"; "EXCHJRN0" until create() is done
//      8  id            32 characters, of the store
//     40  block bytes   u64, of each block: a multiple of 32
//     48  format        u64, store_format (engine/rows.hpp)
//     56  checksum      u64; zeros follow
//
//   block    := block header, fragment*, unused bytes
//
//   block header := 32 bytes
//      0  "EXCHBLK1"
//      8  sequence      u64, from 1. Blocks of higher sequence continue those of lower ones
//     16  number        u64, of the block in the file, from 0
//     24  checksum      u64
//
//   fragment := 32 bytes, payload, zeros up to a multiple of 32 bytes. A record is one fragment, or
//               several in blocks that follow each other if it does not fit the rest of a block
//      0  checksum      u64
//      8  payload bytes u32
//     12  flags         u32: 1 first fragment of its record, 2 last one, 4 an epoch was taken (no
//                       payload; the batch is the newest one; epoch 0: none)
//     16  batch         u64
//     24  epoch         u64, of the server that wrote it
//
//   checksum := page_checksum() (base/checksum.hpp) of header or fragment, with zeros in its place,
//               and a seed: of the header 0, else mixed from the id, and of a fragment also from
//               the sequence of its block and its offset in it
//
// The header of a block is synced before its first fragment is written; a new block holds zeros
// until then. Once the tables have all batches of the oldest block, it is used again under the next
// sequence, so that what it held no longer fits its checksums. The sequences in a file have no gap.
// The end is the first fragment that does not fit. It is what a crash left of one append, unless a
// later batch follows, or the mark of acknowledged batches is behind it: then it is damage.
//
// Threads: append(), take_epoch(), read() and the rest belong to the core thread, prune() and
// prepare() to the projector's. Owner: SqliteJournal; the audit reads. Errors: those of
// store_errors.hpp.

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/guarded.hpp"
#include "journal/journal_row.hpp"
#include "journal/raw_file.hpp"

namespace exchange {

class JournalFile {
 public:
  // read_unlocked: beside a writer in this process, which must not make a block meanwhile.
  // read_beside: beside a writer in another process. The reader does not see what the writer
  // appends meanwhile. If the writer uses a block again, all calls may throw StoreCorrupt: try
  // again with a new object. A damaged record at the end looks like the end, so the caller compares
  // the end with the acknowledged mark.
  enum class Use { write, read, read_unlocked, read_beside };
  // A block is as large as what one second of full load writes. Up to one block of pruned batches
  // stays on the disk.
  static constexpr std::uint32_t usual_block_bytes = 1 << 20;

  // Makes a file whose first batch is `newest` + 1, and replaces an unfinished one. `fill` may call
  // import(). The file is complete, with this epoch, once create() returns.
  static void create(const std::string& path, const std::string& id, BatchNumber newest,
                     Epoch epoch, std::uint32_t block_bytes,
                     const std::function<void(JournalFile&)>& fill = {});
  // Appends a row that another server has committed. Throws StoreCorrupt if the row does not
  // follow.
  void import(const JournalRow& row);
  // Returns false if the file does not exist, is empty or unfinished. Throws StoreCorrupt if it is
  // not a journal.
  static bool is_complete(const std::string& path);

  // Opens a complete file and finds its end: reads the last blocks completely, and the beginnings
  // of the others. For writing it also syncs the end once more. Locks the file until the destructor
  // runs. Throws StoreFenced if another program has locked it.
  JournalFile(const std::string& path, Use use);

  const std::string& id() const { return id_; }
  Epoch epoch() const { return epoch_; }                // the newest; 0: none was taken
  BatchNumber newest_batch() const { return newest_; }  // 0: none was appended
  // Returns the newest batch that was pruned from the file, as of opening; 0: none.
  BatchNumber begins_after() const { return begins_after_; }

  // Appends a batch; returns once the disk has it. After StoreUnavailable no part of the batch
  // counts, and the call may be repeated.
  void append(BatchNumber batch, std::string_view payload);
  // Writes and syncs a record that increases epoch() by one. Fails as append().
  void take_epoch();
  // Calls `visit` for each batch above `after`, in order, until it returns false.
  void read(BatchNumber after, const std::function<bool(const JournalRow&)>& visit);

  // Returns true if the file of this name has the same epoch and all batches of this object.
  bool is_current();

  // Permits the journal to reuse blocks whose batches are all `through` or below.
  void prune(BatchNumber through);
  // Makes a block that append() will need, so that append() need not make it.
  void prepare();

 private:
  struct Block {
    std::uint64_t number = 0, sequence = 0;
    BatchNumber batch_before = 0;  // the newest batch that began before this block; if used
  };
  struct Blocks {
    std::deque<Block> used;      // by sequence; the last one contains the end
    std::deque<Block> prepared;  // the blocks that follow
    std::uint64_t in_file = 0;
    BatchNumber pruned = 0;
    std::optional<bool> makes_again;  // whether the block being made is a reused one
    std::unique_ptr<RawFile> file;    // its own, because SQLite's VFS moves the position in a file
  };
  struct Position {
    Block block;
    std::uint32_t offset = 0;
  };
  struct Fragment {
    bool is_first, is_last, takes_epoch;
    BatchNumber batch;
    Epoch epoch;
    std::string_view payload;  // in the bytes of the block
  };
  class Reader;

  sqlite3_int64 start_of(const Block& block) const;
  std::string read_block(const Block& block);
  void read_bytes(std::string& bytes, std::size_t first, sqlite3_int64 start);
  std::string header_of(const Block& block) const;
  std::uint64_t seed_of(const Position& at) const;
  std::optional<Fragment> fragment_at(const std::string& bytes, const Position& at) const;
  void lock(Use use);
  bool read_header();
  std::deque<Block> find_blocks(std::uint64_t in_file);
  void find_end(Use use, bool is_complete);
  std::optional<BatchNumber> find_batch_before(const Block& block);
  void require_no_later_batch(const std::deque<Block>& chain, std::size_t from);
  void write_again(const std::deque<Block>& chain, std::size_t from);
  enum class Sync { now, later };
  void write_record(BatchNumber batch, Epoch epoch, bool takes_epoch, std::string_view payload,
                    Sync sync);
  void prepare_one(Blocks& blocks);
  [[noreturn]] void throw_damaged(const std::string& problem) const;
  std::string byte_of(const Position& at) const;

  const std::string file_path_;  // without symbolic links
  RawFile file_;
  std::string id_;
  std::uint64_t id_sum_ = 0;
  std::uint32_t block_bytes_ = 0;
  Epoch epoch_ = 0;
  BatchNumber newest_ = 0;
  BatchNumber begins_after_ = 0;
  Position end_;
  std::string scratch_;
  Guarded<Blocks> blocks_;  // the lock is held while a block is made
};

}  // namespace exchange
