#pragma once
// A conversation with the server, read from a file: who sends which bytes, and which bytes come
// back. The format is in README.md.

#include <string>
#include <vector>

#include "protocol/limits.hpp"

namespace exchange {

struct Step {
  enum class Kind { send, expect, end_stream, expect_close };
  Kind kind;
  std::string client;
  std::string bytes;  // send: what goes over the wire; expect: one whole reply
  int line = 0;
};

struct Script {
  std::string name;
  ProtocolLimits limits;
  std::vector<Step> steps;
};

// Throws std::runtime_error, naming file and line, for what is no script. `time` stands for {time}.
Script read_script(const std::string& path, std::int64_t time);
// All scripts of a folder, by name.
std::vector<std::string> script_paths(const std::string& folder);

}  // namespace exchange
