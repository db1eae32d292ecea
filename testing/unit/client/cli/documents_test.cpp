// The XML that the terminal client sends.
#include "client/cli/documents.hpp"

#include "catch.hpp"
#include "protocol/request_writer.hpp"

using namespace exchange;
using namespace exchange::cli;

namespace {

template <class... What>
std::string error(const What&... what) {
  try {
    write_document(what...);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("each command becomes one document, its numbers as typed") {
  CHECK(write_document(NewAccount{"007", "100000.10"}) ==
        R"(<create><account id="007" balance="100000.10"/></create>)");
  CHECK(write_document(NewSymbol{"SPY", {}}) == R"(<create><symbol sym="SPY"/></create>)");
  CHECK(write_document(NewSymbol{"SPY", {{"1", "500"}, {"2", ".5"}}}) ==
        R"(<create><symbol sym="SPY"><account id="1">500</account><account id="2">.5</account>)"
        R"(</symbol></create>)");
  CHECK(write_document(SetRules{"SPY", {{"tick", "0.050"}, {"order-max", "0"}}}) ==
        R"(<create><instrument sym="SPY" tick="0.050" order-max="0"/></create>)");
  CHECK(write_document(SetRules{{}, {}, {"open", "halted"}}) ==
        R"(<create><instrument trading="open"/><instrument trading="halted"/></create>)");
  CHECK(write_document(NewOrder{Side::buy, "SPY", "100", "145.67"}, "1") ==
        R"(<transactions id="1"><order sym="SPY" amount="100" limit="145.67"/></transactions>)");
  CHECK(
      write_document(NewOrder{Side::sell, "SPY", "0.00000001", "5."}, "1") ==
      R"(<transactions id="1"><order sym="SPY" amount="-0.00000001" limit="5."/></transactions>)");
  CHECK(write_document(Replacement{"7", Side::buy, "80", "145.50"}, "1") ==
        R"(<transactions id="1"><replace id="7" amount="80" limit="145.50"/></transactions>)");
  CHECK(write_document(Replacement{"ref:a-7", Side::sell, ".5", "5."}, "1") ==
        R"(<transactions id="1"><replace ref="a-7" amount="-.5" limit="5."/></transactions>)");
  CHECK(write_document(CancelOrders{{"1", "2"}}, "3") ==
        R"(<transactions id="3"><cancel id="1"/><cancel id="2"/></transactions>)");
  CHECK(write_document(CancelAllOrders{}, "3") ==
        R"(<transactions id="3"><cancel all="true"/></transactions>)");
  CHECK(write_document(CancelAllOrders{"SPY"}, "3") ==
        R"(<transactions id="3"><cancel sym="SPY"/></transactions>)");
  CHECK(write_document(ShowOrders{{"1"}}, "3") ==
        R"(<transactions id="3"><query id="1"/></transactions>)");
}

TEST_CASE("what the operator changes of accounts") {
  CHECK(write_document(NewKey{"1", ""}, "new key of 1", {}) ==
        R"(<create><set-key id="1" key="new key of 1"/></create>)");
  CHECK(write_document(NewKey{}, "new key of 1", {"old key of 1", "1"}) ==
        R"(<transactions id="1" key="old key of 1"><set-key key="new key of 1"/></transactions>)");
  CHECK(write_document(RevokedKey{"1"}) == R"(<create><set-key id="1" revoke="true"/></create>)");
  CHECK(write_document(AccountChange{"1", {{"role", "operator"}}}) ==
        R"(<create><set-account id="1" role="operator"/></create>)");
  CHECK(write_document(AccountChange{"1", {{"orders-max", "0"}, {"position-max", "1.50"}}}) ==
        R"(<create><set-account id="1" orders-max="0" position-max="1.50"/></create>)");
  CHECK(write_document(Adjustment{"1", {}, "-5", "fine"}) ==
        R"(<create><adjust-cash id="1" amount="-5" reason="fine"/></create>)");
  CHECK(write_document(Adjustment{"1", "S", "0.5", "gift"}) ==
        R"(<create><adjust-shares sym="S" id="1" amount="0.5" reason="gift"/></create>)");
  CHECK(write_document(AccountChange{"1", {{"name", "Zo\u00eb & <\"Co\""}}}) ==
        "<create><set-account id=\"1\" name=\"Zo\u00eb &amp; &lt;&quot;Co&quot;\"/></create>");
  CHECK(write_document(NewRound{"one"}) == R"(<create><begin-round name="one"/></create>)");
  CHECK(error(NewRound{"two words"}) == "name must be 1 to 64 characters of A-Z a-z 0-9 . _ : -");
  CHECK(error(AccountChange{"1", {{"name", " Ada"}}}) ==
        "name must have at most 40 bytes of UTF-8, no control characters, and no spaces at its "
        "ends");
  CHECK(error(NewKey{"1", ""}, "short", Sender()) == "a key has 8 to 128 bytes");
  CHECK(error(NewKey{"1", ""}, "", Sender()) == "a key has 8 to 128 bytes");
  CHECK(error(NewKey{"one", ""}, "long enough", Sender()) == "account id must be 1 to 64 digits");
  CHECK(error(AccountChange{"1", {{"orders-max", "1.5"}}}) ==
        "orders-max must be a whole number from 1");
  CHECK(error(Adjustment{"1", {}, "1e3", "fine"}) == "amount is not a plain decimal number");
  CHECK(error(Adjustment{"1", {}, "1", "two words"}) ==
        "reason must be 1 to 64 characters of A-Z a-z 0-9 . _ : -");
}

TEST_CASE("an account that is an operator sends what is the operator's, with its own key") {
  const Sender by{"key of seven", "7"};
  CHECK(write_document(AccountChange{"1", {{"access", "frozen"}}}, by) ==
        R"(<create id="7" key="key of seven"><set-account id="1" access="frozen"/></create>)");
  CHECK(write_document(NewAccount{"1", "5"}, "key of one", by) ==
        R"(<create id="7" key="key of seven"><account id="1" balance="5" key="key of one"/>)"
        R"(</create>)");
  CHECK(without_keys(write_document(NewKey{"1", ""}, "key of one", by)) ==
        R"(<create id="7" key="…"><set-key id="1" key="…"/></create>)");
  CHECK(error(RevokedKey{"1"}, Sender{"key of seven", "seven"}) ==
        "account id must be 1 to 64 digits");
}

TEST_CASE("the terms of an order are attributes") {
  const NewOrder sell{Side::sell, "S", "5",
                      "market",   "R", {{"tif", "ioc"}, {"stp", "cancel-resting"}}};
  CHECK(write_document(sell, "1") ==
        R"(<transactions id="1"><order sym="S" amount="-5" ref="R" tif="ioc" type="market")"
        R"( stp="cancel-resting"/></transactions>)");
  CHECK(error(NewOrder{Side::buy, "S", "1", "market", "", {{"tif", "fok"}}}, "1") ==
        "a market order cannot have tif gtc or fok");
  CHECK(error(NewOrder{Side::buy, "S", "1", "market", "", {{"post", "true"}}}, "1") ==
        "a market order cannot have post");
  CHECK(error(NewOrder{Side::buy, "S", "1", ""}, "1") != "");
}

TEST_CASE("an error is reported with the server's sentence") {
  CHECK(error(NewAccount{"x", "1"}) == "account id must be 1 to 64 digits");
  CHECK(error(NewAccount{"1", "1e3"}) == "balance is not a plain decimal number");
  CHECK(error(NewSymbol{"S P", {}}) == "symbol must be 1 to 32 letters and digits");
  CHECK(error(NewSymbol{"S", {{"1", "-1"}}}) == "number of shares is negative");
  CHECK(error(SetRules{"S", {{"lot", "-1"}}}) == "lot is negative");
  CHECK(error(NewOrder{Side::buy, "S", "1", "0"}, "1") == "limit must be above zero");
  CHECK(error(NewOrder{Side::buy, "S", "1x", "1"}, "1") ==
        "number of shares is not a plain decimal number");
  CHECK(error(NewOrder{Side::buy, "S", "1", "1"}, "one") == "account id must be 1 to 64 digits");
  CHECK(error(CancelOrders{{"0"}}, "1") == "transaction id must be a whole number from 1");
  CHECK(error(Replacement{"1", Side::buy, "1", "market"}, "1") ==
        "limit is not a plain decimal number");
  CHECK(error(CancelAllOrders{"S P"}, "1") == "symbol must be 1 to 32 letters and digits");
  CHECK(error(ShowOrders{{"7", "1.5"}}, "1") == "transaction id must be a whole number from 1");
}

TEST_CASE("a number of shares never turns an order to the other side") {
  for (const Side side : {Side::buy, Side::sell})
    for (const char* shares : {"-5", "0", "-0", "--5"}) {
      CHECK(error(NewOrder{side, "S", shares, "1"}, "1") != "");
      CHECK(error(Replacement{"7", side, shares, "1"}, "1") != "");
    }
  CHECK(error(NewOrder{Side::buy, "S", "-5", "1"}, "1") == "number of shares must be above zero");
}

TEST_CASE("nothing typed breaks out of an attribute") {
  CHECK(error(NewSymbol{R"(S"/><account id="9)", {}}) ==
        "symbol must be 1 to 32 letters and digits");
  CHECK(error(NewSymbol{"S", {{"1", "5</account><account id=\"2\">6"}}}) ==
        "number of shares is not a plain decimal number");
  CHECK(error(NewAccount{"1&#50;", "1"}) == "account id must be 1 to 64 digits");
  CHECK(error(NewAccount{"1\n", "1"}) == "account id must be 1 to 64 digits");
  CHECK(error(CancelOrders{{"1<"}}, "1") == "transaction id must be a whole number from 1");
  CHECK(error(Replacement{R"(ref:a" amount="5)", Side::buy, "1", "1"}, "1") ==
        "ref must be 1 to 64 characters of A-Z a-z 0-9 . _ : -");
}

TEST_CASE("without an account the message says how to choose one") {
  CHECK_THAT(error(CancelOrders{{"1"}}, ""), contains_text("--account"));
}

TEST_CASE("a key goes with what is the account's, escaped, and is not shown") {
  const std::string key = R"(a"b<c&d key=")";
  CHECK(write_document(NewAccount{"1", "5"}, key) ==
        R"(<create><account id="1" balance="5" key="a&quot;b&lt;c&amp;d key=&quot;"/></create>)");
  CHECK(write_document(CancelOrders{{"1"}}, "3", key) ==
        R"(<transactions id="3" key="a&quot;b&lt;c&amp;d key=&quot;">)"
        R"(<cancel id="1"/></transactions>)");
  CHECK(write_document(ShowOrders{{"1"}}, "3", key) ==
        R"(<transactions id="3" key="a&quot;b&lt;c&amp;d key=&quot;">)"
        R"(<query id="1"/></transactions>)");
  CHECK(without_keys(write_document(NewAccount{"1", "5"}, key)) ==
        R"(<create><account id="1" balance="5" key="…"/></create>)");
  CHECK(without_keys(write_document(NewOrder{Side::buy, "S", "1", "2"}, "3", "long enough")) ==
        R"(<transactions id="3" key="…"><order sym="S" amount="1" limit="2"/></transactions>)");
  CHECK(without_keys(write_document(ShowOrders{{"1"}}, "3")) ==
        R"(<transactions id="3"><query id="1"/></transactions>)");
  CHECK(write_document(NewAccount{"1", "5"}, "long enough", Sender{"operator's"}) ==
        R"(<create key="operator's"><account id="1" balance="5" key="long enough"/></create>)");
  CHECK(write_document(NewSymbol{"S", {}}, Sender{"operator's"}) ==
        R"(<create key="operator's"><symbol sym="S"/></create>)");
  CHECK(write_document(SetRules{"S", {}, {"halted"}}, Sender{"operator's"}) ==
        R"(<create key="operator's"><instrument sym="S" trading="halted"/></create>)");
  CHECK(without_keys(write_document(NewAccount{"1", "5"}, "long enough", Sender{"operator's"})) ==
        R"(<create key="…"><account id="1" balance="5" key="…"/></create>)");
  CHECK(error(NewAccount{"1", "5"}, "short") == "a key has 8 to 128 bytes");
  CHECK(error(ShowOrders{{"1"}}, "3", std::string(129, 'k')) == "a key has 8 to 128 bytes");
}

TEST_CASE("a scenario is a document that the server takes, with the operator's key") {
  CHECK(write_scenario(
            "<?xml version='1.0'?>\n<!-- <create> -->\n<create>\n"
            "<account id='1' balance='5' key='secret-of-1'/><set-key id='1' revoke='true'/>"
            "</create>",
            "operator-1") ==
        R"(<create key="operator-1"><account id="1" balance="5" key="secret-of-1"/>)"
        R"(<set-key id="1" revoke="true"/></create>)");
  const auto refusal = [](const char* text) {
    try {
      write_scenario(text, "operator-1");
      return std::string();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  CHECK(refusal("<create>").find("at byte") != std::string::npos);
  CHECK(refusal("<transactions id='1'/>") == "it is not a <create> document");
  CHECK(refusal("<create><account id='1'/></create>").find("balance") != std::string::npos);
  CHECK_THAT(refusal("<create><account id='1' balance='5'/></create>"), contains_text("'key'"));
  CHECK(refusal("<create key='operator-1'/>") ==
        "it has a key; --operator-key-file names the one to use");
}
