#pragma once
// CommandParser parses the words of one command of the terminal client: parser.cpp has the settings
// and the help, commands.cpp the commands. Slow to compile.

#include <CLI/CLI.hpp>
#include <functional>
#include <map>

#include "client/cli/command.hpp"

namespace exchange::cli {

class CommandParser {
 public:
  enum class Place { command_line, shell };
  // The synopsis of each command.
  using Synopses = std::map<const CLI::App*, std::string>;

  CommandParser(Place place, Settings& settings);
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  CLI::App& app() { return app_; }
  std::optional<Command>& parsed() { return command_; }
  std::string help_line(const CLI::App* sub) const;
  // Returns the error in words, with the usage if a command was recognized.
  std::string explain(const CLI::ParseError& error) const;

 private:
  // A word that a command needs, with its meaning; and the attribute that it is, in a change.
  struct Word {
    const char* name;
    const char* text;
    const char* attribute = "";
  };
  static constexpr Word symbol_word{"SYM", "symbol", "sym"};

  void add_settings();
  void add_groups();
  void add_creations();
  void add_rules_of_symbols();
  void add_administration();
  void add_trading();
  void add_looks();
  void add_shell();

  // Adds the command of this name, with its synopsis, its group in the help and its purpose. It
  // takes `words`, to words_; `make` builds the Command.
  CLI::App* command(const std::string& name, const std::string& synopsis, const char* group,
                    const char* text, const std::vector<Word>& words,
                    std::function<Command()> make);
  // Adds a command that changes one thing. Its element has the attributes `fixed`, those of
  // `words`, and those of options, of which there must be one if `needed` names it.
  CLI::App* change(CommandKind kind, const std::string& name, const std::string& synopsis,
                   const char* text, const std::vector<Word>& words,
                   const std::vector<Typed>& fixed = {}, const char* needed = nullptr);
  // Adds a command for one symbol or all: `make` returns the attributes of each of its elements.
  CLI::App* command_of_symbols(const std::string& name, const std::string& synopsis,
                               const char* text,
                               std::function<std::vector<std::vector<Typed>>()> make);
  void add_order(Side side, const char* name, const char* text);
  void add_shares_and_price(CLI::App* app, const std::string& text);
  void add_key_file(CLI::App* app, const char* text);

  // Returns " (did you mean 'buy'?)" if a command differs by one letter or two.
  std::string suggestion(const std::string& word) const;

  const Place place_;
  Settings& settings_;
  Synopses synopses_;
  CLI::App app_;
  std::string words_[3], reference_, key_file_, scenario_;
  bool all_ = false;
  std::vector<Typed> typed_;  // of options
  std::vector<std::string> list_;
  ShowBook book_;
  ShowHistory history_;
  ShowTrades trades_;
  ShowLeaderboard leaderboard_;
  WatchAccount watch_;
  std::optional<Command> command_;
};

}  // namespace exchange::cli
