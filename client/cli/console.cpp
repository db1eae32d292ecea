#include "client/cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace exchange::cli {

Console Console::of_process() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
  return {std::cout, std::cerr, {.colour = terminal && variable("NO_COLOR").empty()}, terminal};
}

Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace exchange::cli
