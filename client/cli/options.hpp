#pragma once
// The command line, and the lines of shell and scripts: the same commands with the same words.
// Includes nothing of the project but command.hpp.

#include <chrono>
#include <stdexcept>

#include "client/cli/command.hpp"

namespace exchange::cli {

// Under TLS, the server's certificate is checked, against the system's authorities or those of
// `ca`.
struct Security {
  bool tls = false;
  std::string ca;         // a PEM file
  bool insecure = false;  // not checked
};

struct Settings {
  std::string connect = "127.0.0.1:12345";  // the XML port
  std::string http;                         // HOST:PORT; empty: port 8080 of that host
  std::string account;                      // empty: none chosen
  std::string key;                          // of the account; empty: none
  Security security;
  bool xml = false;                   // show requests and replies as they are
  bool keep_going = false;            // scripts: on after a failure
  double timeout_s = 30;              // of a reply
  double completion_timeout_s = 0.5;  // Tab waits no longer for the symbols …
  double completion_fresh_s = 5;      // … and does not ask again so soon

  std::string http_address() const;
};

inline constexpr double connect_timeout_s = 5;
inline constexpr unsigned history_lines_max = 1'000;
// a look waits so long for what is committed to be shown …
inline constexpr std::chrono::milliseconds catch_up_max{5'000};
inline constexpr std::chrono::milliseconds catch_up_pause{10};  // … and asks so often
inline constexpr std::size_t http_body_bytes_max = 64u << 20;

// What the user typed cannot be meant; what() is the sentence.
struct ListError : std::runtime_error {
  using runtime_error::runtime_error;
};

// Of this command line. Without a command there is none: a shell or a script. After --help or a
// error, which are printed: an exit code.
struct CommandLine {
  Settings settings;
  std::optional<Command> command;
  std::optional<int> exit_code;
};
CommandLine parse_command_line(int argc, const char* const* argv);

// One line of a shell or script: a command, and settings that hold for this line alone. Nothing in
// a blank line or a comment (#). Throws ListError.
struct Line {
  Settings settings;
  Command command;
};
std::optional<Line> parse_line(const std::string& text, const Settings& settings);

// The text in words; quotes hold blanks together. Throws ListError where a quote does not end.
std::vector<std::string> split_words(const std::string& text);

// Help of the shell: all commands, or the one that these words name. Throws ListError.
std::string help_text(const std::vector<std::string>& command);

// What may follow these words of a line of the shell, where that follows from the commands alone
// ("create" -> "account", "symbol"; "book SPY --" -> "--levels").
std::vector<std::string> words_after(const std::vector<std::string>& words,
                                     const std::string& prefix);

}  // namespace exchange::cli
