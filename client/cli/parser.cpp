#include "client/cli/parser.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>

#include "base/option_variables.hpp"
#include "base/version.hpp"
#include "client/cli/command_parser.hpp"
#include "client/cli/console.hpp"
#include "client/cli/text.hpp"
#include "client/connection/option_checks.hpp"
#include "engine/decimal.hpp"

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

// Parses SHARES PRICE, SHARES@PRICE or SHARES @ PRICE. `limit_name`: the name of PRICE in messages.
std::pair<std::string, std::string> shares_and_limit(const std::vector<std::string>& words,
                                                     const char* limit_name) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  if (text.find_first_of("@ ") == std::string::npos) throw CLI::RequiredError(limit_name);
  std::string parts = text;
  if (const std::size_t sign = parts.find('@'); sign != std::string::npos) parts[sign] = ' ';
  std::istringstream in(parts);
  std::string shares, limit, more;
  if (!(in >> shares >> limit) || in >> more)
    throw CLI::ValidationError("'" + text + "' is not SHARES PRICE");
  if (CLI::detail::to_lower(limit) == market_price) limit = market_price;
  return {shares, limit};
}

// Detects words in the wrong order, such as 10 SPY 500.
void check_order_of_words(const char* side, const std::string& symbol, const std::string& shares,
                          const std::string& limit) {
  const auto is_number = [](const std::string& text) { return bool(parse_shares(text)); };
  std::string meant;
  if (is_number(symbol) && !is_number(shares) && parse_symbol_name(shares))
    meant = shares + " " + symbol + " " + limit;
  else if (shares == market_price && is_number(limit))
    meant = symbol + " " + limit + " " + market_price;
  if (!meant.empty())
    throw CLI::ValidationError("the words are SYM SHARES PRICE: did you mean '" +
                               std::string(side) + " " + meant + "'?");
}

// Parses ORDER …, all, or all SYM.
Command cancel_of(const std::vector<std::string>& words) {
  if (words.front() != "all") return CancelOrders{words};
  if (words.size() > 2) throw CLI::ArgumentMismatch("'" + words[2] + "' is too much");
  return words.size() == 2 ? CancelAllOrders{words[1]} : CancelAllOrders{};
}

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

class AllCommands : public CommandParser {
 public:
  AllCommands(Place place, Settings& settings) : CommandParser(place, settings) {
    boost::mp11::mp_for_each<boost::mp11::mp_transform<Of, Command>>(
        [this](auto kind) { add(kind); });
    add_own_key();
  }

 private:
  using CommandParser::add;
  void add(Of<NewOrder>);
  void add_order(Side side, const char* name, const char* text);
  void add_shares_and_price(CLI::App* app, const std::string& text);
  void add(Of<Replacement>);
  void add(Of<CancelOrders>);
  void add(Of<CancelAllOrders>) {}  // cancel all
  void add(Of<ShowOrders>);
  void add(Of<ShowAccount>) {}  // status
  void add(Of<ShowOpenOrders>);
  void add(Of<ShowHistory>);
  void add(Of<ShowBook>);
  void add(Of<ShowTrades>);
  void add(Of<ShowSymbols>);
  void add(Of<ShowLeaderboard>);
  void add(Of<Watch>);
  void add(Of<WatchAccount>) {}  // watch account
  void add(Of<StartShell>);
  void add(Of<UseAccount>);
  void add(Of<ShowXml>);
  void add(Of<Help>);
  void add(Of<Quit>);

  ShowBook book_;
  ShowHistory history_;
  ShowTrades trades_;
  ShowLeaderboard leaderboard_;
  Watch watch_;
  WatchAccount watch_account_;
};

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
  command("create", "account|symbol …", "Operate", "a new account or symbol", {})
      ->require_subcommand(1);
  command("admin", "COMMAND …", "Operate", "keys, roles, limits, cash and shares of accounts; days",
          {})
      ->require_subcommand(1);
  command("class", "COMMAND …", "Operate", "a class of students and bots",
          []() -> Command {
            throw UsageError("'class' is not a command of the shell: type exchange-cli class …");
          })
      ->fallthrough(false)
      ->allow_extras();
  if (place == Place::shell) return;
  app_.set_version_flag("--version", std::string("exchange-cli ") + version());
  app_.footer(
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
  if (too_much && takes_key_file(*app))  // the word may be the key: it is not shown
    text =
        "a word is too much; a key is not typed there, since other users of this machine could "
        "read it: it stands in a file, --key-file FILE";
  else if (too_much)
    text = "'" + app_.remaining(true).front() + "' is too much";
  const bool bad_value = error.get_exit_code() == int(CLI::ExitCodes::ValidationError);
  return app == &app_ || bad_value ? text : text + "\nusage: " + synopses_.at(app);
}

bool CommandParser::takes_key_file(const CLI::App& app) {
  return app.get_option_no_throw("--key-file") != nullptr;
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

CLI::App* CommandParser::command(const std::string& name, const std::string& words,
                                 const char* group, const char* text,
                                 std::function<Command()> make) {
  const std::size_t blank = name.find(' ');
  CLI::App* const parent =
      blank == std::string::npos ? &app_ : app_.get_subcommand(name.substr(0, blank));
  CLI::App* const app = parent->add_subcommand(name.substr(blank + 1), text)->group(group);
  if (make) app->callback([this, make] { command_ = make(); });
  synopses_[app] = name + (words.empty() ? "" : " ") + words;
  return app;
}

CLI::App* CommandParser::command_of_symbol(const std::string& name, const std::string& words,
                                           const char* group, const char* text,
                                           std::function<Command()> make) {
  CLI::App* const app = command(name, words, group, text, std::move(make));
  app->add_option("SYM", words_[0], "symbol")->required();
  return app;
}

void AllCommands::add_shares_and_price(CLI::App* app, const std::string& text) {
  app->add_option("SHARES PRICE", list_, "also as SHARES@PRICE; " + text)
      ->required()
      ->expected(1, 3);
}

void CommandParser::add_attribute(CLI::App* app, const std::string& name, ValueType type,
                                  AllowedWords words, const std::string& meaning) {
  if (type == ValueType::truth) {
    app->add_flag_callback(
        "--" + name,
        [this, name] {
          rules_.push_back({name, "true"});
        },
        meaning);
    return;
  }
  CLI::Option* const option = app->add_option_function<std::string>(
      "--" + name,
      [this, name](const std::string& value) {
        rules_.push_back({name, value});
      },
      meaning);
  const std::vector<std::string> known(words.begin(), words.end());
  if (known.empty())
    option->type_name(type == ValueType::price ? "P" : "N");
  else
    option->check(CLI::IsMember(known))->type_name(CLI::detail::join(known, "|"));
}

void AllCommands::add(Of<NewOrder>) {
  add_order(Side::buy, "buy", "an order to buy, at PRICE or lower");
  add_order(Side::sell, "sell", "an order to sell, at PRICE or higher");
}

void AllCommands::add_order(Side side, const char* name, const char* text) {
  CLI::App* const app =
      command_of_symbol(name, "SYM SHARES PRICE|market", "Trade", text, [this, side, name] {
        auto [shares, limit] = shares_and_limit(list_, "a price, or 'market',");
        check_order_of_words(name, words_[0], shares, limit);
        return NewOrder{side, words_[0], std::move(shares), std::move(limit), reference_, rules_};
      });
  app->add_option("--ref", reference_,
                  "your name for the order: if it is sent again, it is executed once")
      ->type_name("REF");
  add_attributes<PlaceOrder>(app);
  add_shares_and_price(app, "market: at the best prices there are, at once");
}

void AllCommands::add(Of<Replacement>) {
  CLI::App* const app = command(
      "replace", "ORDER buy|sell SHARES PRICE", "Trade",
      "another amount and limit for an open order", [this] {
        if (words_[1] != "buy" && words_[1] != "sell")
          throw CLI::ArgumentMismatch("'" + words_[1] + "' is neither 'buy' nor 'sell'");
        auto [shares, limit] = shares_and_limit(list_, "a price");
        return Replacement{words_[0], words_[1] == "buy" ? Side::buy : Side::sell, shares, limit};
      });
  app->add_option("ORDER", words_[0], "id of the order, or ref:REF")->required();
  app->add_option("buy|sell", words_[1], "the side that it has")->required();
  add_shares_and_price(app, "SHARES: the whole amount, with what was executed before");
}

void AllCommands::add(Of<CancelOrders>) {
  command("cancel", "ORDER …|all [SYM]", "Trade", "take back what is open of orders",
          [this] { return cancel_of(list_); })
      ->add_option("ORDER", list_, "ids of orders, or ref:REF; all: all open ones, or those of SYM")
      ->required();
}

void AllCommands::add(Of<ShowOrders>) {
  command("status", "[ORDER …]", "Look", "the account, or orders of it",
          [this] { return list_.empty() ? Command(ShowAccount()) : ShowOrders{list_}; })
      ->add_option("ORDER", list_,
                   "ids of orders, or ref:REF; without: balance, positions and open orders");
}

void AllCommands::add(Of<ShowOpenOrders>) {
  command("orders", "", "Look", "the open orders of the account", [] { return ShowOpenOrders(); });
}

void AllCommands::add(Of<ShowHistory>) {
  CLI::App* const app = command("history", "[ORDER …]", "Look",
                                "what was executed of the account's orders, newest first", [this] {
                                  return ShowHistory{list_, history_.count};
                                });
  app->add_option("ORDER", list_,
                  "ids of orders, or ref:REF; without: executions of all orders there ever were");
  app->add_option("-n,--count", history_.count, "number of executions to list, without ORDER")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}

void AllCommands::add(Of<ShowBook>) {
  command_of_symbol("book", "SYM", "Look", "open orders by price",
                    [this] {
                      return ShowBook{words_[0], book_.levels};
                    })
      ->add_option("--levels", book_.levels, "prices of each side")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void AllCommands::add(Of<ShowTrades>) {
  command_of_symbol("trades", "SYM", "Look", "the latest trades, newest first",
                    [this] {
                      return ShowTrades{words_[0], trades_.count};
                    })
      ->add_option("-n,--count", trades_.count, "number of trades")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
}

void AllCommands::add(Of<ShowSymbols>) {
  command("symbols", "", "Look", "all symbols with their best prices",
          [] { return ShowSymbols(); });
}

void AllCommands::add(Of<ShowLeaderboard>) {
  CLI::App* const app = command("leaderboard", "[--round N] [--limit N] [--ids]", "Look",
                                "what accounts gained by trading", [this] { return leaderboard_; });
  app->add_option("--round", leaderboard_.round, "in this round alone")->check(CLI::PositiveNumber);
  app->add_option("--limit", leaderboard_.count, "number of accounts")
      ->check(CLI::Range(1, 10'000));
  app->add_flag("--ids", leaderboard_.ids,
                "also the ids of accounts that have a name; the operator's");
}

void AllCommands::add(Of<Watch>) {
  CLI::App* const app =
      command("watch", "SYM …|account", "Look",
              "book and trades, or events of the account, as they happen, until Ctrl-C, or q on a "
              "terminal",
              [this]() -> Command {
                if (list_ != std::vector<std::string>{"account"}) return Watch{list_, watch_.count};
                return WatchAccount{watch_account_.from, watch_account_.json, watch_.count};
              });
  app->add_option("SYM", list_, "symbols; or account: what happens to the account")->required();
  const CLI::Range numbers(std::uint64_t(1), std::uint64_t(1) << 62);
  app->add_option("-n,--count", watch_.count,
                  "end after this number of updates or events (default: never)")
      ->check(numbers);
  app->add_option("--from", watch_account_.from,
                  "account: the number of the first event (default: those to come)")
      ->check(numbers);
  app->add_flag("--json", watch_account_.json, "account: messages as they come");
}

void AllCommands::add(Of<StartShell>) {
  if (place_ == Place::command_line)
    command("shell", "", "Other", "read commands: with history and completion, Tab",
            [] { return StartShell(); });
}

void AllCommands::add(Of<UseAccount>) {
  if (place_ == Place::shell)
    command("account", "[ID]", "Shell", "trade as another account",
            [this] { return list_.empty() ? UseAccount() : UseAccount{list_.front()}; })
        ->add_option("ID", list_, "without: show which it is")
        ->expected(1);
}

void AllCommands::add(Of<ShowXml>) {
  if (place_ == Place::shell)
    command("xml", "on|off", "Shell", "show XML in place of sentences, or not",
            [this] { return ShowXml{words_[0] == "on"}; })
        ->add_option("on|off", words_[0], "")
        ->required()
        ->check(CLI::IsMember({"on", "off"}));
}

void AllCommands::add(Of<Help>) {
  if (place_ == Place::shell)
    command("help", "[COMMAND]", "Shell", "all commands, or more of one", [this] {
      return Help{list_};
    })->add_option("COMMAND", list_, "");
}

void AllCommands::add(Of<Quit>) {
  if (place_ == Place::shell)
    command("quit", "", "Shell", "leave; so does Ctrl-D", [] { return Quit(); })->alias("exit");
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
    list += (list.empty() ? "" : ",") + server.substr(0, server.rfind(':')) + ":8080";
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
  AllCommands parser(Place::command_line, line.settings);
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
  AllCommands parser(Place::shell, line.settings);
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
  AllCommands parser(Place::shell, settings);
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
  AllCommands parser(Place::shell, settings);
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
  AllCommands parser(Place::shell, settings);
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
