#include "protocol/request.hpp"

#include "unit/engine/support.hpp"
#include "unit/protocol/support.hpp"

using namespace exchange;
using Lines = std::vector<std::string>;

namespace {

std::string print(const RequestElement& element) {
  if (element.kind == RequestElement::unknown) return "unknown";
  std::string text;
  std::vector<std::string_view> repeated;
  boost::mp11::mp_with_index<RequestElement::unknown>(element.kind, [&](auto kind) {
    using Asked = boost::mp11::mp_at<Command, decltype(kind)>;
    text = Asked::word;
    for (std::size_t i = 0; i < std::size(attributes_of<Asked>); ++i)
      if (attributes_of<Asked>[i].repeated != Repeated::never)
        repeated.push_back(element.values[i]);
  });
  while (!repeated.empty() && repeated.back().data() == nullptr) repeated.pop_back();
  for (const std::string_view value : repeated)
    text += value.data() == nullptr ? " -" : " [" + std::string(value) + "]";
  return text;
}

// Returns one line per element: its kind, what it repeats to the client in brackets, then the
// command or the error. Returns one line "refused: ..." if the whole request is refused.
Lines read(std::string xml, const ProtocolLimits& limits = {}) {
  XmlDocument document;
  std::vector<RequestElement> elements{RequestElement()};  // of an earlier request of the batch
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
  INFO(xml);
  const Lines lines = read(xml);
  REQUIRE(lines.size() == 1);
  return lines[0];
}
std::string create(const std::string& child) { return read_one("<create>" + child + "</create>"); }
std::string trade(const std::string& child) {
  return read_one("<transactions id='7'>" + child + "</transactions>");
}

// Returns the text after the beginning that a line must have.
std::string after(const std::string& beginning, const std::string& line) {
  CHECK(line.substr(0, beginning.size()) == beginning);
  return line.substr(std::min(beginning.size(), line.size()));
}
// Returns how an element with these attributes and this content is read, after what it repeats.
std::string account(const std::string& id, const std::string& balance,
                    const std::string& content = "") {
  return after("create_account [" + id + "]: ", create("<account id='" + id + "' balance='" +
                                                       balance + "'>" + content + "</account>"));
}
std::string placement(const std::string& shares) {
  return after("place_shares [A] [1]: ",
               create("<symbol sym='A'><account id='1'>" + shares + "</account></symbol>"));
}
std::string order(const std::string& symbol, const std::string& amount, const std::string& limit,
                  const std::string& content = "") {
  return after("order [" + symbol + "] [" + amount + "] [" + limit + "]: ",
               trade("<order sym='" + symbol + "' amount='" + amount + "' limit='" + limit + "'>" +
                     content + "</order>"));
}

const std::string long_id(64, '9'), long_symbol(32, 'Z');
const std::string bad_account_id = "error: account id must be 1 to 64 digits";
const std::string bad_symbol = "error: symbol must be 1 to 32 letters and digits";

}  // namespace

TEST_CASE("the root says what a request is") {
  CHECK(read("<create/>") == Lines{});
  CHECK(read("<create><!-- nothing --></create>") == Lines{});
  for (const std::string root : {"nonsense", "CREATE", "order"})
    CHECK(read("<" + root + " sym='A' amount='1' limit='1'/>") ==
          Lines{"refused: unknown element '" + root + "'"});
  CHECK(read("<create") ==
        Lines{"refused: malformed XML: " +
              std::string(pugi::xml_document().load_string("<create").description())});
}

TEST_CASE("text between elements is ignored") {
  CHECK(read("<create>x</create>") == Lines{});
  CHECK(read("<create># one account <account id='1' balance='1'/><![CDATA[x]]></create>") ==
        Lines{"create_account [1]: CreateAccount(account 1, balance 1)"});
  CHECK(read("<create><symbol sym='A'># shares <account id='1'>1</account> # none "
             "<account id='2'>2</account>x</symbol></create>") ==
        Lines{"place_shares [A] [1]: PlaceShares(symbol A, account 1, shares 1)",
              "place_shares [A] [2]: PlaceShares(symbol A, account 2, shares 2)"});
  CHECK(create("<symbol sym='A'>5</symbol>") == "create_symbol [A]: CreateSymbol(symbol A)");
  CHECK(read("<transactions id='1'>x</transactions>") == Lines{});
  CHECK(read("<transactions id='1'><query id='1'/>&lt;x<query id='2'/></transactions>") ==
        Lines{"query [1]: QueryOrder(account 1, order 1)",
              "query [2]: QueryOrder(account 1, order 2)"});
}

TEST_CASE("an account is created with an id and a balance") {
  CHECK(account("1", "1000") == "CreateAccount(account 1, balance 1000)");
  CHECK(account("007", "0") == "CreateAccount(account 007)");
  CHECK(account(long_id, ".0000000000000001") ==
        "CreateAccount(account " + long_id + ", balance 0.0000000000000001)");
  CHECK(account("1", "-0") == "CreateAccount(account 1)");
  CHECK(create("<account balance=\"&#x31;0\" id=\"&#49;\" more='yes'><!-- c --></account>") ==
        "create_account [&#49;]: CreateAccount(account 1, balance 10)");

  CHECK(create("<account balance='1'/>") == "create_account: error: missing attribute 'id'");
  CHECK(create("<account id='1'/>") == "create_account [1]: error: missing attribute 'balance'");
  CHECK(create("<account ID='1' balance='1'/>") == "create_account: error: missing attribute 'id'");
  for (const std::string& id :
       Lines{"", "a", "1a", " 1", "1 ", "-1", "+1", "1.0", "٣", "9" + long_id})
    CHECK(account(id, "1") == bad_account_id);
  CHECK(account("1", "") == "error: balance is empty");
  for (const std::string balance :
       {"x", "1e3", "+1", " 1", "1 ", "1,000", "inf", "nan", ".", "-", "--1", "0x10", "1.2.3"})
    CHECK(account("1", balance) == "error: balance is not a plain decimal number");
  CHECK(account("1", "-0.01") == "error: balance is negative");
  CHECK(account("1", "1.99999999999999999") ==
        "CreateAccount(account 1, balance 1.9999999999999999)");
  CHECK(account("1", "0.00000000000000001") ==
        "error: balance has more than the allowed decimals: at most 16 decimals");
  CHECK(account("1", "99999999999999999999999") ==
        "error: balance is out of range: at most 17014118346046923173168.7303715884105727");
  for (const std::string content : {"5", "<b/>"})
    CHECK(account("1", "1", content) == "error: unexpected content in account");
}

TEST_CASE("a symbol gives shares to each account inside it") {
  CHECK(read("<create><symbol sym='SPY'><account id='1'>100</account>"
             "<account id='2'> 5.5\n</account></symbol></create>") ==
        Lines{"place_shares [SPY] [1]: PlaceShares(symbol SPY, account 1, shares 100)",
              "place_shares [SPY] [2]: PlaceShares(symbol SPY, account 2, shares 5.5)"});
  CHECK(create("<symbol sym='A'/>") == "create_symbol [A]: CreateSymbol(symbol A)");
  CHECK(create("<symbol sym='" + long_symbol + "'> </symbol>") ==
        "create_symbol [" + long_symbol + "]: CreateSymbol(symbol " + long_symbol + ")");
  CHECK(create(
            "<symbol sym='&#65;'><account id='&#49;'>1<!-- -->0<![CDATA[0]]></account></symbol>") ==
        "place_shares [&#65;] [&#49;]: PlaceShares(symbol A, account 1, shares 100)");

  CHECK(create("<symbol sym='A'><account>1</account></symbol>") ==
        "place_shares [A]: error: missing attribute 'id'");
  CHECK(create("<symbol sym='A'><account id='x'>1</account></symbol>") ==
        "place_shares [A] [x]: " + bad_account_id);
  for (const std::string empty : {"", " \n "})
    CHECK(placement(empty) == "error: number of shares is empty");
  CHECK(placement("1 0") == "error: number of shares is not a plain decimal number");
  CHECK(placement("-5") == "error: number of shares is negative");
  for (const std::string none : {"0", "-0", "0.000000000"})
    CHECK(placement(none) == "PlaceShares(symbol A, account 1)");
  CHECK(placement("1.999999999") == "PlaceShares(symbol A, account 1, shares 1.99999999)");
  CHECK(placement("0.000000001") ==
        "error: number of shares has more than the allowed decimals: at most 8 decimals");
  CHECK(placement("92233720368") ==
        "error: number of shares is out of range: must be below 92233720368");
  CHECK(placement("5<b/>") == "error: unexpected element in account");
}

TEST_CASE("a symbol that is wrong is wrong for each account inside it") {
  for (const std::string& symbol : Lines{"", "A B", "A-B", " A", "ä", "A.B", "Z" + long_symbol}) {
    CHECK(create("<symbol sym='" + symbol + "'/>") ==
          "create_symbol [" + symbol + "]: " + bad_symbol);
    CHECK(read("<create><symbol sym='" + symbol +
               "'><account id='1'>1</account><account>1</account></symbol></create>") ==
          Lines{"place_shares [" + symbol + "] [1]: " + bad_symbol,
                "place_shares [" + symbol + "]: " + bad_symbol});
  }
  CHECK(create("<symbol/>") == "create_symbol: error: missing attribute 'sym'");
  CHECK(create("<symbol><account id='1'>1</account></symbol>") ==
        "place_shares - [1]: error: missing attribute 'sym'");
}

TEST_CASE("an unknown element is an error in its place and the others are read") {
  CHECK(read("<create><account id='1' balance='1'/><what id='2'/>"
             "<symbol sym='A'><why/><account id='1'>1</account></symbol></create>") ==
        Lines{"create_account [1]: CreateAccount(account 1, balance 1)",
              "unknown: error: unknown element 'what'", "unknown: error: unknown element 'why'",
              "place_shares [A] [1]: PlaceShares(symbol A, account 1, shares 1)"});
  CHECK(
      read("<transactions id='7'><buy/><query id='1'/></transactions>") ==
      Lines{"unknown: error: unknown element 'buy'", "query [1]: QueryOrder(account 7, order 1)"});
  const auto unknown = [](const std::string& name) {
    return after("unknown: error: unknown element ", create("<" + name + "/>"));
  };
  const std::string a64(64, 'a'), a63(63, 'a');
  CHECK(unknown(a64) == "'" + a64 + "'");
  CHECK(unknown(a64 + "b") == "'" + a64 + "…'");
  CHECK(unknown(a63 + "€") == "'" + a63 + "…'");  // not cut within a character
}

TEST_CASE("an order buys above zero and sells below") {
  CHECK(order("SPY", "300", "125") == "PlaceOrder(account 7, symbol SPY, shares 300, limit 125)");
  CHECK(trade("<order limit=\"127.50\" amount=\"-400.0\" sym=\"SPY\"/>") ==
        "order [SPY] [-400.0] [127.50]: PlaceOrder(account 7, symbol SPY, side sell, shares 400, "
        "limit 127.5)");
  CHECK(order("A", "-.5", "5.") ==
        "PlaceOrder(account 7, symbol A, side sell, shares 0.5, limit 5)");
  CHECK(order("A", "0.00000001", "92233720367.99999999") ==
        "PlaceOrder(account 7, symbol A, shares 0.00000001, limit 92233720367.99999999)");
  CHECK(order("&#65;", "&#49;", "&#x32;") == "PlaceOrder(account 7, symbol A, shares 1, limit 2)");

  const std::string missing = "error: missing attribute ";
  CHECK(trade("<order/>") == "order: " + missing + "'sym'");
  CHECK(trade("<order amount='1' limit='2'/>") == "order - [1] [2]: " + missing + "'sym'");
  CHECK(trade("<order sym='A' limit='2'/>") == "order [A] - [2]: " + missing + "'amount'");
  CHECK(trade("<order sym='A' amount='1'/>") == "order [A] [1]: " + missing + "'limit'");
  CHECK(order("", "1", "2") == bad_symbol);
  for (const std::string zero : {"0", "-0.0"})
    CHECK(order("A", zero, "2") == "error: amount is zero");
  for (const std::string low : {"0", "-2"})
    CHECK(order("A", "1", low) == "error: limit must be above zero");
  for (const std::string content : {"x", "<b/>"})
    CHECK(order("A", "1", "2", content) == "error: unexpected content in order");
  const auto wrong = [](const std::string& number, const std::string& sentence) {
    CHECK(order("A", number, "2") == "error: amount " + sentence);
    CHECK(order("A", "1", number) == "error: limit " + sentence);
  };
  wrong("", "is empty");
  for (const std::string number :
       {"x", "+1", "1e3", " 1", "1 ", "inf", "NaN", ".", "-", "1.2.3", "1,5", "&lt;"})
    wrong(number, "is not a plain decimal number");
  for (const std::string number : {"92233720368", "-92233720368"})
    wrong(number, "is out of range: must be below 92233720368");
}

TEST_CASE("a limit is rounded in favour of its owner, an amount towards zero") {
  CHECK(order("A", "1.000000000000", "2.000000000000") ==
        "PlaceOrder(account 7, symbol A, shares 1, limit 2)");
  CHECK(order("A", "1", "2.000000019") ==
        "PlaceOrder(account 7, symbol A, shares 1, limit 2.00000001)");
  CHECK(order("A", "-1", "2.000000011") ==
        "PlaceOrder(account 7, symbol A, side sell, shares 1, limit 2.00000002)");
  CHECK(order("A", "-1", "0.000000001") ==
        "PlaceOrder(account 7, symbol A, side sell, shares 1, limit 0.00000001)");
  const std::string too_many = "has more than the allowed decimals: at most 8 decimals";
  CHECK(order("A", "1", "0.000000001") == "error: limit " + too_many);
  CHECK(order("A", "0.000000001", "1") == "error: amount " + too_many);
  CHECK(order("A", "-0.000000001", "1") == "error: amount " + too_many);
  CHECK(order("A", "-10.100000000000001", "1") ==
        "PlaceOrder(account 7, symbol A, side sell, shares 10.1, limit 1)");
  CHECK(order("A", "10.199999999999999", "1") ==
        "PlaceOrder(account 7, symbol A, shares 10.19999999, limit 1)");
  CHECK(order("A", "-1", "92233720367.999999999") ==
        "error: limit is out of range: must be below 92233720368");
}

TEST_CASE("queries and cancels name an order by its number") {
  CHECK(trade("<query id='1'/>") == "query [1]: QueryOrder(account 7, order 1)");
  CHECK(trade("<cancel id='0012'/>") == "cancel [0012]: CancelOrder(account 7, order 12)");
  CHECK(trade("<query id='18446744073709551615'/>") ==
        "query [18446744073709551615]: QueryOrder(account 7, order 18446744073709551615)");
  CHECK(trade("<query id='&#50;'/>") == "query [&#50;]: QueryOrder(account 7, order 2)");
  for (const std::string element : {"query", "cancel"}) {
    for (const std::string id :
         {"", "0", "00", "-1", "+1", "1.0", "x", " 1", "1 ", "18446744073709551616"})
      CHECK(trade("<" + element + " id='" + id + "'/>") ==
            element + " [" + id + "]: error: transaction id must be a whole number from 1");
    CHECK(trade("<" + element + " id='1'>x</" + element + ">") ==
          element + " [1]: error: unexpected content in " + element);
  }
}

TEST_CASE("the account of transactions is id, or account where that is absent") {
  CHECK(read("<transactions account='8'><query id='1'/></transactions>") ==
        Lines{"query [1]: QueryOrder(account 8, order 1)"});
  CHECK(read("<transactions account='8' id='7'><query id='1'/></transactions>") ==
        Lines{"query [1]: QueryOrder(account 7, order 1)"});
  CHECK(read("<transactions id='' account='8'><query id='1'/></transactions>") ==
        Lines{"query [1]: error: unknown account: an account id is 1 to 64 digits"});
}

TEST_CASE("a query may say from which execution on") {
  CHECK(trade("<query id='1' from='1'/>") == "query [1]: QueryOrder(account 7, order 1)");
  CHECK(trade("<query ref='a' from='100001'/>") ==
        "query - [a]: QueryOrder(account 7, reference a, from 100001)");
  for (const std::string from : {"", "0", "-1", "1.0", "x", "18446744073709551616"})
    CHECK(trade("<query id='1' from='" + from + "'/>") ==
          "query [1]: error: from must be a whole number from 1");
  CHECK(trade("<cancel id='1' from='x'/>") == "cancel [1]: CancelOrder(account 7, order 1)");
}

TEST_CASE("a query needs an order, a cancel needs one or says that it is of all") {
  CHECK(trade("<query/>") == "query: error: missing attribute 'id'");
  const std::string missing =
      "cancel: error: missing attribute 'id'; all=\"true\" cancels all open orders";
  for (const char* attributes : {"", " order='1'", " all='true' Id='1'", " sym='A' account='7'"})
    CHECK(trade("<cancel" + std::string(attributes) + "/>") == missing);
  CHECK(trade("<cancel all='true'/>") == "cancel_all: CancelAll(account 7)");
  CHECK(trade("<cancel all='true' sym='A'/>") == "cancel_all [A]: CancelAll(account 7, symbol A)");
  CHECK(trade("<cancel all='true' id='1'/>") == "cancel [1]: CancelOrder(account 7, order 1)");
  for (const char* other : {"false", "", "TRUE", "yes", "1"})
    CHECK(trade("<cancel all='" + std::string(other) + "'/>") ==
          "cancel_all: error: all must be true");
  CHECK(trade("<cancel sym='A&#66;'/>") == "cancel_all [A&#66;]: CancelAll(account 7, symbol AB)");
  CHECK(trade("<cancel sym='A' id='1'/>") == "cancel [1]: CancelOrder(account 7, order 1)");
  CHECK(trade("<cancel sym=''/>") ==
        "cancel_all []: error: symbol must be 1 to 32 letters and digits");
  CHECK(trade("<cancel all='true'>1</cancel>") ==
        "cancel_all: error: unexpected content in cancel");
}

TEST_CASE("a replace names an order and gives its new amount and limit") {
  CHECK(trade("<replace id='0012' amount='-5.0' limit='2.5'/>") ==
        "replace [0012] - [-5.0] [2.5]: ReplaceOrder(account 7, side sell, order 12, shares 5, "
        "limit 2.5)");
  CHECK(trade("<replace limit=\"&#50;\" ref=\"a&#66;\" amount=\"&#x31;\" sym=\"x\"/>") ==
        "replace - [a&#66;] [&#x31;] [&#50;]: ReplaceOrder(account 7, shares 1, limit 2, reference "
        "aB)");
  const auto replace = [](const std::string& amount, const std::string& limit) {
    return after("replace [1] - [" + amount + "] [" + limit + "]: ",
                 trade("<replace id='1' amount='" + amount + "' limit='" + limit + "'/>"));
  };
  // as for an order
  CHECK(replace("-1.999999999", "2") ==
        "ReplaceOrder(account 7, side sell, order 1, shares 1.99999999, limit 2)");
  CHECK(replace("1", "2.000000019") ==
        "ReplaceOrder(account 7, order 1, shares 1, limit 2.00000001)");
  CHECK(replace("-1", "2.000000011") ==
        "ReplaceOrder(account 7, side sell, order 1, shares 1, limit 2.00000002)");

  const std::string missing = "error: missing attribute ",
                    too_many = "has more than the allowed decimals: at most 8 decimals";
  CHECK(trade("<replace/>") == "replace: " + missing + "'id'");
  CHECK(trade("<replace amount='1' limit='2'/>") == "replace - - [1] [2]: " + missing + "'id'");
  CHECK(trade("<replace id='1' limit='2'/>") == "replace [1] - - [2]: " + missing + "'amount'");
  CHECK(trade("<replace ref='a' amount='1'/>") == "replace - [a] [1]: " + missing + "'limit'");
  CHECK(trade("<replace id='1' ref='a' amount='1' limit='2'/>") ==
        "replace [1] [a] [1] [2]: error: both 'id' and 'ref' are given");
  for (const std::string id : {"", "0", "-1", "1.0", "x", "18446744073709551616"})
    CHECK(trade("<replace id='" + id + "' amount='1' limit='2'/>") ==
          "replace [" + id + "] - [1] [2]: error: transaction id must be a whole number from 1");
  for (const std::string& reference : {std::string(), std::string("a b"), std::string(65, 'r')})
    CHECK(trade("<replace ref='" + reference + "' amount='1' limit='2'/>") ==
          "replace - [" + reference +
              "] [1] [2]: error: ref must be 1 to 64 characters of A-Z a-z 0-9 . _ : -");
  for (const std::string content : {"x", "<b/>"})
    CHECK(trade("<replace id='1' amount='1' limit='2'>" + content + "</replace>") ==
          "replace [1] - [1] [2]: error: unexpected content in replace");
  for (const std::string term :
       {"tif='gtc'", "tif=''", "post='false'", "type='limit'", "stp='none'"})
    CHECK(trade("<replace id='1' amount='1' limit='2' " + term + "/>") ==
          "replace [1] - [1] [2]: error: a replace cannot have " + term.substr(0, term.find('=')));
  CHECK(replace("", "2") == "error: amount is empty");
  CHECK(replace("-0", "2") == "error: amount is zero");
  CHECK(replace("x", "2") == "error: amount is not a plain decimal number");
  CHECK(replace("-0.000000001", "2") == "error: amount " + too_many);
  CHECK(replace("92233720368", "2") == "error: amount is out of range: must be below 92233720368");
  CHECK(replace("1", "") == "error: limit is empty");
  for (const std::string low : {"0", "-2"})
    CHECK(replace("1", low) == "error: limit must be above zero");
  CHECK(replace("1", "0.000000001") == "error: limit " + too_many);
  CHECK(replace("-1", "92233720367.999999999") ==
        "error: limit is out of range: must be below 92233720368");
}

TEST_CASE("transactions without a usable account are an error for each child") {
  const std::string children =
      "<order sym='A' amount='1' limit='2'/><query id='1'/><cancel sym='A'/>"
      "<replace ref='a' amount='1' limit='2'/><what/>";
  for (const auto& [attribute, sentence] :
       {std::pair<std::string, std::string>{"", "missing attribute 'id' of transactions"},
        {" id=''", "unknown account: an account id is 1 to 64 digits"},
        {" id='x'", "unknown account: an account id is 1 to 64 digits"}})
    CHECK(read("<transactions" + attribute + ">" + children + "</transactions>") ==
          Lines{"order [A] [1] [2]: error: " + sentence, "query [1]: error: " + sentence,
                "cancel_all [A]: error: " + sentence, "replace - [a] [1] [2]: error: " + sentence,
                "unknown: error: unknown element 'what'"});
}

TEST_CASE("transactions without elements give no results, known account or not") {
  for (const std::string account : {" id='1'", " id='x'", ""}) {
    CHECK(read("<transactions" + account + "/>") == Lines{});
    CHECK(read("<transactions" + account + "><!-- c --> </transactions>") == Lines{});
  }
}

TEST_CASE("a request has so many elements at most, else nothing of it is done") {
  const ProtocolLimits limits{.elements_max = 3};
  const auto with = [&](int count, const std::string& begin, const std::string& child,
                        const std::string& end) {
    return read(begin + repeated(child, count) + end, limits);
  };
  const Lines refused{"refused: more than 3 elements in one request"};
  const struct {
    std::string begin, child, end;
  } cases[] = {{"<create>", "<what/>", "</create>"},
               {"<create><symbol sym='A'>", "<account id='1'>1</account>", "</symbol></create>"},
               {"<transactions id='1'>", "<query id='1'/>", "</transactions>"}};
  for (const auto& [begin, child, end] : cases) {
    INFO(begin);
    CHECK(with(3, begin, child, end).size() == 3);
    CHECK(with(4, begin, child, end) == refused);
  }
}

TEST_CASE("white space inside a number is no part of it, whatever comments stand beside it") {
  CHECK(placement(" <!-- a --> 1<!-- b -->0 <!-- c --> ") ==
        "PlaceShares(symbol A, account 1, shares 10)");
  for (const std::string apart :
       {"1 0", "1<!-- a --> 0", "1<!-- a --> <!-- b -->0", "1<?a b?>\n<?c d?>0"})
    CHECK(placement(apart) == "error: number of shares is not a plain decimal number");
}
