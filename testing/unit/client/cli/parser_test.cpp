// The command line of the terminal client, and the lines of its shell.
#include "client/cli/parser.hpp"

#include <cstdlib>
#include <sstream>

#include "catch.hpp"
#include "client/cli/text.hpp"
#include "support/server_process.hpp"

using namespace exchange;
using namespace exchange::cli;
using exchange::testing::run_program;
using exchange::testing::RunResult;
using Words = std::vector<std::string>;

namespace {

CommandLine parse(const std::string& text) {
  const Words words = split_words("exchange-cli " + text);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_command_line(int(argv.size()), argv.data());
}

template <class Kind>
Kind command(const std::string& text) {
  const CommandLine line = parse(text);
  REQUIRE(!line.exit_code);
  REQUIRE(line.command);
  REQUIRE(std::holds_alternative<Kind>(*line.command));
  return std::get<Kind>(*line.command);
}

// Returns the error of a line of the shell; empty if the line has no error.
std::string error(const std::string& line) {
  try {
    parse_line(line, Settings());
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

Line shell_line(const std::string& text, const Settings& settings = {}) {
  std::optional<Line> line = parse_line(text, settings);
  REQUIRE(line);
  return *line;
}

struct Variable {
  Variable(const char* name_, const char* value) : name(name_) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

}  // namespace

TEST_CASE("options are taken before and after the command") {
  for (const char* text : {"-a 7 --xml --connect host:99 --timeout 1.5 symbols",
                           "symbols --account 7 --timeout 1.5 --connect host:99 --xml"}) {
    const CommandLine line = parse(text);
    REQUIRE(!line.exit_code);
    CHECK(std::holds_alternative<ShowSymbols>(*line.command));
    CHECK(line.settings.account == "7");
    CHECK(line.settings.xml);
    CHECK(line.settings.connect == "host:99");
    CHECK(line.settings.http_address() == "host:8080");
    CHECK(line.settings.timeout_s == 1.5);
  }
}

TEST_CASE("the words of a class are for its program, without the account's key") {
  CHECK(parse("--connect h:1 class status --folder x").class_words ==
        Words{"--connect", "h:1", "status", "--folder", "x"});
  CHECK(parse("-a class --key secret --key=secret --xml class start").class_words ==
        Words{"-a", "class", "--xml", "start"});
  CHECK(parse("class status --key secret --folder x --key=secret --key").class_words ==
        Words{"status", "--folder", "x"});
  CHECK(parse("help class init").class_words == Words{"init", "--help"});
  CHECK_FALSE(parse("--account class symbols").class_words);
  CHECK_FALSE(parse("symbols class").class_words);
  CHECK(error("class status") ==
        "'class' is not a command of the shell: type exchange-cli class …");
}

TEST_CASE("the environment gives ports and account, the command line goes before it") {
  const Variable connect("EXCHANGE_CONNECT", "[::1]:4"), http("EXCHANGE_HTTP", "there:5"),
      account("EXCHANGE_ACCOUNT", "12");
  const CommandLine line = parse("status"), other = parse("status -a 13 --connect x:6");
  CHECK(line.settings.connect == "[::1]:4");
  CHECK(line.settings.http_address() == "there:5");
  CHECK(line.settings.account == "12");
  CHECK(other.settings.connect == "x:6");
  CHECK(other.settings.account == "13");
  Settings session;
  session.account = "14";
  // chosen in the shell: the environment was applied before
  CHECK(shell_line("status", session).settings.account == "14");
}

TEST_CASE("the environment is named where its value is no good") {
  const Variable connect("EXCHANGE_CONNECT", "nowhere");
  const RunResult environment = run_program("exchange-cli", {"symbols"}),
                  line = run_program("exchange-cli", {"symbols", "--connect", "somewhere"});
  CHECK(environment.status == exit_usage);
  CHECK(environment.output.starts_with("exchange-cli: EXCHANGE_CONNECT: "));
  CHECK(line.output.starts_with("exchange-cli: --connect: "));
}

TEST_CASE("every command is read with its words") {
  const auto account = command<NewAccount>("create account 1 100000");
  CHECK((account.account == "1" && account.balance == "100000"));
  const auto symbol = command<NewSymbol>("create symbol SPY 2=500 3=0.5");
  REQUIRE(symbol.holdings.size() == 2);
  CHECK(symbol.symbol == "SPY");
  CHECK((symbol.holdings[1].account == "3" && symbol.holdings[1].shares == "0.5"));
  CHECK(command<NewSymbol>("create symbol account").symbol == "account");
  const auto rules = command<SetRules>(
      "instrument SPY --tick 0.05 --lot 10 --order-max 100 --price-min 5 --price-max 20 --band 1 "
      "--at-band auction");
  std::string all;
  for (const auto& [name, value] : rules.rules) all += name + "=" + value + " ";
  CHECK((rules.symbol == "SPY" && rules.trading.empty() &&
         all == "tick=0.05 price-min=5 price-max=20 band=1 at-band=auction lot=10 order-max=100 "));
  CHECK(!command<SetRules>("instrument --all --tick 1").symbol);
  for (const auto& [name, words] : {std::pair<const char*, Words>{"halt", {"halted"}},
                                    {"auction", {"auction"}},
                                    {"resume", {"open"}},
                                    {"uncross", {"open", "auction"}},
                                    {"close", {"open", "halted"}}}) {
    const auto of_one = command<SetRules>(std::string(name) + " SPY");
    CHECK((of_one.symbol == "SPY" && of_one.trading == words && of_one.rules.empty()));
    CHECK(!command<SetRules>(std::string(name) + " --all").symbol);
  }
  const auto key = command<NewKey>("admin set-key 7 --key-file -");
  CHECK((key.account == "7" && key.file == "-"));
  CHECK(!command<NewKey>("set-key").account);
  CHECK(command<NewKey>("set-key --key-file new.key").file == "new.key");
  CHECK(command<NewAccount>("create account 1 5 --key-file new.key").key_file == "new.key");
  CHECK(command<RevokedKey>("admin revoke-key 7").account == "7");
  for (const auto& [text, attributes] :
       {std::pair<const char*, const char*>{"admin role 7 operator", "role=operator "},
        {"admin role 7 trader", "role=trader "},
        {"admin freeze 7", "access=frozen "},
        {"admin freeze 7 --cancel-orders", "access=frozen cancel-orders=true "},
        {"admin unfreeze 7", "access=active "},
        {"admin limits 7 --orders-max 1 --orders-per-second-max 2 --position-max 0",
         "orders-max=1 orders-per-second-max=2 position-max=0 "}}) {
    INFO(text);
    const auto change = command<AccountChange>(text);
    std::string given;
    for (const auto& [name, value] : change.rules) given += name + "=" + value + " ";
    CHECK((change.account == "7" && given == attributes));
  }
  const auto cash = command<Adjustment>("admin cash 7 -5.5 --reason a:fine");
  CHECK((cash.account == "7" && !cash.symbol && cash.amount == "-5.5" && cash.reason == "a:fine"));
  const auto shares = command<Adjustment>("admin shares 7 SPY -5 --reason fine");
  CHECK((shares.account == "7" && shares.symbol == "SPY" && shares.amount == "-5"));
  const auto day = command<NewDay>("admin new-day 2026-11-26 --scenario next.xml");
  CHECK((day.day == "2026-11-26" && day.scenario == "next.xml"));
  for (const char* text : {"buy SPY 100 145.67", "buy SPY 100@145.67", "buy SPY 100 @ 145.67",
                           "buy SPY 100@ 145.67", "buy SPY 100 @145.67"}) {
    const auto order = command<NewOrder>(text);
    CHECK(order.side == Side::buy);
    CHECK((order.symbol == "SPY" && order.shares == "100" && order.limit == "145.67"));
  }
  for (const char* text :
       {"sell SPY 5 market", "sell SPY 5@market", "sell SPY 5 @ market", "sell SPY 5 MARKET"})
    CHECK(command<NewOrder>(text).limit == "market");
  CHECK(command<NewOrder>("buy SPY 1 2").terms.empty());
  const NewOrder sent = command<NewOrder>("buy SPY 1 2 --stp cancel-taking --post");
  REQUIRE(sent.terms.size() == 2);
  CHECK((sent.terms[0].name == "post" && sent.terms[0].value == "true"));
  CHECK((sent.terms[1].name == "stp" && sent.terms[1].value == "cancel-taking"));
  // refused later, with a sentence
  const auto sell = command<NewOrder>("sell SPY -5 3");
  CHECK((sell.side == Side::sell && sell.shares == "-5"));
  for (const char* text :
       {"replace 7 sell 80 145.5", "replace 7 sell 80@145.5", "replace 7 sell 80 @ 145.5"}) {
    const auto replacement = command<Replacement>(text);
    CHECK(replacement.side == Side::sell);
    CHECK((replacement.order == "7" && replacement.shares == "80" && replacement.limit == "145.5"));
  }
  const auto rise = command<Replacement>("replace ref:mine buy -5 market");  // refused later
  CHECK((rise.order == "ref:mine" && rise.side == Side::buy));
  CHECK((rise.shares == "-5" && rise.limit == "market"));
  CHECK(command<CancelOrders>("cancel 1 22").orders == Words{"1", "22"});
  CHECK(!command<CancelAllOrders>("cancel all").symbol);
  CHECK(command<CancelAllOrders>("cancel all SPY").symbol == "SPY");
  CHECK(command<CancelAllOrders>("cancel all ''").symbol == "");  // refused later
  CHECK(command<ShowOrders>("status 4").orders == Words{"4"});
  command<ShowAccount>("status");
  // a symbol may have the name of a command
  CHECK(command<ShowBook>("book buy").symbol == "buy");
  CHECK(command<ShowBook>("book SPY --levels 3").levels == 3);
  CHECK(command<ShowTrades>("trades SPY -n 5").count == 5);
  const auto board = command<ShowLeaderboard>("leaderboard");
  CHECK((board.round == 0 && board.count == 0 && !board.ids));
  const auto some = command<ShowLeaderboard>("leaderboard --round 2 --limit 5 --ids");
  CHECK((some.round == 2 && some.count == 5 && some.ids));
  CHECK(command<NewRound>("admin round one").name == "one");
  const auto watch = command<Watch>("watch SPY ABC --count 9");
  CHECK((watch.symbols == Words{"SPY", "ABC"} && watch.count == 9));
  const auto of_account = command<WatchAccount>("watch account --from 7 --json -n 2");
  CHECK((of_account.from == 7 && of_account.json && of_account.count == 2));
  CHECK(command<Watch>("watch account SPY").symbols == Words{"account", "SPY"});
  command<StartShell>("shell");
}

TEST_CASE("what cannot be meant ends with 2, help with 0") {
  for (const char* text : {"by",
                           "--foo",
                           "create",
                           "create account 1",
                           "buy SPY",
                           "buy SPY 1",
                           "buy SPY 1 2 3",
                           "buy SPY 1 2 3 4",
                           "buy SPY @3",
                           "buy SPY market",
                           "buy SPY 1 market 2",
                           "buy SPY 1 2 --stp both",
                           "replace 7",
                           "replace 7 buy",
                           "replace 7 buy 80",
                           "replace 7 80 145",
                           "replace 7 both 80 145",
                           "replace 7 buy 80 145 1",
                           "replace 7 buy 80 145 --tif ioc",
                           "cancel",
                           "cancel all SPY ABC",
                           "watch",
                           "watch SPY -n 0",
                           "book SPY --levels 1001",
                           "trades",
                           "symbols more",
                           "create symbol S 500",
                           "create symbol S =5",
                           "instrument S",
                           "instrument --tick 1",
                           "instrument S --tick 1 --tick 2",
                           "halt",
                           "halt S T",
                           "halt S --all",
                           "admin",
                           "admin set-key",
                           "admin role 7",
                           "admin role 7 boss",
                           "admin limits 7",
                           "admin limits 7 --orders-max 1 --orders-max 2",
                           "admin cash 7 5",
                           "admin cash 7 --reason fine",
                           "admin shares 7 5 --reason fine",
                           "admin freeze 7 8",
                           "instrument S --at-band wait",
                           "--connect nowhere symbols",
                           "--http :1 symbols",
                           "--connect x:65536 symbols",
                           "--timeout 0 symbols",
                           "--timeout nan symbols",
                           "--timeout inf symbols",
                           "quit",
                           "xml on"}) {
    INFO(text);
    CHECK(parse(text).exit_code == exit_usage);
  }
  for (const char* text : {"--help", "help", "buy -h", "help create symbol"})
    CHECK(parse(text).exit_code == exit_ok);
}

TEST_CASE("an error is reported with what would be right") {
  CHECK(error("by SPY 1 2") == "there is no command 'by' (did you mean 'buy'?); 'help' lists them");
  CHECK(error("sybmols") ==
        "there is no command 'sybmols' (did you mean 'symbols'?); 'help' lists them");
  CHECK(error("x") == "there is no command 'x'; 'help' lists them");
  CHECK(error("--frob") == "there is no option '--frob'; 'help' lists them");
  CHECK(error("-a 3") == "a command is missing; 'help' lists them");
  CHECK(error("buy SPY 1") ==
        "a price, or 'market', is required\nusage: buy SYM SHARES PRICE|market");
  CHECK(error("replace 7 80 145.5") ==
        "'80' is neither 'buy' nor 'sell'\nusage: replace ORDER buy|sell SHARES PRICE");
  CHECK(error("replace 7 sell 80") ==
        "a price is required\nusage: replace ORDER buy|sell SHARES PRICE");
  for (const char* line :
       {"admin set-key 1 a-secret-key", "set-key a-secret-key", "create account 1 5 a-secret-key"})
    CHECK_THAT(error(line), Catch::Matchers::StartsWith("a word is too much; a key is not typed") &&
                                !Catch::Matchers::Contains("secret"));
  CHECK(error("cancel all SPY ABC") == "'ABC' is too much\nusage: cancel ORDER …|all [SYM]");
  CHECK(error("instrument SPY") ==
        "a rule, such as --tick 0.01, is required\nusage: instrument SYM|--all --tick P …");
  CHECK(error("admin limits 7") ==
        "a limit, such as --orders-max 100, is required\nusage: admin limits ID --orders-max N …");
  CHECK(error("admin cash 7 5") ==
        "--reason is required\nusage: admin cash ID AMOUNT --reason TEXT");
  CHECK(error("auction") == "either SYM or --all is required\nusage: auction SYM|--all");
  CHECK(error("book SPY ABC") == "'ABC' is too much\nusage: book SYM");
  CHECK(error("book 'SPY") == "the quote ' does not end");
}

TEST_CASE("a line of the shell is the same commands, and settings for once") {
  Settings settings;
  settings.account = "1";
  const Line line = shell_line("buy SPY 1 2 --account 9 --xml", settings);
  CHECK(line.settings.account == "9");
  CHECK(line.settings.xml);
  CHECK(settings.account == "1");
  CHECK(std::get<UseAccount>(shell_line("account 5").command).account == "5");
  CHECK(!std::get<UseAccount>(shell_line("account").command).account);
  CHECK(std::get<ShowXml>(shell_line("xml on").command).on);
  CHECK(!std::get<ShowXml>(shell_line("xml off").command).on);
  CHECK(std::get<Help>(shell_line("help create symbol").command).command ==
        Words{"create", "symbol"});
  CHECK(std::get<Help>(shell_line("book --help").command).command == Words{"book"});
  CHECK(std::holds_alternative<Quit>(shell_line("exit").command));
  CHECK(std::holds_alternative<Quit>(shell_line("quit").command));
  CHECK(!parse_line("", settings));
  CHECK(!parse_line("  # all of it a comment", settings));
}

TEST_CASE("words in another order get a hint, and so does a script that is not UTF-8") {
  CHECK(error("buy 10 SPY 500") ==
        "the words are SYM SHARES PRICE: did you mean 'buy SPY 10 500'?");
  CHECK(error("sell SPY market 10") ==
        "the words are SYM SHARES PRICE: did you mean 'sell SPY 10 market'?");
  CHECK(error("buy 10 20 30") == "");     // a symbol may be digits
  CHECK(error("buy SPY ten 500") == "");  // documents.hpp has the sentence
  CHECK(error(std::string("create symbol AB\0C", 18)) ==
        "a zero byte in the line; scripts are UTF-8, not UTF-16");
}

TEST_CASE("help is wrapped between words at the width of the terminal") {
  const std::string help = help_text({});
  for (const std::size_t columns : {30u, 50u, 60u, 80u}) {
    std::istringstream lines(wrapped(help, columns)), words(help);
    std::string all, line, word, text;
    while (std::getline(lines, line)) {
      INFO(line);
      CHECK(width(line) <= std::max<std::size_t>(columns, 41));
      std::istringstream of_line(line);
      while (of_line >> word) all += word + " ";
    }
    while (words >> word) text += word + " ";
    CHECK(all == text);  // no word is split
  }
  CHECK(wrapped("  cancel ORDER  take back what is open of orders\nshort\n", 40) ==
        "  cancel ORDER  take back what is open\n"
        "                of orders\nshort\n");
  CHECK(wrapped("one two three four", 9) == "one two\nthree\nfour\n");
}

TEST_CASE("words are split at blanks, held together by quotes, and end at a comment") {
  CHECK(split_words(" a  b\tc\r") == Words{"a", "b", "c"});
  CHECK(split_words("a 'b c' \"d'e\" f'g'h") == Words{"a", "b c", "d'e", "fgh"});
  CHECK(split_words("a '' b#c # d") == Words{"a", "", "b#c"});
}

TEST_CASE("help of the shell lists the commands as they are written, and describes one") {
  const std::string all = help_text({});
  CHECK_THAT(all, contains_text("buy SYM SHARES PRICE|market"));
  CHECK_THAT(help_text({"cancel"}), contains_text("all open ones, or those of SYM"));
  CHECK_THAT(all, contains_text("  replace ORDER buy|sell SHARES PRICE  another amount and limit"));
  CHECK_THAT(help_text({"replace"}), contains_text("with what was executed before"));
  CHECK_THAT(all, contains_text("xml on|off"));
  CHECK(all.find("--connect") == std::string::npos);
  CHECK_THAT(help_text({"trades"}), contains_text("Usage: trades SYM\n"));
  CHECK_THAT(help_text({"create", "account"}),
             contains_text("Usage: create account ID BALANCE [--key-file FILE]\n"));
  CHECK_THROWS_AS(help_text({"nothing"}), UsageError);
}

TEST_CASE("what may follow is known of commands and options") {
  CHECK(words_after({}, "s") == Words{"sell", "set-key", "status", "symbols"});
  CHECK(words_after({"create"}, "") == Words{"account", "symbol"});
  CHECK(words_after({"help"}, "cr") == Words{"create"});
  CHECK(words_after({"admin"}, "s") == Words{"set-key", "shares"});
  CHECK(words_after({"admin", "limits", "7"}, "--o") ==
        Words{"--orders-max", "--orders-per-second-max"});
  CHECK(argument_after({"admin", "freeze"}) == "ID");
  CHECK(argument_after({"admin", "shares", "7"}) == "SYM");
  CHECK(words_after({"xml"}, "o") == Words{"off", "on"});
  CHECK(words_after({"book", "SPY"}, "--l") == Words{"--levels"});
  CHECK(words_after({"book", "SPY"}, "--") ==
        Words{"--account", "--help", "--levels", "--new-symbol", "--xml"});
  CHECK(words_after({"buy", "SPY"}, "").empty());
  CHECK(argument_after({"create", "symbol"}) == "SYM");
  CHECK(argument_after({"replace", "7"}) == "buy|sell");
  CHECK(argument_after({"cancel", "7"}) == "ORDER");
  CHECK(argument_after({"book", "SPY"}) == "");
  CHECK(argument_after({"nonsense"}) == "");
}

TEST_CASE("a key and how the connection is secured come from options or variables") {
  CHECK(parse("").settings.key == "");
  CHECK_FALSE(parse("").settings.security.tls);
  CHECK(parse("--key 'long enough'").settings.key == "long enough");
  CHECK(parse("--tls").settings.security.tls);
  CHECK_FALSE(parse("--tls").settings.security.insecure);
  const client::Security insecure = parse("--tls-insecure").settings.security;
  CHECK((insecure.tls && insecure.insecure));
  const client::Security checked = parse("--tls-ca /etc/hostname").settings.security;
  CHECK((checked.tls && !checked.insecure && checked.ca == "/etc/hostname"));
  CHECK(parse("--tls-ca /nowhere/ca.pem").exit_code == exit_usage);
  CHECK(parse("--tls-ca /etc/hostname --tls-insecure").exit_code == exit_usage);
  const Variable key("EXCHANGE_KEY", "of the environment");
  CHECK(parse("").settings.key == "of the environment");
  CHECK(parse("--key 'long enough'").settings.key == "long enough");
}
