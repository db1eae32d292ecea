#pragma once
// Records of 20 bytes in a temporary file, for the parts of question 3.

#include <array>
#include <span>
#include <string>

#include "studies/experiments/lab.hpp"

namespace exchange::experiments {

constexpr long records = 100'000;
constexpr std::size_t record_bytes = 20;  // about what an order takes in the journal
using Record = std::array<char, record_bytes>;

Record record_of(long number);
// Records 0 to count-1, one behind the other in memory; good until more are asked for. Main thread.
std::span<const Record> all_records(long count);

// A file in a folder of its own below TMPDIR; gone with this object.
class TemporaryFile {
 public:
  TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile();
  std::string path() const { return folder_ + "/records"; }
  int descriptor() const { return descriptor_; }
  // At the end of the file, all of it, also while others write.
  void write(const void* bytes, std::size_t size);
  void sync();  // fdatasync
  std::string content() const;
  // How many of the records 0 to count-1 are not there as they were written, one after the other.
  long wrong(long count) const;

 private:
  std::string folder_;
  int descriptor_ = -1;
};

// The type of the file system of the temporary folder: "ext4".
std::string temporary_file_system();

// Many writers at once, in file_commit.cpp.
void prepare_commits(const Settings& settings);
void report_commits(const Measurements& measured, const std::string& where, Report& out);

}  // namespace exchange::experiments
