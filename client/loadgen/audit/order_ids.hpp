#pragma once
// Transaction ids as numbers. Ids of our server are integers from 1. The course text says only
// "unique", so the ids of another server may be any text: each such text gets its own number, from
// text_ids_begin, which stays valid as long as the process runs. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace exchange::run_audit
