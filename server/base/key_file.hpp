#pragma once
// Reads a key from a file of one line. A key in a file, unlike one in an argument, does not appear
// in lists of processes. Any thread.

#include <string>

namespace exchange {

struct KeyFile {
  std::string key;
  bool others_can_read = false;  // users of this machine, by the file's mode
};
// Ignores a UTF-8 byte order mark before the key and the end of its line. Throws
// std::invalid_argument, which names the file, if the file cannot be read or is not one line of
// UTF-8 without blanks at its ends: HTTP would drop these blanks, and XML would refuse other bytes.
KeyFile read_key_file(const std::string& path);

}  // namespace exchange
