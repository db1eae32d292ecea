#pragma once
// Transaction ids as numbers. Ours are integers from 1. The course text says only "unique", so
// another server's may be any text: each such text gets a number of its own, from text_ids_begin,
// that is known as long as the process lasts. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace exchange::run_audit {

inline constexpr std::uint64_t text_ids_begin = std::uint64_t(1) << 63;
inline constexpr std::size_t id_bytes_max = 64;

// The id as the reply has it, its references unresolved. 0: it is none, or longer.
std::uint64_t number_of_id(std::string_view text);
// What the server wrote.
std::string id_text(std::uint64_t id);
// Appends that, at most id_bytes_max bytes; returns the end.
char* write_id(char* out, std::uint64_t id);

}  // namespace exchange::run_audit
