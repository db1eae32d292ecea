#pragma once
// The output of the terminal client, as streams that tests can replace.

#include <ostream>

#include "client/cli/text.hpp"

namespace exchange::cli {

struct Console {
  std::ostream& out;
  std::ostream& err;
  Style style;        // of `out`
  bool live = false;  // `out` is a terminal that can be redrawn

  // The process's own; colour on a terminal only, and not with NO_COLOR or TERM=dumb.
  static Console of_process();
};

// Rows and columns of the terminal on stdout; 24 and 80 if it does not report them.
struct Size {
  std::size_t rows = 24, columns = 80;
  bool operator==(const Size&) const = default;
};
Size terminal_size();

}  // namespace exchange::cli
