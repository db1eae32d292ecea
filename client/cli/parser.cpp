#include "client/cli/parser.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>

#include "base/option_variables.hpp"
#include "base/version.hpp"
#include "client/cli/command_parser.hpp"
#include "client/cli/terminal.hpp"
#include "client/connection/option_checks.hpp"

namespace exchange::cli {
namespace {

using Place = CommandParser::Place;

class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat(Place place, const CommandParser::Synopses& synopses)
      : place_(place), synopses_(synopses) {
    column_width(columns);
  }
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string program = place_ == Place::shell ? "" : "exchange-cli ";
    return "Usage: " + program +
           (app->get_parent() == nullptr ? "[OPTIONS] [COMMAND …]" : synopses_.at(app)) + "\n";
  }
  // Only the type: the usage shows the words.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return option->get_positional() || type.empty()
               ? ""
               : " " + type.substr(0, type.find(':', type.find("HOST:PORT") == 0 ? 9 : 0));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
    if (!option->get_envname().empty()) text += " (or $" + option->get_envname() + ")";
    return text;
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    return padded("  " + synopses_.at(sub) + " ", columns) + sub->get_description() + "\n";
  }

 private:
  static constexpr std::size_t columns = 39;  // width of the first column
  const Place place_;
  const CommandParser::Synopses& synopses_;
};

// Returns the subcommand that these words name, or the app; stops at the first word that is not a
// subcommand.
CLI::App* find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t& used) {
  CLI::App* found = &app;
  for (used = 0; used < words.size(); ++used) {
    const auto named =
        found->get_subcommands([&](const CLI::App* sub) { return sub->check_name(words[used]); });
    if (named.empty()) break;
    found = named.front();
  }
  return found;
}

// Removes the account's key, because other users can read the words of a program.
void remove_key(std::vector<std::string>& words) {
  for (auto word = words.begin(); word != words.end();) {
    if (word->starts_with("--key="))
      word = words.erase(word);
    else if (*word == "--key")
      word = words.erase(word, std::next(word) == words.end() ? words.end() : word + 2);
    else
      ++word;
  }
}

// Returns the words for the program of the class commands, if they are for it: it knows the same
// settings.
std::optional<std::vector<std::string>> words_of_class(const CLI::App& app,
                                                       std::vector<std::string> words) {
  for (auto word = words.begin(); word != words.end();) {
    if (*word == "class") {
      words.erase(word);
      remove_key(words);
      return words;
    }
    if (!word->starts_with('-')) return {};
    const CLI::Option* const option = app.get_option_no_throw(*word);  // none of "--option=value"
    const bool has_next =
        option != nullptr && option->get_items_expected_min() > 0 && std::next(word) != words.end();
    word += has_next ? 2 : 1;
  }
  return {};
}

}  // namespace

CommandParser::CommandParser(Place place, Settings& settings) : place_(place), settings_(settings) {
  app_.name("exchange-cli");
  app_.description(
      "Trades on an exchange from a terminal. Without a command: a shell, or a script where "
      "commands are piped in.");
  app_.formatter(std::make_shared<HelpFormat>(place, synopses_));
  app_.set_help_flag("-h,--help", "this text");
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  add_settings();
  add_groups();
  if (place == Place::command_line) {
    app_.set_version_flag("--version", std::string("exchange-cli ") + version());
    app_.footer(  // also of the commands that are added below
        "Examples:\n"
        "  exchange-cli create account 1 100000\n"
        "  exchange-cli create symbol SPY 2=500\n"
        "  exchange-cli --account 1 buy SPY 100 145.67\n"
        "  exchange-cli watch SPY\n"
        "\n"
        "exchange-cli COMMAND --help shows more of one.\n"
        "Exit status: 0 fine, 1 the exchange refused, 2 usage, 3 the server cannot be reached, "
        "130 Ctrl-C.");
  }
  add_creations();
  add_rules_of_symbols();
  add_administration();
  add_trading();
  add_looks();
  add_shell();
}

std::string CommandParser::help_line(const CLI::App* sub) const {
  return HelpFormat(place_, synopses_).make_subcommand(sub);
}

std::string CommandParser::explain(const CLI::ParseError& error) const {
  const CLI::App* app = &app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  std::string text = name_variables(error.what(), variables_used(app_));
  const bool too_much = error.get_exit_code() == int(CLI::ExitCodes::ExtrasError);
  if (too_much && app == &app_ && !app_.remaining().empty()) {
    const std::string word = app_.remaining().front();
    text = word.starts_with('-') ? "there is no option '" + word + "'"
                                 : "there is no command '" + word + "'" + suggestion(word);
    return text + "; " + (place_ == Place::shell ? "'help' lists them" : "--help lists them");
  }
  if (too_much && app->get_option_no_throw("--key-file") !=
                      nullptr)  // the word may be the key: it is not shown
    text =
        "a word is too much; a key is not typed there, since other users of this machine could "
        "read it: it stands in a file, --key-file FILE";
  else if (too_much)
    text = "'" + app_.remaining(true).front() + "' is too much";
  const bool bad_value = error.get_exit_code() == int(CLI::ExitCodes::ValidationError);
  return app == &app_ || bad_value ? text : text + "\nusage: " + synopses_.at(app);
}

void CommandParser::add_settings() {
  CLI::Option* const account =
      app_.add_option("-a,--account", settings_.account, "account that trades")->type_name("ID");
  app_.add_flag("--xml", settings_.xml,
                "show the XML of requests (after '> ') and replies in place of sentences");
  app_.add_flag("--new-symbol", settings_.new_symbols,
                "a buy may create its symbol, for everyone; without it the unknown "
                "one is asked about on a terminal, and refused in a script");
  if (place_ == Place::shell) return;
  account->envname("EXCHANGE_ACCOUNT");
  const auto add_text = [this](const char* name, std::string& value, const char* variable,
                               const char* type, const char* text) {
    return app_.add_option(name, value, text)->envname(variable)->type_name(type);
  };
  add_text("--connect", settings_.connect, "EXCHANGE_CONNECT", "HOST:PORT",
           "XML port of the server, or of several with a comma between: the active one is used")
      ->check(client::are_addresses())
      ->capture_default_str();
  add_text("--http", settings_.http, "EXCHANGE_HTTP", "HOST:PORT",
           "its HTTP port (default: port 8080 of that host)")
      ->check(client::are_addresses());
  app_.add_flag("--retry", settings_.retry,
                "give each order a reference, and send it again for up to --timeout while the "
                "server does not answer")
      ->envname("EXCHANGE_RETRY");
  add_text("--key", settings_.key, "EXCHANGE_KEY", "KEY",
           "the account's key, where the exchange requires keys; '-' asks for it");
  add_text("--operator-key-file", settings_.operator_key_file, "EXCHANGE_OPERATOR_KEY_FILE", "FILE",
           "the operator's key, which such an exchange requires for 'create', 'admin' and the "
           "commands of symbols; '-' asks for it. Without it they are sent with --account and "
           "--key, where both are given, of an account that may be an operator");
  app_.add_flag("--tls", settings_.security.tls, "speak TLS, and check the server's certificate")
      ->envname("EXCHANGE_TLS");
  auto* const ca =
      add_text("--tls-ca", settings_.security.ca, "EXCHANGE_TLS_CA", "FILE",
               "the same against these authorities (PEM); its own, where it signed itself");
  ca->check(CLI::ExistingFile);
  app_.add_flag("--tls-insecure", settings_.security.insecure,
                "speak TLS without checking the certificate: a server in between can read "
                "everything")
      ->excludes(ca);
  app_.add_option("--timeout", settings_.timeout_s, "seconds to wait for a reply")
      ->check(client::is_from(0.1, 86'400.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  app_.add_flag("--keep-going", settings_.keep_going, "scripts: go on after a command that failed");
}

std::string CommandParser::suggestion(const std::string& word) const {
  std::string best;
  std::size_t least = 3;
  for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t distance = edit_distance(word, sub->get_name());
    if (distance < least && distance < sub->get_name().size() - 1) {
      least = distance;
      best = sub->get_name();
    }
  }
  return best.empty() ? "" : " (did you mean '" + best + "'?)";
}

std::string Settings::http_address() const {
  if (!http.empty()) return http;
  std::string list;
  for (const std::string& server : client::split_addresses(connect))
    list += (list.empty() ? "" : ",") +
            (server.starts_with(client::unix_scheme) ? "localhost"
                                                     : server.substr(0, server.rfind(':'))) +
            ":8080";
  return list;
}

bool Settings::knows_http() const {
  if (!http.empty()) return true;
  for (const std::string& server : client::split_addresses(connect))
    if (!server.ends_with(":12345")) return false;
  return true;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CommandParser parser(Place::command_line, line.settings);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  line.class_words = words_of_class(parser.app(), words);
  if (line.class_words) return line;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them in reverse order
    ignore_service_links(parser.app());
    parser.app().parse(words);
    line.command = parser.parsed();
    client::Security& security = line.settings.security;
    security.tls |= security.insecure || !security.ca.empty();
  } catch (const CLI::Success& shown) {  // --help, --version
    std::ostringstream text;
    parser.app().exit(shown, text, text);
    std::fputs(wrapped(text.str(), text_columns()).c_str(), stdout);
    line.exit_code = exit_ok;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "exchange-cli: %s\n", parser.explain(error).c_str());
    line.exit_code = exit_usage;
  }
  return line;
}

std::optional<Line> parse_line(const std::string& text, const Settings& settings) {
  std::vector<std::string> words = split_words(text);
  if (words.empty()) return {};
  Line line{settings, {}};
  CommandParser parser(Place::shell, line.settings);
  try {
    std::reverse(words.begin(), words.end());
    parser.app().parse(words);
  } catch (const CLI::CallForHelp&) {
    std::vector<std::string> command;
    for (const CLI::App* app = &parser.app(); !app->get_subcommands().empty();
         command.push_back(app->get_name()))
      app = app->get_subcommands().front();
    line.command = Help{command};
    return line;
  } catch (const CLI::ParseError& error) {
    throw UsageError(parser.explain(error));
  }
  if (!parser.parsed()) throw UsageError("a command is missing; 'help' lists them");
  line.command = std::move(*parser.parsed());
  return line;
}

std::string help_text(const std::vector<std::string>& command) {
  Settings settings;
  CommandParser parser(Place::shell, settings);
  std::size_t used = 0;
  const CLI::App* const app = find_command(parser.app(), command, used);
  if (used < command.size())
    throw UsageError("there is no command '" + command[used] + "'; 'help' lists them");
  if (app != &parser.app()) return app->help();
  std::string text;
  for (const char* group : {"Operate", "Trade", "Look", "Shell"}) {
    text += std::string(text.empty() ? "" : "\n") + group + "\n";
    for (const CLI::App* sub : parser.app().get_subcommands(
             [&](const CLI::App* one) { return one->get_group() == group; }))
      text += parser.help_line(sub);
  }
  return text + "\nAny of them takes --account ID for once. 'help COMMAND' shows more of one.\n";
}

std::string argument_after(const std::vector<std::string>& words) {
  Settings settings;
  CommandParser parser(Place::shell, settings);
  std::size_t used = 0;
  const CLI::App* const app = find_command(parser.app(), words, used);
  std::size_t given = words.size() - used;
  for (const CLI::Option* option :
       app->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    const auto most = std::size_t(option->get_items_expected_max());
    if (given < most) return option->get_single_name();
    given -= most;
  }
  return {};
}

std::vector<std::string> words_after(const std::vector<std::string>& words,
                                     const std::string& prefix) {
  Settings settings;
  CommandParser parser(Place::shell, settings);
  const bool help = !words.empty() && words.front() == "help";
  const std::vector<std::string> command(words.begin() + (help ? 1 : 0), words.end());
  std::size_t used = 0;
  const CLI::App* const app = find_command(parser.app(), command, used);
  std::set<std::string> candidates;
  if (prefix.starts_with('-')) {
    for (const CLI::App* one = app; one != nullptr && !help; one = one->get_parent())
      for (const CLI::Option* option : one->get_options())
        for (const std::string& name : option->get_lnames()) candidates.insert("--" + name);
  } else if (used == command.size()) {
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; }))
      candidates.insert(sub->get_name());
    if (!help && app->get_name() == "xml") candidates = {"on", "off"};
  }
  std::erase_if(candidates,
                [&](const std::string& candidate) { return !candidate.starts_with(prefix); });
  return {candidates.begin(), candidates.end()};
}

}  // namespace exchange::cli
