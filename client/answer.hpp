#pragma once
// Is this reply a right answer to that request? Pure.

#include <string_view>

#include "client/workload.hpp"

namespace exchange::loadgen {

struct Answer {
  std::string_view problem;   // not empty: a wrong answer, and why
  bool refused = false;       // well formed, with an <error>
  std::string_view refusal;   // its sentence
  std::uint64_t opened = 0;   // id of the order opened, if any
};

// One reply element per leaf, of the kind asked for, that repeats what the client wrote.
Answer check_reply(const Script& script, std::string_view document);

}  // namespace exchange::loadgen
