#pragma once
// Runs commands one after another: typed into a shell with history and completion, or piped in as a
// script. Thread: the caller's.

#include <csignal>
#include <istream>

#include "client/cli/runner.hpp"

namespace exchange::cli {

// Runs the script until its end, "quit" or the first command that fails (whose error is printed
// with the line number); with --keep-going until its end. Returns the exit status of the first
// failure.
int run_script(Runner& runner, std::istream& lines);

// Runs a shell on the terminal of stdin. Signals set `stop`: SIGINT ends the current command and
// shows the prompt again.
int run_shell(Runner& runner, client::StopFlag& stop,
              const volatile std::sig_atomic_t& last_signal);

// Call it in signal handlers: ends the reading of a line, even if the signal came a moment before
// the reading began.
void interrupt_reading();

// Returns the possible completions of the last word of `line`, sorted: commands and options,
// symbols, own orders of the session, accounts.
std::vector<std::string> completions(const std::string& line, Runner& runner);

// Returns $XDG_STATE_HOME/exchange-cli/history, else ~/.local/state/exchange-cli/history; empty if
// neither is known.
std::string history_file();

}  // namespace exchange::cli
