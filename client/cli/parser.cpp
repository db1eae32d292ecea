#include "client/cli/parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>

#include "base/version.hpp"
#include "client/cli/words.hpp"
#include "client/connection/command_line.hpp"

namespace exchange::cli {
namespace {

enum class Place { command_line, shell };

// How a command is written, by its name.
const std::vector<std::pair<std::string, std::string>> synopses{
    {"create", "create account|symbol …"},
    {"create account", "create account ID BALANCE"},
    {"create symbol", "create symbol SYM [ACCOUNT=SHARES …]"},
    {"buy", "buy SYM SHARES PRICE"},
    {"sell", "sell SYM SHARES PRICE"},
    {"cancel", "cancel ORDER …"},
    {"status", "status [ORDER …]"},
    {"book", "book SYM"},
    {"trades", "trades SYM"},
    {"symbols", "symbols"},
    {"watch", "watch SYM …"},
    {"shell", "shell"},
    {"account", "account [ID]"},
    {"xml", "xml on|off"},
    {"help", "help [COMMAND]"},
    {"quit", "quit"},
};

std::string name_of(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent != nullptr && parent->get_parent() != nullptr
             ? parent->get_name() + " " + app->get_name()
             : app->get_name();
}

std::string synopsis_of(const std::string& name) {
  const auto found = std::find_if(synopses.begin(), synopses.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == synopses.end() ? name : found->second;
}

class HelpFormat : public CLI::Formatter {
 public:
  explicit HelpFormat(Place place) : place_(place) { column_width(39); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string program = place_ == Place::shell ? "" : "exchange-cli ";
    return "Usage: " + program +
           (app->get_parent() == nullptr ? "[OPTIONS] [COMMAND …]" : synopsis_of(name_of(app))) +
           "\n";
  }
  // The type alone: the usage shows the words.
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
    std::string text = "  " + synopsis_of(name_of(sub));
    text.resize(
        std::max(text.size() + 1,
                 std::size_t(39 + std::count_if(text.begin(), text.end(),
                                                [](char c) { return (c & 0xC0) == 0x80; }))),
        ' ');
    return text + sub->get_description() + "\n";
  }

 private:
  const Place place_;
};

// SHARES PRICE, SHARES@PRICE or SHARES @ PRICE.
std::pair<std::string, std::string> shares_and_limit(const std::vector<std::string>& words) {
  const std::string text = std::accumulate(words.begin(), words.end(), std::string(),
                                           [](const std::string& all, const std::string& word) {
                                             return all.empty() ? word : all + " " + word;
                                           });
  std::size_t at = text.find('@');
  const bool sign = at != std::string::npos;
  if (!sign) at = text.find(' ');
  if (at == std::string::npos) throw CLI::RequiredError("a price");
  const auto trimmed = [](std::string part) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    return part;
  };
  std::pair<std::string, std::string> parts{trimmed(text.substr(0, at)),
                                            trimmed(text.substr(at + 1))};
  if (parts.first.empty() || parts.second.empty() ||
      parts.second.find_first_of(" @") != std::string::npos)
    throw CLI::ValidationError("'" + text + "' is not SHARES PRICE");
  return parts;
}

NewSymbol::Holding holding(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw CLI::ValidationError("'" + text + "' is not ACCOUNT=SHARES");
  return {text.substr(0, sign), text.substr(sign + 1)};
}

// Knows all commands; parses words into one, once.
class Parser {
 public:
  Parser(Place place, Settings& settings) : place_(place), settings_(settings) {
    app_.name("exchange-cli");
    app_.description(
        "Trades on an exchange from a terminal. Without a command: a shell, or a script where commands are piped in.");
    app_.formatter(std::make_shared<HelpFormat>(place));
    app_.set_help_flag("-h,--help", "this text");
    if (place == Place::command_line)
      app_.set_version_flag("--version", std::string("exchange-cli ") + version());
    app_.fallthrough();
    app_.require_subcommand(0, 1);
    add_settings();
    add_trading();
    add_looking();
    if (place == Place::command_line) {
      add_command(app_, "shell", "read commands: with history and completion, Tab", "Other",
                  [this] { command_ = StartShell(); });
      app_.footer(
          "Examples:\n"
          "  exchange-cli create account 1 100000\n"
          "  exchange-cli create symbol SPY 2=500\n"
          "  exchange-cli --account 1 buy SPY 100 145.67\n"
          "  exchange-cli watch SPY\n"
          "\n"
          "exchange-cli COMMAND --help shows more of one.\n"
          "Exit status: 0 fine, 1 the exchange refused, 2 usage, 3 the server cannot be reached, 130 Ctrl-C.");
    } else {
      add_shell();
    }
  }

  CLI::App& app() { return app_; }
  std::optional<Command>& command() { return command_; }

  // The error in words; with the usage where a command was recognized.
  std::string explain(const CLI::ParseError& error) const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    std::string text = error.what();
    const bool too_much = error.get_exit_code() == int(CLI::ExitCodes::ExtrasError);
    if (too_much && app == &app_ && !app_.remaining().empty()) {
      const std::string word = app_.remaining().front();
      text = word.starts_with('-') ? "there is no option '" + word + "'"
                                   : "there is no command '" + word + "'" + suggestion(word);
      return text + "; " + (place_ == Place::shell ? "'help' lists them" : "--help lists them");
    }
    if (too_much) text = "'" + app_.remaining(true).front() + "' is too much";
    const bool bad_value = error.get_exit_code() == int(CLI::ExitCodes::ValidationError);
    return app == &app_ || bad_value ? text : text + "\nusage: " + synopsis_of(name_of(app));
  }

 private:
  void add_settings() {
    const auto number_of_seconds = CLI::Range(0.1, 86'400.0);
    CLI::Option* const account =
        app_.add_option("-a,--account", settings_.account, "account that trades")->type_name("ID");
    app_.add_flag("--xml", settings_.xml,
                  "show the XML of requests (after '> ') and replies in place of sentences");
    if (place_ == Place::shell) return;
    account->envname("EXCHANGE_ACCOUNT");
    app_.add_option("--connect", settings_.connect, "XML port of the server")
        ->envname("EXCHANGE_CONNECT")
        ->check(client::is_address())
        ->type_name("HOST:PORT")
        ->capture_default_str();
    app_.add_option("--http", settings_.http, "its HTTP port (default: port 8080 of that host)")
        ->envname("EXCHANGE_HTTP")
        ->check(client::is_address())
        ->type_name("HOST:PORT");
    app_.add_option("--key", settings_.key,
                    "the account's key, where the exchange requires keys; '-' asks for it")
        ->envname("EXCHANGE_KEY")
        ->type_name("KEY");
    app_.add_flag("--tls", settings_.security.tls, "speak TLS, and check the server's certificate")
        ->envname("EXCHANGE_TLS");
    auto* const ca =
        app_.add_option("--tls-ca", settings_.security.ca,
                        "the same against these authorities (PEM); its own, where it signed itself")
            ->envname("EXCHANGE_TLS_CA")
            ->check(CLI::ExistingFile)
            ->type_name("FILE");
    app_.add_flag(
            "--tls-insecure", settings_.security.insecure,
            "speak TLS without checking the certificate: a server in between can read everything")
        ->excludes(ca);
    app_.add_option("--timeout", settings_.timeout_s, "seconds to wait for a reply")
        ->check(number_of_seconds)
        ->type_name("SECONDS")
        ->capture_default_str();
    app_.add_flag("--keep-going", settings_.keep_going,
                  "scripts: go on after a command that failed");
  }

  // A command without commands of its own.
  CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                        const std::string& group, std::function<void()> done) {
    CLI::App* const app = parent.add_subcommand(name, description);
    app->group(group)->callback(std::move(done));
    return app;
  }

  void add_trading() {
    CLI::App* const create = app_.add_subcommand("create", "a new account or symbol")
                                 ->group("Trade")
                                 ->require_subcommand(1);
    CLI::App* const account =
        add_command(*create, "account", "an account with money", "Create", [this] {
          command_ = NewAccount{words_[0], words_[1]};
        });
    add_word(account, "ID", "1 to 64 digits", 0);
    add_word(account, "BALANCE", "money that it starts with", 1);
    CLI::App* const symbol =
        add_command(*create, "symbol", "a symbol, or more shares of it", "Create", [this] {
          NewSymbol created{words_[0], {}};
          for (const std::string& text : list_) created.holdings.push_back(holding(text));
          command_ = std::move(created);
        });
    add_symbol(symbol);
    symbol->add_option("ACCOUNT=SHARES", list_, "shares that accounts get");

    for (const Side side : {Side::buy, Side::sell}) {
      const bool buy = side == Side::buy;
      CLI::App* const order = add_command(
          app_, buy ? "buy" : "sell",
          buy ? "an order to buy, at PRICE or lower" : "an order to sell, at PRICE or higher",
          "Trade", [this, side] {
            auto [shares, limit] = shares_and_limit(list_);
            command_ = NewOrder{side, words_[0], std::move(shares), std::move(limit)};
          });
      add_symbol(order);
      order->add_option("SHARES PRICE", list_, "also as SHARES@PRICE")->required()->expected(1, 3);
    }

    CLI::App* const cancel = add_command(app_, "cancel", "take back what is open of orders",
                                         "Trade", [this] { command_ = CancelOrders{list_}; });
    cancel->add_option("ORDER", list_, "ids of orders")->required();
  }

  void add_looking() {
    CLI::App* const status =
        add_command(app_, "status", "the account, or orders of it", "Look", [this] {
          if (list_.empty())
            command_ = ShowAccount();
          else
            command_ = ShowOrders{list_};
        });
    status->add_option("ORDER", list_,
                       "ids of orders; without: balance, positions and open orders");

    CLI::App* const book = add_command(app_, "book", "open orders by price", "Look", [this] {
      command_ = ShowBook{words_[0], book_.levels};
    });
    add_symbol(book);
    book->add_option("--levels", book_.levels, "prices of each side")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();

    CLI::App* const trades =
        add_command(app_, "trades", "the latest trades, newest first", "Look", [this] {
          command_ = ShowTrades{words_[0], trades_.count};
        });
    add_symbol(trades);
    trades->add_option("-n,--count", trades_.count, "so many")
        ->check(CLI::Range(1, 500))
        ->capture_default_str();

    add_command(app_, "symbols", "all symbols with their best prices", "Look",
                [this] { command_ = ShowSymbols(); });

    CLI::App* const watch = add_command(
        app_, "watch", "book and trades as they happen, until Ctrl-C, or q on a terminal", "Look",
        [this] {
          command_ = Watch{list_, watch_.count};
        });
    watch->add_option("SYM", list_, "symbols")->required();
    watch->add_option("-n,--count", watch_.count, "end after so many updates (default: never)")
        ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1) << 62));
  }

  void add_shell() {
    CLI::App* const account = add_command(
        app_, "account", "trade as another account", "Shell",
        [this] { command_ = list_.empty() ? UseAccount() : UseAccount{list_.front()}; });
    account->add_option("ID", list_, "without: show which it is")->expected(1);
    CLI::App* const xml = add_command(app_, "xml", "show XML in place of sentences, or not",
                                      "Shell", [this] { command_ = ShowXml{words_[0] == "on"}; });
    xml->add_option("on|off", words_[0], "")->required()->check(CLI::IsMember({"on", "off"}));
    CLI::App* const help = add_command(app_, "help", "all commands, or more of one", "Shell",
                                       [this] { command_ = Help{list_}; });
    help->add_option("COMMAND", list_, "");
    add_command(app_, "quit", "leave; so does Ctrl-D", "Shell", [this] {
      command_ = Quit();
    })->alias("exit");
  }

  void add_symbol(CLI::App* app) { add_word(app, "SYM", "symbol", 0); }
  void add_word(CLI::App* app, const std::string& name, const std::string& text,
                std::size_t index) {
    app->add_option(name, words_[index], text)->required();
  }

  // " (did you mean 'buy'?)" where one letter or two make a command of it.
  std::string suggestion(const std::string& word) const {
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

  const Place place_;
  Settings& settings_;
  CLI::App app_;
  std::string words_[2];
  std::vector<std::string> list_;
  ShowBook book_;
  ShowTrades trades_;
  Watch watch_;
  std::optional<Command> command_;
};

// The subcommand that these words name, or the app; stops at the first word that names none.
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

}  // namespace

std::string Settings::http_address() const {
  return http.empty() ? connect.substr(0, connect.rfind(':')) + ":8080" : http;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  Parser parser(Place::command_line, line.settings);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them in this order
    parser.app().parse(words);
    line.command = parser.command();
    client::Security& security = line.settings.security;
    security.tls |= security.insecure || !security.ca.empty();
  } catch (const CLI::Success& shown) {  // --help, --version
    parser.app().exit(shown);
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
  Parser parser(Place::shell, line.settings);
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
  if (!parser.command()) throw UsageError("a command is missing; 'help' lists them");
  line.command = std::move(*parser.command());
  return line;
}

std::string help_text(const std::vector<std::string>& command) {
  Settings settings;
  Parser parser(Place::shell, settings);
  std::size_t used = 0;
  const CLI::App* const app = find_command(parser.app(), command, used);
  if (used < command.size())
    throw UsageError("there is no command '" + command[used] + "'; 'help' lists them");
  if (app != &parser.app()) return app->help();
  std::string text;
  for (const char* group : {"Trade", "Look", "Shell"}) {
    text += std::string(text.empty() ? "" : "\n") + group + "\n";
    for (const CLI::App* sub : parser.app().get_subcommands(
             [&](const CLI::App* one) { return one->get_group() == group; }))
      text += HelpFormat(Place::shell).make_subcommand(sub);
  }
  return text + "\nAny of them takes --account ID for once. 'help COMMAND' shows more of one.\n";
}

std::vector<std::string> words_after(const std::vector<std::string>& words,
                                     const std::string& prefix) {
  Settings settings;
  Parser parser(Place::shell, settings);
  const bool help = !words.empty() && words.front() == "help";
  const std::vector<std::string> command(words.begin() + (help ? 1 : 0), words.end());
  std::size_t used = 0;
  const CLI::App* const app = find_command(parser.app(), command, used);
  std::vector<std::string> candidates;
  if (prefix.starts_with('-')) {
    for (const CLI::App* one = app; one != nullptr && !help; one = one->get_parent())
      for (const CLI::Option* option : one->get_options())
        for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
  } else if (used == command.size()) {
    for (const CLI::App* sub : app->get_subcommands([](const CLI::App*) { return true; }))
      candidates.push_back(sub->get_name());
    if (!help && app->get_name() == "xml") candidates = {"on", "off"};
  }
  std::erase_if(candidates,
                [&](const std::string& candidate) { return !candidate.starts_with(prefix); });
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  return candidates;
}

}  // namespace exchange::cli
