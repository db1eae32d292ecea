// The words of each command, in the order of the help.

#include <sstream>

#include "client/cli/command_parser.hpp"
#include "engine/decimal.hpp"
#include "protocol/description.hpp"

namespace exchange::cli {
namespace {

constexpr const char* of_new_key =
    "file of the new key, one line; '-' asks for it. Without a file a key is made, and shown once";

// The option takes one of these words.
void take_words(CLI::Option* option, AllowedWords words) {
  const std::vector<std::string> known(words.begin(), words.end());
  option->check(CLI::IsMember(known))->type_name(CLI::detail::join(known, "|"));
}

void add_attribute(CLI::App* app, std::vector<Typed>& typed, const std::string& name,
                   ValueType type, AllowedWords words, const std::string& meaning) {
  const auto add = [&typed, name](const std::string& value) { typed.push_back({name, value}); };
  if (type == ValueType::truth) {
    app->add_flag_callback(
        "--" + name, [add] { add("true"); }, meaning);
    return;
  }
  CLI::Option* const option = app->add_option_function<std::string>("--" + name, add, meaning);
  if (words.empty())
    option->type_name(type == ValueType::price ? "P" : "N");
  else
    take_words(option, words);
}

// Adds an option, such as --tick P, for each attribute of an element that has a description; with
// `numbers_only`, for numbers alone. Values go to `typed`.
template <class AnyCommand>
void add_attributes(CLI::App* app, std::vector<Typed>& typed, bool numbers_only = false) {
  for (const auto& attribute : attributes_of<AnyCommand>) {
    const ValueType type = attribute.value.type;
    if (!attribute.meaning.empty() && attribute.name != "ref" &&
        (!numbers_only || is_decimal(type) || is_count(type)))
      add_attribute(app, typed, std::string(attribute.name), type, attribute.value.words,
                    std::string(attribute.meaning));
  }
}

NewSymbol::Holding holding(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw CLI::ValidationError("'" + text + "' is not ACCOUNT=SHARES");
  return {text.substr(0, sign), text.substr(sign + 1)};
}

// Parses SHARES PRICE, SHARES@PRICE or SHARES @ PRICE. `limit_name`: the name of PRICE in messages.
std::pair<std::string, std::string> shares_and_limit(const std::vector<std::string>& words,
                                                     const char* limit_name) {
  const std::string text = CLI::detail::join(words, " ");
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
  if (words.front() != "all") return NamedOrders{true, words};
  if (words.size() > 2) throw CLI::ArgumentMismatch("'" + words[2] + "' is too much");
  return words.size() == 2 ? CancelAllOrders{words[1]} : CancelAllOrders{};
}

}  // namespace

CLI::App* CommandParser::command(const std::string& name, const std::string& synopsis,
                                 const char* group, const char* text,
                                 const std::vector<Word>& words, std::function<Command()> make) {
  const std::size_t blank = name.find(' ');
  CLI::App* const parent =
      blank == std::string::npos ? &app_ : app_.get_subcommand(name.substr(0, blank));
  CLI::App* const app = parent->add_subcommand(name.substr(blank + 1), text)->group(group);
  for (std::size_t i = 0; i < words.size(); ++i)
    app->add_option(words[i].name, words_[i], words[i].text)->required();
  if (make) app->callback([this, make] { command_ = make(); });
  synopses_[app] = name + (synopsis.empty() ? "" : " ") + synopsis;
  return app;
}

CLI::App* CommandParser::command_of_symbols(const std::string& name, const std::string& synopsis,
                                            const char* text,
                                            std::function<std::vector<std::vector<Typed>>()> make) {
  CLI::App* const app = command(name, synopsis, "Operate", text, {}, [this, make]() -> Command {
    if (all_ != words_[0].empty()) throw CLI::RequiredError("either SYM or --all");
    Change change{command_kind<SetInstrument>, make()};
    for (std::vector<Typed>& element : change.elements)
      if (!all_) element.push_back({"sym", words_[0]});
    return change;
  });
  app->add_option("SYM", words_[0], "symbol");
  app->add_flag("--all", all_, "all symbols that there are");
  return app;
}

void CommandParser::add_key_file(CLI::App* app, const char* text) {
  app->add_option("--key-file", key_file_, text)->type_name("FILE");
}

void CommandParser::add_groups() {
  command("create", "account|symbol …", "Operate", "a new account or symbol", {}, {})
      ->require_subcommand(1);
  command("admin", "COMMAND …", "Operate", "keys, roles, limits, cash and shares of accounts; days",
          {}, {})
      ->require_subcommand(1);
  command("class", "COMMAND …", "Operate", "a class of students and bots", {},
          []() -> Command {
            throw UsageError("'class' is not a command of the shell: type exchange-cli class …");
          })
      ->fallthrough(false)
      ->allow_extras();
}

CLI::App* CommandParser::change(CommandKind kind, const std::string& name,
                                const std::string& synopsis, const char* text,
                                const std::vector<Word>& words, const std::vector<Typed>& fixed,
                                const char* needed) {
  const char* const group = name.starts_with("admin") ? "Administer" : "Create";
  return command(name, synopsis, group, text, words, [=, this] {
    if (needed != nullptr && typed_.empty()) throw CLI::RequiredError(needed);
    std::vector<Typed> typed = fixed;
    for (std::size_t i = 0; i < words.size(); ++i) typed.push_back({words[i].attribute, words_[i]});
    typed.insert(typed.end(), typed_.begin(), typed_.end());
    return Change{kind, {typed}, key_file_};
  });
}

void CommandParser::add_creations() {
  CLI::App* const account =
      change(command_kind<CreateAccount>, "create account", "ID BALANCE [--key-file FILE]",
             "an account with money",
             {{"ID", "1 to 64 digits", "id"}, {"BALANCE", "money that it starts with", "balance"}});
  add_key_file(account, "its key, in place of --key; '-' asks for it");
  command("create symbol", "SYM [ACCOUNT=SHARES …]", "Create", "a symbol, or more shares of it",
          {symbol_word},
          [this] {
            NewSymbol created{words_[0], {}};
            for (const std::string& text : list_) created.holdings.push_back(holding(text));
            return created;
          })
      ->add_option("ACCOUNT=SHARES", list_, "shares that accounts get");
}

void CommandParser::add_rules_of_symbols() {
  CLI::App* const app = command_of_symbols(
      "instrument", "SYM|--all --tick P …", "rules for the orders of a symbol; 0 ends one",
      [this]() -> std::vector<std::vector<Typed>> {
        if (typed_.empty()) throw CLI::RequiredError("a rule, such as --tick 0.01,");
        return {typed_};
      });
  add_attributes<SetInstrument>(app, typed_);
  const auto add = [this](const char* name, std::vector<std::string> states, const char* text) {
    command_of_symbols(name, "SYM|--all", text, [states] {
      std::vector<std::vector<Typed>> elements;
      for (const std::string& state : states) elements.push_back({{"trading", state}});
      return elements;
    });
  };
  add("halt", {"halted"}, "refuse orders of a symbol, until 'resume'");
  add("auction", {"auction"}, "collect orders of a symbol, and execute none");
  add("resume", {"open"}, "execute an auction, and take orders again");
  add("uncross", {"open", "auction"}, "execute an auction, and collect for the next one");
  add("close", {"open", "halted"}, "execute an auction, and halt");
}

void CommandParser::add_administration() {
  constexpr CommandKind set_account = command_kind<SetAccount>;
  const Word account{"ID", "account", "id"},
      amount{"AMOUNT", "below 0: so much is taken of what is free", "amount"};
  add_key_file(command("admin set-key", "ID [--key-file FILE]", "Administer",
                       "another key for an account: the one before logs in no more", {account},
                       [this] {
                         return NewKey{words_[0], key_file_};
                       }),
               of_new_key);
  change(command_kind<SetKey>, "admin revoke-key", "ID",
         "end the key of an account, until 'admin set-key' gives it another", {account},
         {{"revoke", "true"}});
  take_words(change(set_account, "admin role", "ID operator|trader",
                    "let an account do what the operator does, or trade alone",
                    {account, {"operator|trader", "with its own --account and --key", "role"}})
                 ->get_option("operator|trader"),
             word_list<Role>);
  change(set_account, "admin freeze", "ID [--cancel-orders]",
         "refuse orders of an account, until 'admin unfreeze'", {account}, {{"access", "frozen"}})
      ->add_flag_callback(
          "--cancel-orders",
          [this] {
            typed_.push_back({"cancel-orders", "true"});
          },
          "and cancel all that are open");
  change(set_account, "admin unfreeze", "ID", "take orders of an account again", {account},
         {{"access", "active"}});
  add_attributes<SetAccount>(
      change(set_account, "admin limits", "ID --orders-max N …", "limits of an account; 0 ends one",
             {account}, {}, "a limit, such as --orders-max 100,"),
      typed_, true);
  change(set_account, "admin name", "ID NAME",
         "what leaderboards show of an account in place of its id; '' ends it",
         {account, {"NAME", "up to 40 bytes of UTF-8", "name"}});
  const auto add_reason = [this](CLI::App* app) {
    app->add_option_function<std::string>(
           "--reason",
           [this](const std::string& text) {
             typed_.push_back({"reason", text});
           },
           "for the journal: up to 64 characters of A-Z a-z 0-9 . _ : -")
        ->type_name("TEXT")
        ->required();
  };
  add_reason(change(command_kind<AdjustCash>, "admin cash", "ID AMOUNT --reason TEXT",
                    "give cash to an account, or take it", {account, amount}));
  add_reason(change(command_kind<AdjustShares>, "admin shares", "ID SYM AMOUNT --reason TEXT",
                    "give shares to an account, or take them", {account, symbol_word, amount}));
  change(command_kind<BeginRound>, "admin round", "NAME", "begin a round of the leaderboard",
         {{"NAME", "up to 64 characters of A-Z a-z 0-9 . _ : -", "name"}});
  command("admin new-day", "NAME [--scenario FILE]", "Administer",
          "close the store as a day of this name, and begin the next one",
          {{"NAME", "lower-case letters, digits, and hyphens between them, such as 2026-11-26"}},
          [this] {
            return NewDay{words_[0], scenario_};
          })
      ->add_option("--scenario", scenario_,
                   "a <create> document: accounts and symbols of the next day")
      ->type_name("FILE");
}

void CommandParser::add_shares_and_price(CLI::App* app, const std::string& text) {
  app->add_option("SHARES PRICE", list_, "also as SHARES@PRICE; " + text)
      ->required()
      ->expected(1, 3);
}

void CommandParser::add_order(Side side, const char* name, const char* text) {
  CLI::App* const app =
      command(name, "SYM SHARES PRICE|market", "Trade", text, {symbol_word}, [this, side, name] {
        auto [shares, limit] = shares_and_limit(list_, "a price, or 'market',");
        check_order_of_words(name, words_[0], shares, limit);
        return NewOrder{side, words_[0], shares, limit, reference_, typed_};
      });
  app->add_option("--ref", reference_,
                  "your name for the order: if it is sent again, it is executed once")
      ->type_name("REF");
  add_attributes<PlaceOrder>(app, typed_);
  add_shares_and_price(app, "market: at the best prices there are, at once");
}

void CommandParser::add_trading() {
  add_order(Side::buy, "buy", "an order to buy, at PRICE or lower");
  add_order(Side::sell, "sell", "an order to sell, at PRICE or higher");
  CLI::App* const replace = command(
      "replace", "ORDER buy|sell SHARES PRICE", "Trade",
      "another amount and limit for an open order",
      {{"ORDER", "id of the order, or ref:REF"}, {"buy|sell", "the side that it has"}}, [this] {
        if (words_[1] != "buy" && words_[1] != "sell")
          throw CLI::ArgumentMismatch("'" + words_[1] + "' is neither 'buy' nor 'sell'");
        auto [shares, limit] = shares_and_limit(list_, "a price");
        return Replacement{words_[0], words_[1] == "buy" ? Side::buy : Side::sell, shares, limit};
      });
  add_shares_and_price(replace, "SHARES: the whole amount, with what was executed before");
  command("cancel", "ORDER …|all [SYM]", "Trade", "take back what is open of orders", {},
          [this] { return cancel_of(list_); })
      ->add_option("ORDER", list_, "ids of orders, or ref:REF; all: all open ones, or those of SYM")
      ->required();
  add_key_file(command("set-key", "[--key-file FILE]", "Trade", "another key for the account", {},
                       [this] {
                         return NewKey{{}, key_file_};
                       }),
               of_new_key);
}

void CommandParser::add_looks() {
  command("status", "[ORDER …]", "Look", "the account, or orders of it", {},
          [this] {
            return list_.empty() ? Command(ShowAccount()) : NamedOrders{false, list_};
          })
      ->add_option("ORDER", list_,
                   "ids of orders, or ref:REF; without: balance, positions and open orders");
  command("orders", "", "Look", "the open orders of the account", {},
          [] { return ShowOpenOrders(); });
  CLI::App* const history =
      command("history", "[ORDER …]", "Look",
              "what was executed of the account's orders, newest first", {}, [this] {
                return ShowHistory{list_, history_.count};
              });
  history->add_option(
      "ORDER", list_,
      "ids of orders, or ref:REF; without: executions of all orders there ever were");
  history->add_option("-n,--count", history_.count, "number of executions to list, without ORDER")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command("book", "SYM", "Look", "open orders by price", {symbol_word},
          [this] {
            return ShowBook{words_[0], book_.levels};
          })
      ->add_option("--levels", book_.levels, "prices of each side")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command("trades", "SYM", "Look", "the latest trades, newest first", {symbol_word},
          [this] {
            return ShowTrades{words_[0], trades_.count};
          })
      ->add_option("-n,--count", trades_.count, "number of trades")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  command("symbols", "", "Look", "all symbols with their best prices", {},
          [] { return ShowSymbols(); });
  CLI::App* const leaderboard =
      command("leaderboard", "[--round N] [--limit N] [--ids]", "Look",
              "what accounts gained by trading", {}, [this] { return leaderboard_; });
  leaderboard->add_option("--round", leaderboard_.round, "in this round alone")
      ->check(CLI::PositiveNumber);
  leaderboard->add_option("--limit", leaderboard_.count, "number of accounts")
      ->check(CLI::Range(1, 10'000));
  leaderboard->add_flag("--ids", leaderboard_.ids,
                        "also the ids of accounts that have a name; the operator's");
  CLI::App* const watch =
      command("watch", "SYM …|account", "Look",
              "book and trades, or events of the account, as they happen, until Ctrl-C, or q on a "
              "terminal",
              {}, [this]() -> Command {
                if (list_ == std::vector<std::string>{"account"}) return watch_;
                return Watch{list_, watch_.count};
              });
  watch->add_option("SYM", list_, "symbols; or account: what happens to the account")->required();
  const CLI::Range numbers(std::uint64_t(1), std::uint64_t(1) << 62);
  watch
      ->add_option("-n,--count", watch_.count,
                   "end after this number of updates or events (default: never)")
      ->check(numbers);
  watch
      ->add_option("--from", watch_.from,
                   "account: the number of the first event (default: those to come)")
      ->check(numbers);
  watch->add_flag("--json", watch_.json, "account: messages as they come");
}

void CommandParser::add_shell() {
  if (place_ == Place::command_line) {
    command("shell", "", "Other", "read commands: with history and completion, Tab", {}, {});
    return;
  }
  command("account", "[ID]", "Shell", "trade as another account", {},
          [this] { return list_.empty() ? UseAccount() : UseAccount{list_.front()}; })
      ->add_option("ID", list_, "without: show which it is")
      ->expected(1);
  command("xml", "on|off", "Shell", "show XML in place of sentences, or not", {{"on|off", ""}},
          [this] { return ShowXml{words_[0] == "on"}; })
      ->get_option("on|off")
      ->check(CLI::IsMember({"on", "off"}));
  command("help", "[COMMAND]", "Shell", "all commands, or more of one", {}, [this] {
    return Help{list_};
  })->add_option("COMMAND", list_, "");
  command("quit", "", "Shell", "leave; so does Ctrl-D", {}, [] { return Quit(); })->alias("exit");
}

}  // namespace exchange::cli
