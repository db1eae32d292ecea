#pragma once
// A row of the journal, in whatever store it stands.

#include <cstdint>
#include <string>

#include "engine/ids.hpp"

namespace exchange {

using Epoch = std::uint64_t;  // number of times that a server has opened the store

struct JournalRow {
  BatchNumber batch;
  Epoch epoch;          // of the server that appended it
  std::string payload;  // journal_record.hpp
};

}  // namespace exchange
