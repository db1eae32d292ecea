#pragma once
// The format of a store: of the journal's records and file, and of the tables. Its number is that
// of the version in which it was new, 100 for 1.0, so that a refusal can name the version that
// wrote a store. It rises if a server of an earlier format could not read what this one writes; all
// formats from 100 on stay readable.

#include <cstdint>
#include <string>

namespace exchange {

inline constexpr std::uint8_t store_format = 100;

// Throws StoreOtherVersion if this server cannot read the format. `what`: the file or the database.
void require_readable_format(const std::string& what, std::int64_t format);

}  // namespace exchange
