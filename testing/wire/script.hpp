#pragma once
// A conversation with the server, read from a file: the bytes that each client sends, and the bytes
// that come back. README.md describes the format.

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

// Throws std::runtime_error, naming file and line, if the file is not a script. `time` replaces
// {time}.
Script read_script(const std::string& path, std::int64_t time);
// Returns the paths of all scripts of a folder, by name.
std::vector<std::string> script_paths(const std::string& folder);

}  // namespace exchange
