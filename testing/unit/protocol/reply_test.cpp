#include "protocol/reply.hpp"

#include "unit/engine/support.hpp"
#include "unit/protocol/support.hpp"

using namespace exchange;

namespace {

template <class AnyCommand>
constexpr std::uint8_t asked = command_kind<AnyCommand>;

std::string reply(const std::vector<RequestElement>& elements, const std::vector<Outcome>& outcomes,
                  bool length_first = false) {
  std::string out = "before";
  const Request request{.error = "", .elements = std::uint32_t(elements.size())};
  CHECK(append_results(out, request, elements, outcomes, length_first) == outcomes.size());
  REQUIRE(out.substr(0, 6) == "before");
  if (!length_first) CHECK(replies_problem(out.substr(6)) == "");
  return out.substr(6);
}
// Returns the one element of the reply to one element.
std::string element(const RequestElement& element, const Outcome& outcome) {
  const std::string text = reply({element}, {outcome});
  REQUIRE(text.substr(0, 9) == "<results>");
  return text.substr(9, text.size() - 9 - 11);
}
std::string error(RequestElement element, const std::string& sentence) {
  element.error = sentence;
  const std::string text = reply({element}, {});
  return text.substr(9, text.size() - 9 - 11);
}

const RequestElement account{asked<CreateAccount>, {"1"}}, symbol{asked<CreateSymbol>, {"S"}},
    placement{asked<PlaceShares>, {"S", "1"}}, order{asked<PlaceOrder>, {"S", "-10", "2.50"}},
    query{asked<QueryOrder>, {"007"}}, cancel{asked<CancelOrder>, {"007"}}, unknown;
const std::string_view absent;
const RequestElement replace{asked<ReplaceOrder>, {"007", absent, "-10", "2.50"}},
    replace_by_reference{asked<ReplaceOrder>, {absent, "a&#66;", "+1", "it's"}};
const Shares five = Shares::whole(5);
const Timestamp then = {123'999'999};

}  // namespace

TEST_CASE("what was created is named as it was written") {
  CHECK(element(account, Created{}) == R"(<created id="1"/>)");
  CHECK(element(symbol, Created{}) == R"(<created sym="S"/>)");
  CHECK(element(placement, Created{}) == R"(<created sym="S" id="1"/>)");
}

TEST_CASE("an opened order repeats its attributes as written and adds its id") {
  CHECK(element(order, Opened{18'446'744}) ==
        R"(<opened sym="S" amount="-10" limit="2.50" id="18446744"/>)");
}

TEST_CASE("a replaced order has its id as a number, and repeats the others as written") {
  CHECK(element(replace, Replaced{7}) == R"(<replaced id="7" amount="-10" limit="2.50"/>)");
  CHECK(element(replace_by_reference, Replaced{18'446'744}) ==
        R"(<replaced id="18446744" ref="a&#66;" amount="+1" limit="it's"/>)");
}

TEST_CASE("errors repeat what identifies the request, where it was given") {
  CHECK(element(account, Rejected{Reason::account_exists}) ==
        R"(<error id="1">account already exists</error>)");
  CHECK(element(placement, Rejected{Reason::unknown_account}) ==
        R"(<error sym="S" id="1">unknown account</error>)");
  CHECK(element(order, Rejected{Reason::insufficient_funds}) ==
        R"(<error sym="S" amount="-10" limit="2.50">insufficient funds</error>)");
  CHECK(element(query, Rejected{Reason::unknown_order}) ==
        R"(<error id="007">no such order of this account</error>)");
  CHECK(element(cancel, Rejected{Reason::nothing_open}) ==
        R"(<error id="007">order has nothing open</error>)");
  CHECK(element(replace, Rejected{Reason::other_side}) ==
        R"(<error id="007" amount="-10" limit="2.50">an order cannot change its side</error>)");
  CHECK(element(replace_by_reference, Rejected{Reason::executed_more}) ==
        R"(<error ref="a&#66;" amount="+1" limit="it's">)"
        "the order has executed that much already</error>");
  CHECK(error({asked<ReplaceOrder>, {"1", "a", absent, "2"}}, "wrong") ==
        R"(<error id="1" ref="a" limit="2">wrong</error>)");
  CHECK(error({asked<ReplaceOrder>}, "wrong") == "<error>wrong</error>");
  CHECK(error(unknown, "unknown element 'x'") == "<error>unknown element 'x'</error>");
  CHECK(error({asked<PlaceOrder>, {"S", absent, ""}}, "wrong") ==
        R"(<error sym="S" limit="">wrong</error>)");
  CHECK(error({asked<CreateAccount>}, "wrong") == "<error>wrong</error>");
  CHECK(error({asked<PlaceShares>, {absent, "1"}}, "wrong") == R"(<error id="1">wrong</error>)");
}

TEST_CASE("attributes are repeated as written, whatever quotes they stood in") {
  CHECK(error({asked<CreateAccount>, {R"(a"b"c)"}}, "wrong") ==
        R"(<error id="a&quot;b&quot;c">wrong</error>)");
  CHECK(error({asked<CreateAccount>, {R"(")"}}, "wrong") == R"(<error id="&quot;">wrong</error>)");
  CHECK(error({asked<CreateAccount>, {"it's"}}, "wrong") == R"(<error id="it's">wrong</error>)");
  CHECK(error({asked<CreateAccount>, {"&#65;&lt;&amp;&quot;"}}, "wrong") ==
        R"(<error id="&#65;&lt;&amp;&quot;">wrong</error>)");
  CHECK(error({asked<CreateAccount>, {"ä€😀>"}}, "wrong") == R"(<error id="ä€😀>">wrong</error>)");
}

TEST_CASE("markup in an error's sentence is escaped") {
  CHECK(error(unknown, "a < b & c > d") == "<error>a &lt; b &amp; c &gt; d</error>");
  std::string out;
  append_results(out, {.error = "no <root> & no ]]>"}, {}, {}, false);
  CHECK(out == error_reply("no &lt;root&gt; &amp; no ]]&gt;"));
}

TEST_CASE("a status tells what is open or canceled, then the executions, oldest first") {
  const Execution first = executed(200, 127, then),
                  second{Shares::from_units(1), Price::from_units(12'750'000'000), {1'000'000}};
  CHECK(element(query, Status{7, five, {}, {}, {}}) ==
        R"(<status id="7"><open shares="5"/></status>)");
  CHECK(element(query, Status{7, {}, five, then, {}}) ==
        R"(<status id="7"><canceled shares="5" time="123"/></status>)");
  CHECK(element(query, Status{7, {}, {}, {}, {first}}) ==
        R"(<status id="7"><executed shares="200" price="127" time="123"/></status>)");
  CHECK(element(query, Status{7, five, {}, {}, {first, second}}) ==
        R"(<status id="7"><open shares="5"/><executed shares="200" price="127" time="123"/>)"
        R"(<executed shares="0.00000001" price="127.5" time="1"/></status>)");
  CHECK(element(cancel, Canceled{{7, {}, five, then, {first}}}) ==
        R"(<canceled id="7"><canceled shares="5" time="123"/>)"
        R"(<executed shares="200" price="127" time="123"/></canceled>)");
  Status part{7, five, {}, {}, {first}};
  part.next = 100'001;
  CHECK(element(query, part) == R"(<status id="7" next="100001"><open shares="5"/>)"
                                R"(<executed shares="200" price="127" time="123"/></status>)");
  CHECK(element(query, Status{9'223'372'036'854'775'807, five, {}, {}, {}}) ==
        R"(<status id="9223372036854775807"><open shares="5"/></status>)");
}

TEST_CASE("errors and outcomes are answered in the order of their elements") {
  RequestElement wrong = account;
  wrong.error = "wrong";
  CHECK(reply({wrong, account, unknown, wrong, symbol},
              {Created{}, Rejected{Reason::insufficient_shares}, Created{}}) ==
        results(R"(<error id="1">wrong</error><created id="1"/><error>insufficient shares</error>)"
                R"(<error id="1">wrong</error><created sym="S"/>)"));
  CHECK(reply({}, {}) == results(""));
}

TEST_CASE("only the outcomes of the request at hand are used") {
  std::string out;
  const std::vector<RequestElement> elements{account};
  const std::vector<Outcome> outcomes{Created{}, Rejected{Reason::insufficient_shares}};
  CHECK(append_results(out, {.error = "", .elements = 1}, elements, outcomes, false) == 1);
  CHECK(append_results(out, {.error = "no", .elements = 0}, {}, outcomes, false) == 0);
  CHECK(out == results(R"(<created id="1"/>)") + error_reply("no"));
}

TEST_CASE("a length line counts the document and its newline") {
  CHECK(reply({}, {}, true) == "20\n<results></results>\n");
  // bytes, not characters
  CHECK(reply({{asked<CreateAccount>, {"ä"}}}, {Created{}}, true) ==
        "38\n<results><created id=\"ä\"/></results>\n");
  const std::string text =
      reply({account, symbol, placement}, {Created{}, Created{}, Created{}}, true);
  const std::size_t newline = text.find('\n');
  CHECK(std::stoul(text) == text.size() - newline - 1);
}
