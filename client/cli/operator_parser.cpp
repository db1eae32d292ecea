// Parses the words of the operator's commands: creations, symbols, accounts, rounds, days.

#include "client/cli/command_parser.hpp"

namespace exchange::cli {
namespace {

NewSymbol::Holding holding(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw CLI::ValidationError("'" + text + "' is not ACCOUNT=SHARES");
  return {text.substr(0, sign), text.substr(sign + 1)};
}

constexpr const char* of_new_key =
    "file of the new key, one line; '-' asks for it. Without a file a key is made, and shown once";

}  // namespace

CLI::App* CommandParser::command_of_symbols(const std::string& name, const std::string& words,
                                            const char* text, std::function<SetRules()> make) {
  CLI::App* const app = command(name, words, "Operate", text, [this, make]() -> Command {
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
  CLI::App* const app = command("create account", "ID BALANCE [--key-file FILE]", "Create",
                                "an account with money", [this] {
                                  return NewAccount{words_[0], words_[1], key_file_};
                                });
  app->add_option("ID", words_[0], "1 to 64 digits")->required();
  app->add_option("BALANCE", words_[1], "money that it starts with")->required();
  add_key_file(app, "its key, in place of --key; '-' asks for it");
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
  CLI::App* const app = command_of_symbols(
      "instrument", "SYM|--all --tick P …", "rules for the orders of a symbol; 0 ends one", [this] {
        if (rules_.empty()) throw CLI::RequiredError("a rule, such as --tick 0.01,");
        return SetRules{{}, rules_};
      });
  add_attributes<SetInstrument>(app);
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

CLI::App* CommandParser::command_of_account(const std::string& name, const std::string& words,
                                            const char* text, std::function<Command()> make) {
  CLI::App* const app = command(name, words, "Administer", text, std::move(make));
  app->add_option("ID", words_[0], "account")->required();
  return app;
}

void CommandParser::add_key_file(CLI::App* app, const char* text) {
  app->add_option("--key-file", key_file_, text)->type_name("FILE");
}

void CommandParser::add(Of<NewKey>) {
  add_key_file(command_of_account("admin set-key", "ID [--key-file FILE]",
                                  "another key for an account: the one before logs in no more",
                                  [this] {
                                    return NewKey{words_[0], key_file_};
                                  }),
               of_new_key);
}

void CommandParser::add_own_key() {
  add_key_file(command("set-key", "[--key-file FILE]", "Trade", "another key for the account",
                       [this] {
                         return NewKey{{}, key_file_};
                       }),
               of_new_key);
}

void CommandParser::add(Of<RevokedKey>) {
  command_of_account("admin revoke-key", "ID",
                     "end the key of an account, until 'admin set-key' gives it another",
                     [this] { return RevokedKey{words_[0]}; });
}

void CommandParser::add(Of<AccountChange>) {
  takes_words<Role>(
      command_of_account("admin role", "ID operator|trader",
                         "let an account do what the operator does, or trade alone",
                         [this] {
                           return AccountChange{words_[0], {{"role", words_[1]}}};
                         })
          ->add_option("operator|trader", words_[1], "with its own --account and --key")
          ->required());
  command_of_account("admin freeze", "ID [--cancel-orders]",
                     "refuse orders of an account, until 'admin unfreeze'",
                     [this] {
                       AccountChange change{words_[0], {{"access", "frozen"}}};
                       if (cancel_orders_) change.rules.push_back({"cancel-orders", "true"});
                       return change;
                     })
      ->add_flag("--cancel-orders", cancel_orders_, "and cancel all that are open");
  command_of_account("admin unfreeze", "ID", "take orders of an account again", [this] {
    return AccountChange{words_[0], {{"access", "active"}}};
  });
  add_attributes<SetAccount>(
      command_of_account("admin limits", "ID --orders-max N …", "limits of an account; 0 ends one",
                         [this] {
                           if (rules_.empty())
                             throw CLI::RequiredError("a limit, such as --orders-max 100,");
                           return AccountChange{words_[0], rules_};
                         }),
      true);
  command_of_account("admin name", "ID NAME",
                     "what leaderboards show of an account in place of its id; '' ends it",
                     [this] {
                       return AccountChange{words_[0], {{"name", words_[1]}}};
                     })
      ->add_option("NAME", words_[1], "up to 40 bytes of UTF-8")
      ->required();
}

void CommandParser::add(Of<Adjustment>) {
  const auto add_adjustment = [this](CLI::App* app, std::string& amount) {
    app->add_option("AMOUNT", amount, "below 0: so much is taken of what is free")->required();
    app->add_option("--reason", reason_,
                    "for the journal: up to 64 characters of A-Z a-z 0-9 . _ : -")
        ->type_name("TEXT")
        ->required();
  };
  add_adjustment(command_of_account("admin cash", "ID AMOUNT --reason TEXT",
                                    "give cash to an account, or take it",
                                    [this] {
                                      return Adjustment{words_[0], {}, words_[1], reason_};
                                    }),
                 words_[1]);
  CLI::App* const shares =
      command_of_account("admin shares", "ID SYM AMOUNT --reason TEXT",
                         "give shares to an account, or take them", [this] {
                           return Adjustment{words_[0], words_[1], words_[2], reason_};
                         });
  shares->add_option("SYM", words_[1], "symbol")->required();
  add_adjustment(shares, words_[2]);
}

void CommandParser::add(Of<NewRound>) {
  command("admin round", "NAME", "Administer", "begin a round of the leaderboard",
          [this] { return NewRound{words_[0]}; })
      ->add_option("NAME", words_[0], "up to 64 characters of A-Z a-z 0-9 . _ : -")
      ->required();
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
