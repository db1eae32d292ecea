#pragma once
// Option checks for CLI11. They are slow to compile: include this only in files that declare
// options.

#include <CLI/CLI.hpp>
#include <cmath>
#include <stdexcept>
#include <string>

#include "client/connection/command_line.hpp"

namespace exchange::client {

// Accepts a value unless `parse` throws std::invalid_argument.
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

// Accepts a number in this range. CLI::Range alone accepts nan, which is not in any range.
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
