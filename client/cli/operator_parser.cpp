// The operator's commands in words: creations, the rules of symbols and their trading, days.

#include "client/cli/command_parser.hpp"

namespace exchange::cli {
namespace {

NewSymbol::Holding holding(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw CLI::ValidationError("'" + text + "' is not ACCOUNT=SHARES");
  return {text.substr(0, sign), text.substr(sign + 1)};
}

}  // namespace

CLI::App* CommandParser::command_of_symbols(const std::string& name, const std::string& words,
                                            const char* text, std::function<SetRules()> make) {
  CLI::App* const app = command(name, words, "Trade", text, [this, make]() -> Command {
    if (all_ != words_[0].empty()) throw CLI::RequiredError("either SYM or --all");
    SetRules set = make();
    if (!all_) set.symbol = words_[0];
    return set;
  });
  app->add_option("SYM", words_[0], "symbol");
  app->add_flag("--all", all_, "all symbols that there are");
  return app;
}

void CommandParser::add(Of<NewAccount>) {
  CLI::App* const app =
      command("create account", "ID BALANCE", "Create", "an account with money", [this] {
        return NewAccount{words_[0], words_[1]};
      });
  app->add_option("ID", words_[0], "1 to 64 digits")->required();
  app->add_option("BALANCE", words_[1], "money that it starts with")->required();
}

void CommandParser::add(Of<NewSymbol>) {
  command_of_symbol("create symbol", "SYM [ACCOUNT=SHARES …]", "Create",
                    "a symbol, or more shares of it",
                    [this] {
                      NewSymbol created{words_[0], {}};
                      for (const std::string& text : list_)
                        created.holdings.push_back(holding(text));
                      return created;
                    })
      ->add_option("ACCOUNT=SHARES", list_, "shares that accounts get");
}

void CommandParser::add(Of<SetRules>) {
  static constexpr struct {
    const char *name, *type, *text;
  } options[] = {{"tick", "P", "limits are multiples of it"},
                 {"lot", "N", "the shares of orders are multiples of it"},
                 {"order-max", "N", "shares of one order"},
                 {"price-min", "P", "the lowest limit"},
                 {"price-max", "P", "the highest limit"},
                 {"band", "P", "a limit may be so far above the last price, of a sell below"}};
  CLI::App* const app = command_of_symbols(
      "instrument", "SYM|--all --tick P …", "rules for the orders of a symbol; 0 ends one", [this] {
        if (!at_band_.empty()) rules_.push_back({"at-band", at_band_});
        if (rules_.empty()) throw CLI::RequiredError("a rule, such as --tick 0.01,");
        return SetRules{{}, rules_};
      });
  for (const auto& [name, type, text] : options)
    app->add_option_function<std::string>(
           "--" + std::string(name),
           [this, name](const std::string& value) {
             rules_.push_back({name, value});
           },
           text)
        ->type_name(type);
  takes_words<AtBand>(app->add_option("--at-band", at_band_,
                                      "what a limit beyond the band does: refuse: the order is "
                                      "refused; auction: it starts an auction"));
  add_trading("halt", {"halted"}, "refuse orders of a symbol, until 'resume'");
  add_trading("auction", {"auction"}, "collect orders of a symbol, and execute none");
  add_trading("resume", {"open"}, "execute an auction, and take orders again");
  add_trading("uncross", {"open", "auction"}, "execute an auction, and collect for the next one");
  add_trading("close", {"open", "halted"}, "execute an auction, and halt");
}

void CommandParser::add_trading(const char* name, std::vector<std::string> trading,
                                const char* text) {
  command_of_symbols(name, "SYM|--all", text, [trading] { return SetRules{{}, {}, trading}; });
}

void CommandParser::add(Of<NewDay>) {
  CLI::App* const app =
      command("admin new-day", "NAME [--scenario FILE]", "Administer",
              "close the store as a day of this name, and begin the next one", [this] {
                return NewDay{words_[0], scenario_};
              });
  app->add_option("NAME", words_[0],
                  "lower-case letters, digits, and hyphens between them, such as 2026-11-26")
      ->required();
  app->add_option("--scenario", scenario_,
                  "a <create> document: accounts and symbols of the next day")
      ->type_name("FILE");
}

}  // namespace exchange::cli
