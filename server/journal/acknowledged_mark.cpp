#include "journal/acknowledged_mark.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/checksum.hpp"

namespace exchange {
namespace {

// Offsets and sizes of the format that acknowledged_mark.hpp shows.
constexpr std::size_t sum_at = 72, line_bytes = 96;

struct Line {
  char text[line_bytes + 1];
};

Line mark_line(std::string_view store, BatchNumber batch) {
  Line line{};
  const int length =
      std::snprintf(line.text, sizeof line.text, "acknowledged %020" PRIu64 " of %.*s", batch,
                    int(store.size()), store.data());
  std::memset(line.text + length, ' ', line_bytes - std::size_t(length));
  unsigned char summed[line_bytes] = {};
  std::memcpy(summed, line.text, sum_at);
  std::snprintf(line.text + sum_at, sizeof line.text - sum_at, "sum %016" PRIx64 "   ",
                page_checksum(summed, sizeof summed, std::uint64_t(length)));
  line.text[line_bytes - 1] = '\n';
  return line;
}

}  // namespace

std::optional<AcknowledgedMark> read_mark(int file) {
  Line found{};
  if (::pread(file, found.text, line_bytes, 0) != ssize_t(line_bytes)) return {};
  AcknowledgedMark mark;
  char id[store_id_bytes + 1] = "";
  if (std::sscanf(found.text, "acknowledged %20" SCNu64 " of %32s", &mark.batch, id) != 2)
    return {};
  mark.store = id;
  if (std::memcmp(mark_line(mark.store, mark.batch).text, found.text, line_bytes) != 0) return {};
  return mark;
}

void write_mark(int file, std::string_view store, BatchNumber batch) {
  if (store.size() != store_id_bytes) return;
  const Line line = mark_line(store, batch);
  [[maybe_unused]] const ssize_t written = ::pwrite(file, line.text, line_bytes, 0);
}

}  // namespace exchange
