#pragma once
// CommandParser parses the words of one command of the terminal client: the settings and the
// operator's commands (operator_parser.cpp); AllCommands, in parser.cpp, adds the others. Slow to
// compile.

#include <CLI/CLI.hpp>
#include <boost/mp11.hpp>
#include <functional>
#include <map>

#include "client/cli/command.hpp"
#include "protocol/description.hpp"

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

 protected:
  template <class Kind>
  using Of = boost::mp11::mp_identity<Kind>;

  void add_settings();
  // Adds the command of this name, with the words that follow it, its group in the help and its
  // purpose; `make` builds the Command from its words.
  CLI::App* command(const std::string& name, const std::string& words, const char* group,
                    const char* text, std::function<Command()> make);
  CLI::App* command_of_symbol(const std::string& name, const std::string& words, const char* group,
                              const char* text, std::function<Command()> make);
  CLI::App* command_of_symbols(const std::string& name, const std::string& words, const char* text,
                               std::function<SetRules()> make);
  // The option takes one of the words of an attribute.
  template <class Value>
  static void takes_words(CLI::Option* option) {
    std::vector<std::string> known;
    for (const auto& one : exchange::words<Value>) known.emplace_back(one.word);
    option->check(CLI::IsMember(known))->type_name(CLI::detail::join(known, "|"));
  }

  // The operator's commands.
  void add(Of<NewAccount>);
  void add(Of<NewSymbol>);
  void add(Of<SetRules>);
  void add_trading(const char* name, std::vector<std::string> trading, const char* text);
  void add(Of<NewKey>);
  void add_own_key();
  void add(Of<RevokedKey>);
  void add(Of<AccountChange>);
  void add(Of<Adjustment>);
  void add(Of<NewRound>);
  void add(Of<NewDay>);
  // Adds a command whose first word is the account. Its help begins with `text`.
  CLI::App* command_of_account(const std::string& name, const std::string& words, const char* text,
                               std::function<Command()> make);
  void add_key_file(CLI::App* app, const char* text);
  // Adds an option, such as --tick P, for each attribute of an element that has a description; with
  // `numbers_only`, for numbers alone. Typed values go to rules_.
  template <class AnyCommand>
  void add_attributes(CLI::App* app, bool numbers_only = false) {
    for (const auto& attribute : attributes_of<AnyCommand>)
      if (!attribute.meaning.empty() && attribute.name != "ref" &&
          (!numbers_only || is_number(attribute.value.type)))
        add_attribute(app, std::string(attribute.name), attribute.value.type, attribute.value.words,
                      std::string(attribute.meaning));
  }
  void add_attribute(CLI::App* app, const std::string& name, ValueType type, AllowedWords words,
                     const std::string& meaning);

  // Whether --key-file of the command takes a key file.
  static bool takes_key_file(const CLI::App& app);
  // Returns " (did you mean 'buy'?)" if a command differs by one letter or two.
  std::string suggestion(const std::string& word) const;

  const Place place_;
  Settings& settings_;
  Synopses synopses_;
  CLI::App app_;
  std::string words_[3], reference_, key_file_, reason_, scenario_;
  bool all_ = false, cancel_orders_ = false;
  std::vector<Rule> rules_;
  std::vector<std::string> list_;
  std::optional<Command> command_;
};

}  // namespace exchange::cli
