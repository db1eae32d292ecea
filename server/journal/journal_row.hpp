#pragma once
// A row of the journal, for every kind of store.

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/ids.hpp"

namespace exchange {

using Epoch = std::uint64_t;  // number of times that a server has opened the store

inline constexpr std::size_t store_id_bytes = 32;  // random for each store

struct JournalRow {
  BatchNumber batch;
  Epoch epoch;          // of the server that appended it
  std::string payload;  // journal_record.hpp
};

}  // namespace exchange
