// The command line of the terminal client, and the lines of its shell.
#include "client/cli/parser.hpp"

#include <cstdlib>
#include <sstream>

#include "catch.hpp"
#include "client/cli/terminal.hpp"
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

// requests_test.cpp has what the others send.
TEST_CASE("commands are read with their files, events and counts") {
  const auto key = command<NewKey>("admin set-key 7 --key-file -");
  CHECK((key.account == "7" && key.file == "-"));
  CHECK(!command<NewKey>("set-key").account);
  CHECK(command<NewKey>("set-key --key-file new.key").file == "new.key");
  CHECK(command<Change>("create account 1 5 --key-file new.key").key_file == "new.key");
  const auto day = command<NewDay>("admin new-day 2026-11-26 --scenario next.xml");
  CHECK((day.day == "2026-11-26" && day.scenario == "next.xml"));
  const auto watch = command<Watch>("watch SPY ABC --count 9");
  CHECK((watch.symbols == Words{"SPY", "ABC"} && watch.count == 9));
  const auto of_account = command<WatchAccount>("watch account --from 7 --json -n 2");
  CHECK((of_account.from == 7 && of_account.json && of_account.count == 2));
  CHECK(command<Watch>("watch account SPY").symbols == Words{"account", "SPY"});
  CHECK(!parse("shell").command);
}

TEST_CASE("what cannot be meant ends with 2, help with 0") {
  for (const char* text : {"create",
                           "create account 1",
                           "buy SPY",
                           "buy SPY 1 2 3",
                           "buy SPY 1 2 3 4",
                           "buy SPY @3",
                           "buy SPY market",
                           "buy SPY 1 market 2",
                           "buy SPY 1 2 --stp both",
                           "buy SPY 1 2 --tif day",
                           "replace 7",
                           "replace 7 buy",
                           "replace 7 buy 80 145 1",
                           "replace 7 buy 80 145 --tif ioc",
                           "cancel",
                           "watch",
                           "watch SPY -n 0",
                           "book SPY --levels 1001",
                           "trades",
                           "create symbol S 500",
                           "create symbol S =5",
                           "instrument --tick 1",
                           "instrument S --tick 1 --tick 2",
                           "instrument S --at-band wait",
                           "halt S T",
                           "halt S --all",
                           "admin",
                           "admin set-key",
                           "admin role 7",
                           "admin role 7 boss",
                           "admin cash 7 --reason fine",
                           "admin shares 7 5 --reason fine",
                           "admin freeze 7 8",
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
  const std::pair<std::string, std::string> rows[] = {
      {"by SPY 1 2", "there is no command 'by' (did you mean 'buy'?); 'help' lists them"},
      {"sybmols", "there is no command 'sybmols' (did you mean 'symbols'?); 'help' lists them"},
      {"x", "there is no command 'x'; 'help' lists them"},
      {"class status", "'class' is not a command of the shell: type exchange-cli class …"},
      {"--frob", "there is no option '--frob'; 'help' lists them"},
      {"-a 3", "a command is missing; 'help' lists them"},
      {"buy SPY 1", "a price, or 'market', is required\nusage: buy SYM SHARES PRICE|market"},
      {"buy 10 SPY 500", "the words are SYM SHARES PRICE: did you mean 'buy SPY 10 500'?"},
      {"sell SPY market 10", "the words are SYM SHARES PRICE: did you mean 'sell SPY 10 market'?"},
      {"replace 7 80 145.5",
       "'80' is neither 'buy' nor 'sell'\nusage: replace ORDER buy|sell SHARES PRICE"},
      {"replace 7 sell 80", "a price is required\nusage: replace ORDER buy|sell SHARES PRICE"},
      {"cancel all SPY ABC", "'ABC' is too much\nusage: cancel ORDER …|all [SYM]"},
      {"instrument SPY",
       "a rule, such as --tick 0.01, is required\nusage: instrument SYM|--all --tick P …"},
      {"admin limits 7",
       "a limit, such as --orders-max 100, is required\nusage: admin limits ID --orders-max N …"},
      {"admin cash 7 5", "--reason is required\nusage: admin cash ID AMOUNT --reason TEXT"},
      {"auction", "either SYM or --all is required\nusage: auction SYM|--all"},
      {"book SPY ABC", "'ABC' is too much\nusage: book SYM"},
      {"book 'SPY", "the quote ' does not end"},
      {std::string("create symbol AB\0C", 18),
       "a zero byte in the line; scripts are UTF-8, not UTF-16"}};
  for (const auto& [line, wanted] : rows) {
    INFO(line);
    CHECK(error(line) == wanted);
  }
  for (const char* line :
       {"admin set-key 1 a-secret-key", "set-key a-secret-key", "create account 1 5 a-secret-key"})
    CHECK_THAT(error(line), Catch::Matchers::StartsWith("a word is too much; a key is not typed") &&
                                !Catch::Matchers::Contains("secret"));
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
