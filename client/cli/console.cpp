#include "client/cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace exchange::cli {

namespace {

// Any answer except y or yes means no, and so do the end of the input and Ctrl-C.
bool ask_user(const std::string& question) {
  std::cout << question << " [y/N] " << std::flush;
  char typed[100];
  const ssize_t bytes = ::read(STDIN_FILENO, typed, sizeof typed);
  if (bytes <= 0) std::cout << std::endl;
  const std::string_view answer(typed, std::size_t(std::max<ssize_t>(bytes, 0)));
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

}  // namespace

std::string ask_secret(const std::string& prompt) {
  const char* const typed = ::getpass(prompt.c_str());
  return typed == nullptr ? "" : typed;
}

Console Console::of_process() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb";
  Console console{
      std::cout, std::cerr, {.colour = terminal && variable("NO_COLOR").empty()}, terminal};
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) console.confirm = ask_user;
  return console;
}

std::size_t text_columns() {
  return ::isatty(STDOUT_FILENO) == 1 ? terminal_size().columns : std::string::npos;
}

Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

}  // namespace exchange::cli
