#include "journal/journal_file.hpp"

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <cstring>
#include <vector>

#include "base/checksum.hpp"
#include "base/ensure.hpp"
#include "base/fail_point.hpp"
#include "engine/rows.hpp"
#include "journal/store_errors.hpp"

namespace exchange {
namespace {

constexpr std::string_view complete_magic = "EXCHJRN1", unfinished_magic = "EXCHJRN0",
                           block_magic = "EXCHBLK1";
constexpr std::uint32_t header_bytes = 4'096, header_used = 64, block_header_bytes = 32,
                        fragment_header_bytes = 32, align_bytes = 32;
constexpr std::uint32_t first_flag = 1, last_flag = 2, epoch_flag = 4;
constexpr int open_for_writing = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB;

template <class Integer>
void put_integer(std::string& out, Integer value) {
  boost::endian::native_to_little_inplace(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class Integer>
Integer get(std::string_view bytes, std::size_t offset) {
  return boost::endian::endian_load<Integer, sizeof(Integer), boost::endian::order::little>(
      reinterpret_cast<const unsigned char*>(bytes.data() + offset));
}

std::uint64_t sum_of(std::string_view bytes, std::uint64_t seed) {
  return page_checksum(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), seed);
}
std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  return page_checksum(nullptr, 0, sum + word);
}

std::string file_header(std::string_view magic, const std::string& id, std::uint64_t block_bytes,
                        std::uint64_t format = store_format) {
  ENSURE(id.size() == store_id_bytes && block_bytes % align_bytes == 0);
  std::string header = std::string(magic) + id;
  put_integer(header, block_bytes);
  put_integer(header, format);
  std::string summed = header;
  summed.resize(header_used);
  put_integer(header, sum_of(summed, 0));
  header.resize(header_bytes);
  return header;
}

std::uint32_t padded(std::size_t bytes) {
  return std::uint32_t((bytes + align_bytes - 1) / align_bytes * align_bytes);
}

// For a time before 1.0 a journal was a SQLite database, which has its format at byte 60.
void refuse_database(const std::string& path, const std::string& header) {
  if (header.starts_with("SQLite format 3"))
    require_readable_format(
        path, boost::endian::load_big_u32(reinterpret_cast<const unsigned char*>(&header[60])));
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

// --- records, one after another

// Reads records of a chain of blocks from the beginning of one of them.
class JournalFile::Reader {
 public:
  Reader(JournalFile& journal, const std::deque<Block>& chain, std::size_t block)
      : journal_(journal), chain_(chain) {
    enter(block);
    // skip the rest of a record that began before
    for (auto fragment = here(); fragment && !fragment->is_first; fragment = here())
      if (!pass(*fragment)) break;
  }
  // Returns false if no complete record follows; then position() is the end.
  bool next(JournalRow& row, bool& takes_epoch) {
    const Position start = at_;
    const std::size_t start_block = block_;
    row.payload.clear();
    for (bool first = true;; first = false) {
      const auto fragment = here();
      if (!fragment || fragment->is_first != first ||
          (!first && (fragment->batch != row.batch || fragment->epoch != row.epoch)))
        break;
      row.batch = fragment->batch;
      row.epoch = fragment->epoch;
      row.payload += fragment->payload;
      takes_epoch = fragment->takes_epoch;
      const bool is_last = fragment->is_last, more = pass(*fragment);
      if (is_last) return true;
      if (!more) break;
    }
    at_ = start;
    block_ = start_block;
    return false;
  }
  const Position& position() const { return at_; }
  std::size_t block() const { return block_; }

 private:
  void enter(std::size_t block) {
    block_ = block;
    at_ = {chain_[block], block_header_bytes};
    bytes_ = journal_.read_block(chain_[block]);
  }
  std::optional<Fragment> here() const { return journal_.fragment_at(bytes_, at_); }
  // Returns false if the chain ends behind the fragment.
  bool pass(const Fragment& fragment) {
    at_.offset += fragment_header_bytes + padded(fragment.payload.size());
    if (journal_.block_bytes_ - at_.offset > fragment_header_bytes) return true;
    if (block_ + 1 == chain_.size()) return false;
    enter(block_ + 1);
    return true;
  }

  JournalFile& journal_;
  const std::deque<Block>& chain_;
  std::size_t block_ = 0;
  Position at_;
  std::string bytes_;  // of the block
};

// --- making a file

void JournalFile::create(const std::string& path, const std::string& id, BatchNumber newest,
                         Epoch epoch, std::uint32_t block_bytes,
                         const std::function<void(JournalFile&)>& fill) {
  const std::string file_path = behind_links(path);
  {
    RawFile file(file_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SUPER_JOURNAL);
    file.cut(0);
    file.sync();  // otherwise a power cut may mix the old content with the header
    file.write(file_header(unfinished_magic, id, block_bytes), 0);
    file.sync();
  }
  JournalFile journal(path, Use::write);
  journal.newest_ = newest;
  journal.write_record(newest, 0, true, {}, Sync::later);
  if (fill) fill(journal);
  if (journal.epoch_ < epoch) journal.write_record(journal.newest_, epoch, true, {}, Sync::later);
  journal.file_.sync();
  journal.file_.write(file_header(complete_magic, id, block_bytes), 0);
  journal.file_.sync();
}

void JournalFile::import(const JournalRow& row) {
  if (row.batch != newest_ + 1 || row.epoch < epoch_ || row.payload.empty())
    throw_damaged("batch " + std::to_string(row.batch) + " follows batch " +
                  std::to_string(newest_) + ", or is of an older server");
  write_record(row.batch, row.epoch, false, row.payload, Sync::later);
}

bool JournalFile::is_complete(const std::string& path) {
  if (!file_has_content(path)) return false;
  RawFile file(behind_links(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB);
  std::string header(header_used, '\0');
  file.read(header.data(), header.size(), 0);
  refuse_database(path, header);
  const std::string magic = header.substr(0, complete_magic.size());
  // create() syncs a header before it writes more.
  if (magic == unfinished_magic || (is_zero(magic) && file.size() <= header_bytes)) return false;
  if (magic != complete_magic)
    throw StoreCorrupt(path + ": its header is damaged, or it is not a journal; " + restore_store);
  return true;
}

void JournalFile::prepare_one(Blocks& blocks) {
  if (!blocks.file) blocks.file = std::make_unique<RawFile>(file_path_, open_for_writing);
  const std::deque<Block>& before = blocks.prepared.empty() ? blocks.used : blocks.prepared;
  Block block{.number = blocks.in_file,
              .sequence = before.empty() ? 1 : before.back().sequence + 1};
  const bool may_be_used_again =
      blocks.used.size() > 1 && blocks.used[1].batch_before <= blocks.pruned;
  // A failed attempt may have written the header, so the next one makes the same choice.
  const bool again = blocks.makes_again.value_or(may_be_used_again);
  if (again)
    block.number = blocks.used.front().number;
  else
    blocks.file->write(std::string(block_bytes_, '\0'), start_of(block));
  blocks.makes_again = again;
  blocks.file->write(header_of(block), start_of(block));
  fail_point("journal.block_written");
  blocks.file->sync();
  blocks.makes_again.reset();
  if (again)
    blocks.used.pop_front();
  else
    ++blocks.in_file;
  blocks.prepared.push_back(block);
}

// --- opening

JournalFile::JournalFile(const std::string& path, Use use)
    : file_path_(behind_links(path)),
      file_(file_path_,
            use == Use::write ? open_for_writing : SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB) {
  lock(use);
  const bool is_complete = read_header();
  if (!is_complete && use != Use::write) throw_damaged("it was not made to its end");
  find_end(use, is_complete);
}

// Waits, because another program that reads, such as an audit, locks the file for moments.
void JournalFile::lock(Use use) {
  if (use == Use::read_unlocked || use == Use::read_beside) return;
  constexpr int wait_us = 5'000'000, step_us = 10'000;
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  for (int waited = 0; !file_.try_lock(use == Use::write); waited += vfs->xSleep(vfs, step_us))
    if (waited >= wait_us)
      throw StoreFenced(file_path_ + " is in use by another program, which has locked it; end " +
                        "that program, or give this server another --store");
}

// Reads the header. Returns true if create() is done.
bool JournalFile::read_header() {
  std::string header(header_bytes, '\0');
  file_.read(header.data(), header.size(), 0);
  refuse_database(file_path_, header);
  const std::string_view magic(header.data(), complete_magic.size());
  id_ = header.substr(magic.size(), store_id_bytes);
  const auto block_bytes = get<std::uint64_t>(header, magic.size() + store_id_bytes);
  constexpr std::uint64_t block_bytes_min = 256, block_bytes_max = 1 << 30;
  const bool has_form = (magic == complete_magic || magic == unfinished_magic) &&
                        block_bytes >= block_bytes_min && block_bytes <= block_bytes_max &&
                        block_bytes % align_bytes == 0;
  const auto format =
      get<std::uint64_t>(header, magic.size() + store_id_bytes + sizeof block_bytes);
  if (!has_form || header != file_header(magic, id_, block_bytes, format))
    throw_damaged("its header is damaged");
  require_readable_format(file_path_, std::int64_t(format));
  block_bytes_ = std::uint32_t(block_bytes);
  id_sum_ = sum_of(id_, 0);
  return magic == complete_magic;
}

// Returns the blocks, ordered by sequence.
std::deque<JournalFile::Block> JournalFile::find_blocks(std::uint64_t in_file) {
  std::deque<Block> blocks;
  for (Block block; block.number < in_file; ++block.number) {
    std::string header(block_header_bytes, '\0');
    file_.read(header.data(), header.size(), start_of(block));
    // A new block has its header before anything else.
    if (is_zero(header)) {
      if (!is_zero(read_block(block)))
        throw_damaged("block " + std::to_string(block.number) + " is overwritten with zeros");
      continue;
    }
    block.sequence = get<std::uint64_t>(header, block_magic.size());
    if (header != header_of(block))
      throw_damaged("the header of block " + std::to_string(block.number) + " is damaged");
    blocks.push_back(block);
  }
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.sequence < b.sequence; });
  for (std::size_t i = 1; i < blocks.size(); ++i)
    if (blocks[i].sequence != blocks[i - 1].sequence + 1)
      throw_damaged("a block is missing before the one of sequence " +
                    std::to_string(blocks[i].sequence));
  return blocks;
}

void JournalFile::find_end(Use use, bool is_complete) {
  Blocks blocks;
  blocks.in_file =
      std::uint64_t(std::max<sqlite3_int64>(file_.size() - header_bytes, 0)) / block_bytes_;
  // The last block may be short: its missing part counts as zeros.
  Block last{.number = blocks.in_file};
  std::string header(block_header_bytes, '\0');
  file_.read(header.data(), header.size(), start_of(last));
  last.sequence = get<std::uint64_t>(header, block_magic.size());
  if (header == header_of(last)) ++blocks.in_file;
  const std::deque<Block> chain = find_blocks(blocks.in_file);
  if (chain.empty()) {
    if (is_complete) throw_damaged("it is cut short, or its first block is lost");
    end_.offset = block_bytes_;  // the first record begins with the first block
    blocks_.with([&](Blocks& mine) { std::swap(mine, blocks); });
    return;
  }

  // Find the newest block that has a whole record.
  JournalRow row{};
  bool takes_epoch = false;
  std::size_t from = chain.size() - 1;
  while (from > 0 && !Reader(*this, chain, from).next(row, takes_epoch)) --from;
  Reader reader(*this, chain, from);
  bool any = false;
  for (; reader.next(row, takes_epoch); any = true) {
    const bool follows = row.epoch >= epoch_ && row.batch == newest_ + (takes_epoch ? 0 : 1);
    if (any && !follows)
      throw_damaged("the record of batch " + std::to_string(row.batch) + " is out of sequence");
    newest_ = row.batch;
    epoch_ = row.epoch;
  }
  if (!any) throw_damaged("no record of it is sound");
  end_ = reader.position();
  if (use != Use::read_beside) require_no_later_batch(chain, reader.block());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i > reader.block()) {
      blocks.prepared.push_back(chain[i]);
      continue;
    }
    blocks.used.push_back(chain[i]);
    if (const auto batch_before = find_batch_before(chain[i]))
      blocks.used.back().batch_before = *batch_before;
    else if (i < reader.block())
      throw_damaged("the record at byte " + byte_of({chain[i], block_header_bytes}) +
                    " is damaged");
    else
      blocks.used.back().batch_before = newest_;
  }
  begins_after_ = blocks.used.front().batch_before;
  if (use == Use::write) write_again(chain, from);
  blocks_.with([&](Blocks& mine) { std::swap(mine, blocks); });
}

// Reads it from the first fragment of a block. Returns nothing if that fragment is not sound.
std::optional<BatchNumber> JournalFile::find_batch_before(const Block& block) {
  std::string bytes(block_header_bytes + fragment_header_bytes, '\0');
  file_.read(bytes.data(), bytes.size(), start_of(block));
  const auto size = get<std::uint32_t>(bytes, block_header_bytes + 8);
  if (size > block_bytes_ - bytes.size()) return {};
  const std::size_t header_end = bytes.size();
  bytes.resize(header_end + padded(size));
  read_bytes(bytes, header_end, start_of(block));
  const auto fragment = fragment_at(bytes, {block, block_header_bytes});
  if (!fragment) return {};
  return fragment->is_first && !fragment->takes_epoch ? fragment->batch - 1 : fragment->batch;
}

// Throws if a later batch follows the end. A crash leaves at most one append unfinished, so a bad
// record with a later batch after it is damage.
void JournalFile::require_no_later_batch(const std::deque<Block>& chain, std::size_t from) {
  for (std::size_t i = from; i < chain.size(); ++i) {
    const std::string bytes = read_block(chain[i]);
    Position at{chain[i], i == from ? end_.offset : block_header_bytes};
    for (; at.offset + fragment_header_bytes <= block_bytes_; at.offset += align_bytes) {
      if (get<std::uint64_t>(bytes, at.offset + 16) <= newest_) continue;
      const auto fragment = fragment_at(bytes, at);
      if (fragment && (fragment->batch > newest_ + 1 || fragment->takes_epoch))
        throw_damaged("the record at byte " + byte_of(end_) +
                      " is damaged, and later batches follow");
    }
  }
}

// If a sync failed before, the page cache may hold bytes that never reached the disk and that a
// sync would not write again. So this writes them again first.
void JournalFile::write_again(const std::deque<Block>& chain, std::size_t from) {
  std::string header(header_bytes, '\0');
  file_.read(header.data(), header.size(), 0);
  file_.write(header, 0);
  for (std::size_t i = from; i < chain.size(); ++i) {
    const bool has_records = chain[i].sequence <= end_.block.sequence;
    std::string bytes = has_records ? read_block(chain[i]) : header_of(chain[i]);
    if (chain[i].sequence == end_.block.sequence) bytes.resize(end_.offset);
    file_.write(bytes, start_of(chain[i]));
  }
  file_.sync();
}

// --- bytes

sqlite3_int64 JournalFile::start_of(const Block& block) const {
  return header_bytes + sqlite3_int64(block.number) * block_bytes_;
}

std::string JournalFile::read_block(const Block& block) {
  std::string bytes(block_bytes_, '\0');
  read_bytes(bytes, 0, start_of(block));
  return bytes;
}

// Reads `bytes` from index `first` on; `start` is the position of their beginning in the file.
void JournalFile::read_bytes(std::string& bytes, std::size_t first, sqlite3_int64 start) {
  constexpr std::size_t at_once = 64 * 1024;  // as in RawFile::write()
  for (std::size_t at = first; at < bytes.size(); at += at_once)
    file_.read(bytes.data() + at, std::min(at_once, bytes.size() - at), start + sqlite3_int64(at));
}

std::string JournalFile::header_of(const Block& block) const {
  std::string header(block_magic);
  put_integer(header, block.sequence);
  put_integer(header, block.number);
  std::string summed = header;
  summed.resize(block_header_bytes);
  put_integer(header, sum_of(summed, id_sum_));
  return header;
}

std::uint64_t JournalFile::seed_of(const Position& at) const {
  return mix(mix(id_sum_, at.block.sequence), at.offset);
}

std::optional<JournalFile::Fragment> JournalFile::fragment_at(const std::string& bytes,
                                                              const Position& at) const {
  if (bytes.size() - at.offset < fragment_header_bytes) return {};
  const std::string_view rest = std::string_view(bytes).substr(at.offset);
  const auto size = get<std::uint32_t>(rest, 8), flags = get<std::uint32_t>(rest, 12);
  const bool has_form = size <= rest.size() - fragment_header_bytes &&
                        (flags & ~(first_flag | last_flag | epoch_flag)) == 0;
  if (!has_form) return {};
  std::string summed(rest.substr(0, fragment_header_bytes + padded(size)));
  std::fill_n(summed.begin(), 8, '\0');
  if (get<std::uint64_t>(rest, 0) != sum_of(summed, seed_of(at))) return {};
  return Fragment{(flags & first_flag) != 0,    (flags & last_flag) != 0,
                  (flags & epoch_flag) != 0,    get<std::uint64_t>(rest, 16),
                  get<std::uint64_t>(rest, 24), rest.substr(fragment_header_bytes, size)};
}

std::string JournalFile::byte_of(const Position& at) const {
  return std::to_string(start_of(at.block) + at.offset);
}

void JournalFile::throw_damaged(const std::string& problem) const {
  throw StoreCorrupt(file_path_ + ": " + problem + "; " + restore_store);
}

// --- using it

void JournalFile::append(BatchNumber batch, std::string_view payload) {
  write_record(batch, epoch_, false, payload, Sync::now);
}

void JournalFile::take_epoch() { write_record(newest_, epoch_ + 1, true, {}, Sync::now); }

void JournalFile::write_record(BatchNumber batch, Epoch epoch, bool takes_epoch,
                               std::string_view payload, Sync sync) {
  ENSURE(batch == newest_ + (takes_epoch ? 0 : 1) && epoch >= epoch_);
  Position at = end_;
  std::vector<Block> entered;
  bool first = true;
  do {
    if (block_bytes_ - at.offset <= fragment_header_bytes) {
      entered.push_back(blocks_.with([&](Blocks& blocks) {
        while (blocks.prepared.size() <= entered.size()) prepare_one(blocks);
        return blocks.prepared[entered.size()];
      }));
      entered.back().batch_before = first && !takes_epoch ? batch - 1 : batch;
      at = {entered.back(), block_header_bytes};
    }
    const std::size_t size =
        std::min<std::size_t>(payload.size(), block_bytes_ - at.offset - fragment_header_bytes);
    const bool last = size == payload.size();
    std::string& bytes = scratch_;
    bytes.clear();
    put_integer(bytes, std::uint64_t(0));
    put_integer(bytes, std::uint32_t(size));
    put_integer(bytes,
                (first ? first_flag : 0) | (last ? last_flag : 0) | (takes_epoch ? epoch_flag : 0));
    put_integer(bytes, batch);
    put_integer(bytes, epoch);
    bytes += payload.substr(0, size);
    bytes.resize(fragment_header_bytes + padded(size));
    std::uint64_t sum = boost::endian::native_to_little(sum_of(bytes, seed_of(at)));
    std::memcpy(bytes.data(), &sum, sizeof sum);
    file_.write(bytes, start_of(at.block) + at.offset);
    at.offset += std::uint32_t(bytes.size());
    payload.remove_prefix(size);
    first = false;
  } while (!payload.empty());
  if (sync == Sync::now) {
    fail_point("append.before_commit");
    file_.sync();
  }
  end_ = at;
  newest_ = batch;
  epoch_ = epoch;
  if (entered.empty()) return;
  blocks_.with([&](Blocks& blocks) {
    for (const Block& block : entered) {
      blocks.used.push_back(block);
      blocks.prepared.pop_front();
    }
  });
}

void JournalFile::read(BatchNumber after, const std::function<bool(const JournalRow&)>& visit) {
  const std::deque<Block> chain = blocks_.with([](const Blocks& blocks) { return blocks.used; });
  std::size_t from = chain.size() - 1;
  while (from > 0 && chain[from].batch_before > after) --from;
  Reader reader(*this, chain, from);
  JournalRow row{};
  for (BatchNumber before = chain[from].batch_before; before < newest_;) {
    bool takes_epoch = false;
    if (!reader.next(row, takes_epoch) || row.batch != before + (takes_epoch ? 0 : 1))
      throw_damaged("the record at byte " + byte_of(reader.position()) + " is damaged");
    before = row.batch;
    if (!takes_epoch && row.batch > after && !visit(row)) return;
  }
}

bool JournalFile::is_current() {
  return blocks_.with([&](const Blocks&) {  // so that no block is used again meanwhile
    const JournalFile found(file_path_, Use::read_unlocked);
    return found.id_ == id_ && found.epoch_ == epoch_ && found.newest_ >= newest_;
  });
}

void JournalFile::prune(BatchNumber through) {
  blocks_.with([&](Blocks& blocks) { blocks.pruned = through; });
}

void JournalFile::prepare() {
  blocks_.with([&](Blocks& blocks) {
    if (blocks.prepared.empty()) prepare_one(blocks);
  });
}

}  // namespace exchange
