#pragma once
// The output of the terminal client, as streams that tests can replace.

#include <functional>
#include <ostream>
#include <string>

#include "client/cli/text.hpp"

namespace exchange::cli {

// Reads a secret from the terminal of the process.
std::string ask_secret(const std::string& prompt);

struct Console {
  std::ostream& out;
  std::ostream& err;
  Style style;        // of `out`
  bool live = false;  // `out` is a terminal that can be redrawn
  // Asks the user, who may refuse; empty if there is no user to ask.
  std::function<bool(const std::string& question)> confirm = {};
  // Reads a line without echo, such as a key.
  std::function<std::string(const std::string& prompt)> secret = ask_secret;

  // Returns the streams of the process; with colour only on a terminal, and not with NO_COLOR or
  // TERM=dumb.
  static Console of_process();
};

// The size of the terminal on stdout; 24 rows and 80 columns if it does not report one.
struct Size {
  std::size_t rows = 24, columns = 80;
  bool operator==(const Size&) const = default;
};
Size terminal_size();
// The columns at which text wraps: those of the terminal if stdout is one, else no limit.
std::size_t text_columns();

}  // namespace exchange::cli
