#pragma once
// Parses the command line and the lines of the shell and of scripts: the same commands with the
// same words. Pure, except that it prints --help and errors of the command line.

#include "client/cli/command.hpp"

namespace exchange::cli {

// Without a command it means a shell or a script. After --help, --version or an error, which are
// printed, it contains an exit code.
struct CommandLine {
  Settings settings;
  std::optional<Command> command;
  std::optional<int> exit_code;
  // The words without "class", which are for its program (exchange-class).
  std::optional<std::vector<std::string>> class_words;
};
CommandLine parse_command_line(int argc, const char* const* argv);

// One line of a shell or script: a command, and settings that apply to this line alone. Blank lines
// and comments (#) return nothing. Throws UsageError.
struct Line {
  Settings settings;
  Command command;
};
std::optional<Line> parse_line(const std::string& text, const Settings& settings);

// Returns the help of the shell: for all commands, or for the one that these words name. Throws
// UsageError.
std::string help_text(const std::vector<std::string>& command);

// Returns the words that may follow these words of a shell line, as far as the commands alone
// determine it ("create" -> "account", "symbol"; "book SPY --" -> "--levels").
std::vector<std::string> words_after(const std::vector<std::string>& words,
                                     const std::string& prefix);
// Returns the argument that follows these words, by its name in the help: "SYM", "ORDER"; empty if
// there is none.
std::string argument_after(const std::vector<std::string>& words);

}  // namespace exchange::cli
