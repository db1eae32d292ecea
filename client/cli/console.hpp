#pragma once
// The output of the terminal client, as streams that tests can replace.

#include <functional>
#include <ostream>
#include <string>

#include "client/cli/text.hpp"

namespace exchange::cli {

// From the terminal of the process.
std::string ask_secret(const std::string& prompt);

struct Console {
  std::ostream& out;
  std::ostream& err;
  Style style;        // of `out`
  bool live = false;  // `out` is a terminal that can be redrawn
  // Asks the user, who may say no; nothing where no user can.
  std::function<bool(const std::string& question)> confirm = {};
  // A line that is typed without echo, such as a key.
  std::function<std::string(const std::string& prompt)> secret = ask_secret;

  // The process's own; colour on a terminal only, and not with NO_COLOR or TERM=dumb.
  static Console of_process();
};

// Rows and columns of the terminal on stdout; 24 and 80 if it does not report them.
struct Size {
  std::size_t rows = 24, columns = 80;
  bool operator==(const Size&) const = default;
};
Size terminal_size();
// For text that is wrapped: those columns if stdout is a terminal, else no bound.
std::size_t text_columns();

}  // namespace exchange::cli
