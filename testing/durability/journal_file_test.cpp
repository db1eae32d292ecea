// The journal file by itself, on a simulated disk: records in one block and in many, blocks that
// are reused, and what the reader takes for the end of the journal.

#include "journal/journal_file.hpp"

#include <boost/endian/conversion.hpp>
#include <set>

#include "base/checksum.hpp"
#include "catch.hpp"
#include "durability/simulated_disk.hpp"

using namespace exchange;
using namespace exchange::testing;
using Use = JournalFile::Use;
using Fault = SimulatedDisk::Fault;

namespace {

constexpr std::uint32_t block_bytes = 256, file_header = 4'096, block_header = 32,
                        fragment_header = 32;

struct JournalOnDisk {
  JournalOnDisk() { JournalFile::create(path, std::string(32, 'a'), 0, 0, block_bytes); }
  static std::string payload(BatchNumber batch, std::size_t bytes = 20) {
    return std::string(bytes, char('a' + batch % 26));
  }
  void append(JournalFile& journal, BatchNumber first, BatchNumber last, std::size_t bytes = 20) {
    for (BatchNumber batch = first; batch <= last; ++batch)
      journal.append(batch, payload(batch, bytes));
  }
  // Opens the journal, appends and closes it, as a server does.
  void write(BatchNumber first, BatchNumber last, std::size_t bytes = 20) {
    JournalFile journal(path, Use::write);
    journal.take_epoch();
    append(journal, first, last, bytes);
  }
  // Returns the batches after `after` in the file, and checks each payload against its number.
  static std::vector<BatchNumber> batches(JournalFile& journal, BatchNumber after = 0,
                                          std::size_t bytes = 20) {
    std::vector<BatchNumber> found;
    journal.read(after, [&](const JournalRow& row) {
      CHECK(row.payload == payload(row.batch, bytes));
      found.push_back(row.batch);
      return true;
    });
    return found;
  }
  // Returns the newest batch, or the message.
  std::string open() {
    try {
      return std::to_string(JournalFile(path, Use::write).newest_batch());
    } catch (const StoreCorrupt& error) {
      return error.what();
    }
  }
  SimulatedDisk::Bytes& bytes() { return disk.bytes_of(path); }

  SimulatedDisk disk{3};
  const std::string path = "/j";
};

std::vector<BatchNumber> range(BatchNumber first, BatchNumber last) {
  std::vector<BatchNumber> numbers;
  for (BatchNumber number = first; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace

TEST_CASE_METHOD(JournalOnDisk, "a journal gives back its records, from any batch on") {
  const std::size_t size = GENERATE(1, 32, 128, 191, 192, 193, 223, 224, 225, 1'000, 100'000);
  const BatchNumber count = size > 10'000 ? 3 : 30;
  INFO(size << " bytes");
  {
    JournalFile journal(path, Use::write);
    journal.take_epoch();
    append(journal, 1, count, size);
    CHECK(batches(journal, 0, size) == range(1, count));
  }
  for (BatchNumber after = 0; after <= count; ++after) {
    JournalFile journal(path, Use::read);
    CHECK(journal.newest_batch() == count);
    CHECK(journal.epoch() == 1);
    CHECK(batches(journal, after, size) == range(after + 1, count));
  }
}

TEST_CASE_METHOD(JournalOnDisk, "a journal that is pruned uses its blocks again") {
  JournalFile journal(path, Use::write);
  journal.take_epoch();
  std::size_t bytes_after_100 = 0;
  for (BatchNumber batch = 1; batch <= 1'000; ++batch) {
    journal.append(batch, payload(batch));
    if (batch % 10 == 0) {
      if (batch > 20) journal.prune(batch - 20);
      journal.prepare();
    }
    if (batch == 100) bytes_after_100 = bytes().size();
  }
  CHECK(bytes().size() == bytes_after_100);
  const auto kept = batches(journal, 980);
  CHECK(kept == range(981, 1'000));
  const JournalFile again(path, Use::read_unlocked);
  CHECK(again.newest_batch() == 1'000);
  CHECK(again.begins_after() > 900);
  CHECK(again.begins_after() <= 980);
}

TEST_CASE_METHOD(JournalOnDisk, "a block whose batches are not all pruned is kept") {
  JournalFile journal(path, Use::write);
  append(journal, 1, 10, 500);  // three blocks each
  for (BatchNumber through = 1; through <= 9; ++through) {
    INFO("pruned " << through);
    journal.prune(through);
    append(journal, 10 + through, 10 + through, 500);
    journal.prepare();
    CHECK(batches(journal, through, 500) == range(through + 1, 10 + through));
  }
}

TEST_CASE_METHOD(JournalOnDisk,
                 "a record that was cut anywhere is not there, and the next one is") {
  const std::size_t size = GENERATE(20, 300);
  write(1, 5, size);
  const auto before = disk.files();
  {
    JournalFile journal(path, Use::write);
    journal.append(6, payload(6, size));
  }
  const auto after = disk.files();
  // Each sector, here of 32 bytes, is either old or new.
  std::vector<std::size_t> changed;
  for (std::size_t at = 0; at < after.at(path).size(); at += 32) {
    const auto part = [&](const SimulatedDisk::Bytes& bytes) {
      SimulatedDisk::Bytes copy(bytes);
      copy.resize(after.at(path).size());
      return std::vector(copy.begin() + std::ptrdiff_t(at), copy.begin() + std::ptrdiff_t(at) + 32);
    };
    // the block headers are written before
    if (part(before.at(path)) != part(after.at(path)) && part(after.at(path))[0] != 'E')
      changed.push_back(at);
  }
  REQUIRE(changed.size() >= 2);
  for (std::uint64_t written = 0; written + 1 < std::uint64_t(1) << changed.size(); ++written) {
    auto files = after;
    for (std::size_t i = 0; i < changed.size(); ++i)
      if ((written >> i & 1) == 0)
        std::fill_n(files.at(path).begin() + std::ptrdiff_t(changed[i]), 32, 0);
    disk.set_files(files);
    INFO("written " << written);
    JournalFile journal(path, Use::write);
    CHECK(journal.newest_batch() == 5);
    journal.take_epoch();
    journal.append(6, "other");
    CHECK(JournalFile(path, Use::read_unlocked).newest_batch() == 6);
  }
}

TEST_CASE_METHOD(JournalOnDisk,
                 "the rest of a record of an older server is not taken for a newer one") {
  {
    JournalFile journal(path, Use::write);
    journal.take_epoch();
    journal.append(1, payload(1, 300));
  }
  // The first of its two fragments is lost.
  std::fill_n(bytes().begin() + file_header + block_header + 2 * fragment_header, 64, 0);
  {
    JournalFile journal(path, Use::write);
    REQUIRE(journal.newest_batch() == 0);
    journal.take_epoch();
    disk.plan(disk.operations() + 1, Fault::write_error);
    CHECK_THROWS_AS(journal.append(1, std::string(300, 'z')), StoreUnavailable);
  }
  disk.plan(0, Fault::none);
  JournalFile journal(path, Use::write);
  CHECK(journal.newest_batch() == 0);
  CHECK(batches(journal).empty());
}

TEST_CASE_METHOD(JournalOnDisk, "a file of another format is refused") {
  const auto write_format = [&](unsigned char format) {
    auto* const header = bytes().data();
    header[48] = format;
    std::fill_n(header + 56, 8, 0);
    boost::endian::store_little_u64(header + 56, page_checksum(header, 64, 0));
  };
  write_format(0);
  CHECK_THAT(open(), contains_text("/j was written by a version before 1.0: "));
  write_format(102);
  CHECK(open() == "/j was written by version 1.2 or newer: start that version");
  bytes()[48] = 101;
  CHECK_THAT(open(), contains_text("its header is damaged"));
}

TEST_CASE_METHOD(JournalOnDisk, "a bad record with later batches behind it is damage") {
  write(1, 13);  // the last block has two records
  const auto files = disk.files();
  std::size_t damaged = 0, before_later = 0, cut = 0, unused = 0;
  for (std::size_t at = file_header; at < files.at(path).size(); ++at) {
    auto changed = files;
    changed.at(path)[at] ^= 4;
    disk.set_files(changed);
    INFO("byte " << at);
    const std::string found = open();
    if (found == "12") {  // the mark reports the loss
      ++cut;
    } else if (found != "13") {
      CHECK_THAT(found, contains_text("; restore"));
      ++damaged;
      before_later += contains_text("later batches follow").match(found);
    } else {
      JournalFile journal(path, Use::read);
      try {
        if (batches(journal) == range(1, 13)) ++unused;
      } catch (const StoreCorrupt&) {
        ++damaged;
      }
    }
  }
  CHECK(cut == 64);  // the bytes of the last record
  CHECK(before_later > 0);
  CHECK(cut + damaged + unused == files.at(path).size() - file_header);
  CHECK(unused < 400);
}

TEST_CASE_METHOD(JournalOnDisk, "damage in batches that are behind the tables is found when read") {
  write(1, 40);
  bytes()[file_header + block_header + fragment_header + fragment_header + 5] ^= 1;  // of batch 1
  JournalFile journal(path, Use::read);
  CHECK(journal.newest_batch() == 40);
  CHECK(batches(journal, 20) == range(21, 40));
  CHECK_THROWS_WITH(batches(journal), contains_text("is damaged; restore"));
}

TEST_CASE_METHOD(JournalOnDisk, "an append that failed may be repeated") {
  const Fault fault = GENERATE(Fault::write_error, Fault::full);
  JournalFile journal(path, Use::write);
  append(journal, 1, 3);
  for (std::uint64_t at = 1;; ++at) {
    const BatchNumber batch = journal.newest_batch() + 1;
    disk.plan(disk.operations() + at, fault);
    try {
      journal.append(batch, payload(batch, 700));
    } catch (const StoreUnavailable&) {
    }
    const bool met = disk.faults_met() > 0;
    disk.plan(0, Fault::none);
    if (!met) break;
    REQUIRE(journal.newest_batch() == batch - 1);
    journal.append(batch, payload(batch, 700));
    CHECK(JournalFile(path, Use::read_unlocked).newest_batch() == batch);
    CHECK(batches(journal, 3, 700) == range(4, journal.newest_batch()));
  }
  CHECK(journal.newest_batch() > 5);
}

TEST_CASE_METHOD(JournalOnDisk, "a journal that cannot be synced is not used any more") {
  JournalFile journal(path, Use::write);
  disk.plan(disk.operations() + 1, Fault::sync_error);
  CHECK_THROWS_WITH(journal.append(1, "x"), contains_text("failed to sync"));
}

TEST_CASE_METHOD(JournalOnDisk, "a journal that is complete to who opens it stays so") {
  unsigned failed = 0, complete = 0;
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t at = 1;; ++at) {
      disk.set_files({});
      disk.plan(disk.operations() + at, Fault::sync_error);
      try {
        JournalFile::create(path, std::string(32, 'a'), 0, 0, block_bytes);
      } catch (const StoreCorrupt&) {
        ++failed;
      }
      if (disk.faults_met() == 0) break;
      disk.plan(0, Fault::none);
      if (!JournalFile::is_complete(path)) continue;
      ++complete;
      JournalFile(path, Use::write);  // the file's header may be in the page cache only
      disk.stop(Fault::power_cut);
      disk.restart();
      CHECK(JournalFile::is_complete(path));
    }
  CHECK(failed > complete);
  CHECK(complete > 0);
}

TEST_CASE_METHOD(JournalOnDisk, "a journal has one writer, or readers") {
  {
    const JournalFile writer(path, Use::write);
    CHECK_THROWS_AS(JournalFile(path, Use::write), StoreFenced);
    CHECK_THROWS_AS(JournalFile(path, Use::read), StoreFenced);
  }
  const JournalFile reader(path, Use::read), other(path, Use::read);
  CHECK_THROWS_AS(JournalFile(path, Use::write), StoreFenced);
}

TEST_CASE_METHOD(JournalOnDisk, "a journal whose making was not finished does not count") {
  const auto made = disk.files();
  for (std::uint64_t at = 1;; ++at) {
    disk.set_files({});
    disk.plan(disk.operations() + at, Fault::power_cut);
    try {
      JournalFile::create(path, std::string(32, 'b'), 0, 0, block_bytes);
    } catch (const std::runtime_error&) {
    }
    if (!disk.stopped()) break;
    disk.restart();
    INFO("operation " << at);
    if (!JournalFile::is_complete(path)) continue;
    CHECK(open() == "0");
  }
  CHECK(JournalFile::is_complete(path));
  CHECK(disk.files().at(path).size() == made.at(path).size());
}

TEST_CASE_METHOD(JournalOnDisk,
                 "a power cut around a block that is new or used again loses nothing") {
  const auto made = disk.files();
  for (std::uint64_t run = 0; run < 2'000; ++run) {
    disk.set_files(made);
    INFO("run " << run);
    BatchNumber acknowledged = 0;
    try {
      JournalFile journal(path, Use::write);
      journal.take_epoch();
      disk.plan(disk.operations() + 1 + run % 100, Fault::power_cut);
      for (BatchNumber batch = 1; batch <= 100; ++batch) {
        journal.append(batch, payload(batch, 100));
        acknowledged = batch;
        if (batch > 6) journal.prune(batch - 6);
      }
    } catch (const std::runtime_error&) {
    }
    if (!disk.stopped()) disk.stop(Fault::power_cut);
    disk.restart();
    disk.plan(0, Fault::none);
    const std::string found = open();
    CHECK((found == std::to_string(acknowledged) || found == std::to_string(acknowledged + 1)));
  }
}

TEST_CASE_METHOD(JournalOnDisk, "the end of a journal is found without reading all of it") {
  write(1, 400, 100);
  std::uint64_t whole_blocks = 0;
  disk.unreadable = [&](const std::string&, std::uint64_t from, std::uint64_t to) {
    whole_blocks += to - from == block_bytes;
    return false;
  };
  CHECK(JournalFile(path, Use::write).newest_batch() == 400);
  disk.unreadable = nullptr;
  CHECK(whole_blocks < 20);
}

TEST_CASE_METHOD(JournalOnDisk, "only batches that follow can be imported") {
  const JournalRow second{2, 5, "payload"};
  const auto import = [&](const JournalRow& row) {
    JournalFile::create(path, std::string(32, 'c'), 1, 9, block_bytes, [&](JournalFile& journal) {
      journal.import(second);
      journal.import(row);
    });
  };
  CHECK_THROWS_WITH(import({4, 5, "payload"}), contains_text("batch 4 follows batch 2"));
  CHECK_THROWS_AS(import({3, 4, "payload"}), StoreCorrupt);
  CHECK_FALSE(JournalFile::is_complete(path));
  import({3, 6, "payload"});
  JournalFile journal(path, Use::read);
  CHECK(journal.newest_batch() == 3);
  CHECK(journal.epoch() == 9);
  CHECK(journal.begins_after() == 1);
}

TEST_CASE_METHOD(JournalOnDisk, "a block that could not be made is made at the same place") {
  const auto made = disk.files();
  for (int run = 0; run < 100; ++run) {
    INFO("run " << run);
    disk.set_files(made);
    {
      JournalFile journal(path, Use::write);
      append(journal, 1, 9);
      journal.prepare();
      append(journal, 10, 11);
      disk.plan(disk.operations() + 2, Fault::write_error);
      CHECK_THROWS_AS(journal.prepare(), StoreUnavailable);
      disk.plan(0, Fault::none);
      journal.prune(9);
      append(journal, 12, 20);
      CHECK(batches(journal, 9) == range(10, 20));
    }
    CHECK(open() == "20");
  }
}

TEST_CASE_METHOD(JournalOnDisk, "a journal that is cut within a block ends where it was cut") {
  write(1, 30);
  const auto files = disk.files();
  std::set<std::string> found;
  for (std::size_t size = file_header + block_bytes; size < files.at(path).size(); size += 16) {
    auto cut = files;
    cut.at(path).resize(size);
    disk.set_files(cut);
    INFO(size << " bytes");
    const std::string newest = open();
    found.insert(newest);
    if (newest.size() > 2) continue;
    JournalFile journal(path, Use::write);
    journal.take_epoch();
    append(journal, journal.newest_batch() + 1, 40);
    CHECK(batches(journal) == range(1, 40));
  }
  CHECK(found.size() > 25);
}

TEST_CASE_METHOD(JournalOnDisk, "a journal whose making was not finished cannot be read") {
  write(1, 3);
  bytes()[7] = '0';
  CHECK_THROWS_AS(JournalFile(path, Use::read), StoreCorrupt);
}
