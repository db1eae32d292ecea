#pragma once
// Transaction ids as numbers, and a set of them. Ids of our server are integers from 1. The course
// text says only "unique", so the ids of another server may be any text: each such text gets its
// own number, from text_ids_begin, which stays valid as long as the process runs. Any thread.

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace exchange::run_audit {

inline constexpr std::uint64_t text_ids_begin = std::uint64_t(1) << 63;
inline constexpr std::size_t id_bytes_max = 64;

// Returns the number of the id, as the reply contains it, with references unresolved. 0: the text
// is not an id, or too long.
std::uint64_t number_of_id(std::string_view text);
// Returns the id as the server wrote it.
std::string id_text(std::uint64_t id);
// Appends id_text(id), at most id_bytes_max bytes; returns the end.
char* write_id(char* out, std::uint64_t id);

// A set of ids, one bit each if they are dense. It finds an id that was inserted twice.
// Thread: one at a time.
class IdSet {
 public:
  // Returns false if `id` is already in the set.
  bool insert(std::uint64_t id) {
    std::uint64_t& word = pages_[id / page_ids][id % page_ids / 64];
    const std::uint64_t bit = std::uint64_t(1) << (id % 64);
    if (word & bit) return false;
    word |= bit;
    return true;
  }
  // Adds all of `other`; returns how many were already in the set.
  std::uint64_t insert(const IdSet& other) {
    std::uint64_t twice = 0;
    for (const auto& [page, words] : other.pages_) {
      auto& own = pages_[page];
      for (std::size_t i = 0; i < words.size(); ++i) {
        twice += std::uint64_t(std::popcount(own[i] & words[i]));
        own[i] |= words[i];
      }
    }
    return twice;
  }

 private:
  static constexpr std::uint64_t page_ids = 512;  // a cache line
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, 8>> pages_;
};

}  // namespace exchange::run_audit
