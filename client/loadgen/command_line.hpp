#pragma once
// What the programs that trade have in common on the command line and as processes. Thread: main,
// at the start.

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

#include "client/connection/socket.hpp"

namespace exchange::loadgen {

// Set by SIGINT, SIGTERM and SIGHUP once stop_on_signals() was called, which also ignores SIGPIPE.
StopFlag& stop_flag();
void stop_on_signals();

// Accounts of two runs against one store must not be the same.
std::string prefix_from_clock();

// Makes a function that throws std::invalid_argument a check of an option.
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

}  // namespace exchange::loadgen
