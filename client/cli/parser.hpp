#pragma once
// Parses the command line, and the lines of shell and scripts: the same commands with the same
// words. Pure, but that --help and errors of the command line are printed.

#include "client/cli/command.hpp"

namespace exchange::cli {

// Without a command: a shell or a script. After --help, --version or an error, which are printed:
// an exit code.
struct CommandLine {
  Settings settings;
  std::optional<Command> command;
  std::optional<int> exit_code;
};
CommandLine parse_command_line(int argc, const char* const* argv);

// One line of a shell or script: a command, and settings that hold for this line alone. Nothing in
// a blank line or a comment (#). Throws UsageError.
struct Line {
  Settings settings;
  Command command;
};
std::optional<Line> parse_line(const std::string& text, const Settings& settings);

// Help of the shell: all commands, or the one that these words name. Throws UsageError.
std::string help_text(const std::vector<std::string>& command);

// What may follow these words of a line of the shell, if that follows from the commands alone
// ("create" -> "account", "symbol"; "book SPY --" -> "--levels").
std::vector<std::string> words_after(const std::vector<std::string>& words,
                                     const std::string& prefix);
// The argument that follows them, by its name in the help: "SYM", "ORDER"; empty if none does.
std::string argument_after(const std::vector<std::string>& words);

}  // namespace exchange::cli
