#pragma once
// Commands one after another: typed into a shell with history and completion, or piped in as a
// script. Thread: the caller's.

#include <csignal>
#include <istream>

#include "client/cli/runner.hpp"

namespace exchange::cli {

// Until its end, "quit" or the first command that fails (which is printed with its line number),
// with --keep-going until its end. Returns the exit status: that of the first failure.
int run_script(Runner& runner, std::istream& lines);

// On the terminal of stdin. `stop` is set by signals: SIGINT ends what is under way and brings the
// prompt back.
int run_shell(Runner& runner, client::StopFlag& stop,
              const volatile std::sig_atomic_t& last_signal);

// For handlers of signals: ends the reading of a line, also if the signal came a moment before
// it began.
void interrupt_reading();

// What may stand in place of the last word of `line`, sorted: commands and options, symbols, own
// orders of the session, accounts.
std::vector<std::string> completions(const std::string& line, Runner& runner);

// $XDG_STATE_HOME/exchange-cli/history, else ~/.local/state/exchange-cli/history; empty if
// neither is known.
std::string history_file();

}  // namespace exchange::cli
