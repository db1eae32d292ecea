#include "protocol/request.hpp"

#include "unit/engine/support.hpp"
#include "unit/protocol/support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

std::string print(const RequestElement& element) {
  static const char* const kinds[] = {"account", "symbol", "placement", "order",
                                      "query",   "cancel", "unknown"};
  std::string text = kinds[int(element.kind)];
  std::size_t echoes = element.echo.size();
  while (echoes > 0 && element.echo[echoes - 1].data() == nullptr) --echoes;
  for (std::size_t i = 0; i < echoes; ++i)
    text += element.echo[i].data() == nullptr ? " -" : " [" + std::string(element.echo[i]) + "]";
  return text;
}

// One line per element: its kind, what it repeats to the client in brackets, then the command or
// the error. One line "refused: ..." where the whole request is refused.
Lines read(std::string xml, const ProtocolLimits& limits = {}) {
  XmlDocument document;
  std::vector<RequestElement> elements{
      RequestElement{RequestElement::Kind::unknown}};  // of an earlier request of the request batch
  std::vector<Command> commands{CreateSymbol{SymbolName("EARLIER")}};
  const Request request =
      read_request(xml.data(), xml.size(), limits, document, elements, commands);
  REQUIRE(elements.size() == 1 + request.elements);
  Lines lines;
  std::size_t used = 1;
  for (std::size_t i = 1; i < elements.size(); ++i)
    lines.push_back(print(elements[i]) + ": " +
                    (elements[i].error.empty() ? exchange::print(commands.at(used++))
                                               : "error: " + elements[i].error));
  REQUIRE(used == commands.size());
  if (request.error.empty()) return lines;
  CHECK(request.elements == 0);
  return {"refused: " + request.error};
}
std::string read_one(const std::string& xml) {
  const Lines lines = read(xml);
  REQUIRE(lines.size() == 1);
  return lines[0];
}
std::string created(const std::string& child) { return read_one("<create>" + child + "</create>"); }
std::string traded(const std::string& child) {
  return read_one("<transactions id='7'>" + child + "</transactions>");
}

const std::string long_id(64, '9'), long_symbol(32, 'Z');

}  // namespace

TEST_CASE("the root says what a request is") {
  CHECK(read("<create/>") == Lines{});
  CHECK(read("<create><!-- nothing --></create>") == Lines{});
  CHECK(read("<nonsense/>") == Lines{"refused: unknown element 'nonsense'"});
  CHECK(read("<CREATE/>") == Lines{"refused: unknown element 'CREATE'"});
  CHECK(read("<order sym='A' amount='1' limit='1'/>") == Lines{"refused: unknown element 'order'"});
  CHECK(read("<create") ==
        Lines{"refused: malformed XML: " +
              std::string(pugi::xml_document().load_string("<create").description())});
}

TEST_CASE("text between elements is ignored") {
  CHECK(read("<create>x</create>") == Lines{});
  CHECK(read("<create># one account <account id='1' balance='1'/><![CDATA[x]]></create>") ==
        Lines{"account [1]: account 1 with 1"});
  CHECK(
      read(
          "<create><symbol sym='A'># shares <account id='1'>1</account> # none <account id='2'>2</account>x</symbol></create>") ==
      Lines{"placement [A] [1]: place 1 A at 1", "placement [A] [2]: place 2 A at 2"});
  CHECK(created("<symbol sym='A'>5</symbol>") == "symbol [A]: symbol A");
  CHECK(read("<transactions id='1'>x</transactions>") == Lines{});
  CHECK(read("<transactions id='1'><query id='1'/>&lt;x<query id='2'/></transactions>") ==
        Lines{"query [1]: 1 queries 1", "query [2]: 1 queries 2"});
}

TEST_CASE("an account is created with an id and a balance") {
  CHECK(created("<account id='1' balance='1000'/>") == "account [1]: account 1 with 1000");
  CHECK(created("<account balance=\"0\" id=\"007\"></account>") ==
        "account [007]: account 007 with 0");
  CHECK(created("<account id='" + long_id + "' balance='.0000000000000001'/>") ==
        "account [" + long_id + "]: account " + long_id + " with 0.0000000000000001");
  CHECK(created("<account id='&#49;' balance='&#x31;0' more='yes'><!-- c --></account>") ==
        "account [&#49;]: account 1 with 10");

  CHECK(created("<account balance='1'/>") == "account: error: missing attribute 'id'");
  CHECK(created("<account id='1'/>") == "account [1]: error: missing attribute 'balance'");
  CHECK(created("<account ID='1' balance='1'/>") == "account: error: missing attribute 'id'");
  for (const std::string id : {"", "a", "1a", " 1", "1 ", "-1", "+1", "1.0", "٣"}) {
    INFO(id);
    CHECK(created("<account id='" + id + "' balance='1'/>") ==
          "account [" + id + "]: error: account id must be 1 to 64 digits");
  }
  CHECK(created("<account id='9" + long_id + "' balance='1'/>") ==
        "account [9" + long_id + "]: error: account id must be 1 to 64 digits");
  CHECK(created("<account id='1' balance=''/>") == "account [1]: error: balance is empty");
  for (const std::string balance :
       {"x", "1e3", "+1", " 1", "1 ", "1,000", "inf", "nan", ".", "-", "--1", "0x10", "1.2.3"})
    CHECK(created("<account id='1' balance='" + balance + "'/>") ==
          "account [1]: error: balance is not a plain decimal number");
  CHECK(created("<account id='1' balance='-0.01'/>") == "account [1]: error: balance is negative");
  CHECK(created("<account id='1' balance='-0'/>") == "account [1]: account 1 with 0");
  CHECK(created("<account id='1' balance='0.00000000000000001'/>") ==
        "account [1]: error: balance has more than the allowed decimals: at most 16 decimals");
  CHECK(
      created("<account id='1' balance='99999999999999999999999'/>") ==
      "account [1]: error: balance is out of range: at most 17014118346046923173168.7303715884105727");
  CHECK(created("<account id='1' balance='1'>5</account>") ==
        "account [1]: error: unexpected content in account");
  CHECK(created("<account id='1' balance='1'><b/></account>") ==
        "account [1]: error: unexpected content in account");
}

TEST_CASE("a symbol gives shares to each account inside it") {
  CHECK(
      read(
          "<create><symbol sym='SPY'><account id='1'>100</account><account id='2'> 5.5\n</account></symbol></create>") ==
      Lines{"placement [SPY] [1]: place 100 SPY at 1", "placement [SPY] [2]: place 5.5 SPY at 2"});
  CHECK(created("<symbol sym='A'/>") == "symbol [A]: symbol A");
  CHECK(created("<symbol sym='" + long_symbol + "'> </symbol>") ==
        "symbol [" + long_symbol + "]: symbol " + long_symbol);
  CHECK(created(
            "<symbol sym='&#65;'><account id='&#49;'>1<!-- -->0<![CDATA[0]]></account></symbol>") ==
        "placement [&#65;] [&#49;]: place 100 A at 1");

  const auto placed = [](const std::string& attributes, const std::string& shares) {
    return created("<symbol sym='A'><account" + attributes + ">" + shares + "</account></symbol>");
  };
  CHECK(placed("", "1") == "placement [A]: error: missing attribute 'id'");
  CHECK(placed(" id='x'", "1") == "placement [A] [x]: error: account id must be 1 to 64 digits");
  CHECK(placed(" id='1'", "") == "placement [A] [1]: error: number of shares is empty");
  CHECK(placed(" id='1'", " \n ") == "placement [A] [1]: error: number of shares is empty");
  CHECK(placed(" id='1'", "1 0") ==
        "placement [A] [1]: error: number of shares is not a plain decimal number");
  CHECK(placed(" id='1'", "0") == "placement [A] [1]: error: number of shares must be above zero");
  CHECK(placed(" id='1'", "-5") == "placement [A] [1]: error: number of shares must be above zero");
  CHECK(
      placed(" id='1'", "0.000000001") ==
      "placement [A] [1]: error: number of shares has more than the allowed decimals: at most 8 decimals");
  CHECK(placed(" id='1'", "92233720368") ==
        "placement [A] [1]: error: number of shares is out of range: must be below 92233720368");
  CHECK(placed(" id='1'", "5<b/>") == "placement [A] [1]: error: unexpected element in account");
}

TEST_CASE("a symbol that is wrong is wrong for each account inside it") {
  for (const std::string symbol : {"", "A B", "A-B", " A", "ä", "A.B"}) {
    const std::string wrong = "error: symbol must be 1 to 32 letters and digits";
    CHECK(created("<symbol sym='" + symbol + "'/>") == "symbol [" + symbol + "]: " + wrong);
    CHECK(
        read("<create><symbol sym='" + symbol +
             "'><account id='1'>1</account><account>1</account></symbol></create>") ==
        Lines{"placement [" + symbol + "] [1]: " + wrong, "placement [" + symbol + "]: " + wrong});
  }
  CHECK(created("<symbol sym='Z" + long_symbol + "'/>") ==
        "symbol [Z" + long_symbol + "]: error: symbol must be 1 to 32 letters and digits");
  CHECK(created("<symbol/>") == "symbol: error: missing attribute 'sym'");
  CHECK(created("<symbol><account id='1'>1</account></symbol>") ==
        "placement - [1]: error: missing attribute 'sym'");
}

TEST_CASE("an unknown element is an error in its place and the others are read") {
  CHECK(
      read(
          "<create><account id='1' balance='1'/><what id='2'/><symbol sym='A'><why/><account id='1'>1</account></symbol></create>") ==
      Lines{"account [1]: account 1 with 1", "unknown: error: unknown element 'what'",
            "unknown: error: unknown element 'why'", "placement [A] [1]: place 1 A at 1"});
  CHECK(read("<transactions id='7'><buy/><query id='1'/></transactions>") ==
        Lines{"unknown: error: unknown element 'buy'", "query [1]: 7 queries 1"});
  const std::string a64(64, 'a');
  CHECK(created("<" + a64 + "/>") == "unknown: error: unknown element '" + a64 + "'");
  CHECK(created("<" + a64 + "b/>") == "unknown: error: unknown element '" + a64 + "…'");
  CHECK(created("<" + a64.substr(1) + "€/>") ==
        "unknown: error: unknown element '" + a64.substr(1) + "…'");  // no half character
}

TEST_CASE("an order buys above zero and sells below") {
  CHECK(traded("<order sym='SPY' amount='300' limit='125'/>") ==
        "order [SPY] [300] [125]: 7 buys 300 SPY @125");
  CHECK(traded("<order limit=\"127.50\" amount=\"-400.0\" sym=\"SPY\"/>") ==
        "order [SPY] [-400.0] [127.50]: 7 sells 400 SPY @127.5");
  CHECK(traded("<order sym='A' amount='-.5' limit='5.'/>") ==
        "order [A] [-.5] [5.]: 7 sells 0.5 A @5");
  CHECK(traded("<order sym='A' amount='0.00000001' limit='92233720367.99999999'/>") ==
        "order [A] [0.00000001] [92233720367.99999999]: 7 buys 0.00000001 A @92233720367.99999999");
  CHECK(traded("<order sym='&#65;' amount='&#49;' limit='&#x32;'/>") ==
        "order [&#65;] [&#49;] [&#x32;]: 7 buys 1 A @2");

  CHECK(traded("<order/>") == "order: error: missing attribute 'sym'");
  CHECK(traded("<order amount='1' limit='2'/>") ==
        "order - [1] [2]: error: missing attribute 'sym'");
  CHECK(traded("<order sym='A' limit='2'/>") ==
        "order [A] - [2]: error: missing attribute 'amount'");
  CHECK(traded("<order sym='A' amount='1'/>") == "order [A] [1]: error: missing attribute 'limit'");
  CHECK(traded("<order sym='' amount='1' limit='2'/>") ==
        "order [] [1] [2]: error: symbol must be 1 to 32 letters and digits");
  CHECK(traded("<order sym='A' amount='0' limit='2'/>") ==
        "order [A] [0] [2]: error: amount is zero");
  CHECK(traded("<order sym='A' amount='-0.0' limit='2'/>") ==
        "order [A] [-0.0] [2]: error: amount is zero");
  CHECK(traded("<order sym='A' amount='1' limit='0'/>") ==
        "order [A] [1] [0]: error: limit must be above zero");
  CHECK(traded("<order sym='A' amount='1' limit='-2'/>") ==
        "order [A] [1] [-2]: error: limit must be above zero");
  CHECK(traded("<order sym='A' amount='1' limit='2'>x</order>") ==
        "order [A] [1] [2]: error: unexpected content in order");
  CHECK(traded("<order sym='A' amount='1' limit='2'><b/></order>") ==
        "order [A] [1] [2]: error: unexpected content in order");
  const struct {
    std::string number, problem;
  } wrong[] = {{"", "is empty"},
               {"x", "is not a plain decimal number"},
               {"+1", "is not a plain decimal number"},
               {"1e3", "is not a plain decimal number"},
               {" 1", "is not a plain decimal number"},
               {"1 ", "is not a plain decimal number"},
               {"inf", "is not a plain decimal number"},
               {"NaN", "is not a plain decimal number"},
               {".", "is not a plain decimal number"},
               {"-", "is not a plain decimal number"},
               {"1.2.3", "is not a plain decimal number"},
               {"1,5", "is not a plain decimal number"},
               {"&lt;", "is not a plain decimal number"},
               {"92233720368", "is out of range: must be below 92233720368"},
               {"-92233720368", "is out of range: must be below 92233720368"}};
  for (const auto& [number, sentence] : wrong) {
    CHECK(traded("<order sym='A' amount='" + number + "' limit='2'/>") ==
          "order [A] [" + number + "] [2]: error: amount " + sentence);
    CHECK(traded("<order sym='A' amount='1' limit='" + number + "'/>") ==
          "order [A] [1] [" + number + "]: error: limit " + sentence);
  }
}

TEST_CASE("a limit is rounded in favour of its owner, an amount never") {
  CHECK(traded("<order sym='A' amount='1.000000000000' limit='2.000000000000'/>") ==
        "order [A] [1.000000000000] [2.000000000000]: 7 buys 1 A @2");
  CHECK(traded("<order sym='A' amount='1' limit='2.000000019'/>") ==
        "order [A] [1] [2.000000019]: 7 buys 1 A @2.00000001");
  CHECK(traded("<order sym='A' amount='-1' limit='2.000000011'/>") ==
        "order [A] [-1] [2.000000011]: 7 sells 1 A @2.00000002");
  CHECK(traded("<order sym='A' amount='-1' limit='0.000000001'/>") ==
        "order [A] [-1] [0.000000001]: 7 sells 1 A @0.00000001");
  const std::string too_many = "has more than the allowed decimals: at most 8 decimals";
  CHECK(traded("<order sym='A' amount='1' limit='0.000000001'/>") ==
        "order [A] [1] [0.000000001]: error: limit " + too_many);
  CHECK(traded("<order sym='A' amount='0.000000001' limit='1'/>") ==
        "order [A] [0.000000001] [1]: error: amount " + too_many);
  CHECK(traded("<order sym='A' amount='-1.000000001' limit='1'/>") ==
        "order [A] [-1.000000001] [1]: error: amount " + too_many);
  CHECK(
      traded("<order sym='A' amount='-1' limit='92233720367.999999999'/>") ==
      "order [A] [-1] [92233720367.999999999]: error: limit is out of range: must be below 92233720368");
}

TEST_CASE("queries and cancels name an order by its number") {
  CHECK(traded("<query id='1'/>") == "query [1]: 7 queries 1");
  CHECK(traded("<cancel id='0012'/>") == "cancel [0012]: 7 cancels 12");
  CHECK(traded("<query id='18446744073709551615'/>") ==
        "query [18446744073709551615]: 7 queries 18446744073709551615");
  CHECK(traded("<query id='&#50;'/>") == "query [&#50;]: 7 queries 2");
  for (const std::string element : {"query", "cancel"}) {
    CHECK(traded("<" + element + "/>") == element + ": error: missing attribute 'id'");
    for (const std::string id :
         {"", "0", "00", "-1", "+1", "1.0", "x", " 1", "1 ", "18446744073709551616"})
      CHECK(traded("<" + element + " id='" + id + "'/>") ==
            element + " [" + id + "]: error: transaction id must be a whole number from 1");
    CHECK(traded("<" + element + " id='1'>x</" + element + ">") ==
          element + " [1]: error: unexpected content in " + element);
  }
}

TEST_CASE("queries are of any account's order where the server is run so, cancels never") {
  ProtocolLimits limits;
  limits.open_queries = true;
  CHECK(read("<transactions id='7'><query id='1'/><cancel id='1'/></transactions>", limits) ==
        Lines{"query [1]: 7 queries 1 of any account", "cancel [1]: 7 cancels 1"});
}

TEST_CASE("transactions without a usable account are an error for each child") {
  const std::string children =
      "<order sym='A' amount='1' limit='2'/><query id='1'/><cancel/><what/>";
  for (const auto& [attribute, sentence] :
       {std::pair<std::string, std::string>{"", "missing attribute 'id' of transactions"},
        {" id=''", "unknown account: an account id is 1 to 64 digits"},
        {" id='x'", "unknown account: an account id is 1 to 64 digits"}})
    CHECK(read("<transactions" + attribute + ">" + children + "</transactions>") ==
          Lines{"order [A] [1] [2]: error: " + sentence, "query [1]: error: " + sentence,
                "cancel: error: " + sentence, "unknown: error: unknown element 'what'"});
}

TEST_CASE("transactions without elements give no results, known account or not") {
  for (const std::string account : {" id='1'", " id='x'", ""}) {
    CHECK(read("<transactions" + account + "/>") == Lines{});
    CHECK(read("<transactions" + account + "><!-- c --> </transactions>") == Lines{});
  }
}

TEST_CASE("a request has so many elements at most, else nothing of it is done") {
  ProtocolLimits limits;
  limits.elements_max = 3;
  const auto with = [](int count, const std::string& child) {
    std::string text;
    for (int i = 0; i < count; ++i) text += child;
    return text;
  };
  const Lines refused{"refused: more than 3 elements in one request"};
  CHECK(read("<create>" + with(3, "<what/>") + "</create>", limits).size() == 3);
  CHECK(read("<create>" + with(4, "<what/>") + "</create>", limits) == refused);
  CHECK(read("<create><symbol sym='A'>" + with(3, "<account id='1'>1</account>") +
                 "</symbol></create>",
             limits)
            .size() == 3);
  CHECK(read("<create><symbol sym='A'>" + with(4, "<account id='1'>1</account>") +
                 "</symbol></create>",
             limits) == refused);
  CHECK(read("<transactions id='1'>" + with(4, "<query id='1'/>") + "</transactions>", limits) ==
        refused);
}

TEST_CASE("white space inside a number is no part of it, whatever comments stand beside it") {
  const auto placed = [](const std::string& text) {
    return created("<symbol sym='S'><account id='1'>" + text + "</account></symbol>");
  };
  const std::string refused =
      "placement [S] [1]: error: number of shares is not a plain decimal number";
  CHECK(placed(" <!-- a --> 1<!-- b -->0 <!-- c --> ") == "placement [S] [1]: place 10 S at 1");
  CHECK(placed("1 0") == refused);
  CHECK(placed("1<!-- a --> 0") == refused);
  CHECK(placed("1<!-- a --> <!-- b -->0") == refused);
  CHECK(placed("1<?a b?>\n<?c d?>0") == refused);
}
