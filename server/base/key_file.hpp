#pragma once
// A key that stands in a file, so that it is in no list of processes: one line. Any thread.

#include <string>

namespace exchange {

struct KeyFile {
  std::string key;
  bool others_can_read = false;  // users of this machine, by the file's mode
};
// A mark of UTF-8 before the key and the end of its line do not count. Throws
// std::invalid_argument, which names the file, if it cannot be read or is not one line of UTF-8
// without blanks at its ends: HTTP would drop these, and XML refuse other bytes.
KeyFile read_key_file(const std::string& path);

}  // namespace exchange
