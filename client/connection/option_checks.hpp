#pragma once
// Checks of options for CLI11. Slow to compile: only for the files that declare options.

#include <CLI/CLI.hpp>
#include <cmath>
#include <stdexcept>
#include <string>

#include "client/connection/command_line.hpp"
#include "client/connection/servers.hpp"

namespace exchange::client {

// Accepts what `parse` does not refuse with std::invalid_argument.
template <class Parse>
CLI::Validator accepted_by(Parse parse) {
  return CLI::Validator(
      [parse](const std::string& text) -> std::string {
        try {
          parse(text);
          return {};
        } catch (const std::invalid_argument& error) {
          return error.what();
        }
      },
      "");
}

// A number of this range: CLI::Range accepts nan, which is in none.
inline CLI::Validator is_from(double least, double most) {
  const CLI::Range range(least, most);
  return CLI::Validator(
      [range](std::string& text) -> std::string {
        double number = 0;
        if (CLI::detail::lexical_cast(text, number) && std::isnan(number))
          return "'" + text + "' is not a number";
        return range(text);
      },
      range.get_description());
}

inline CLI::Validator are_addresses() { return accepted_by(check_addresses); }

}  // namespace exchange::client
