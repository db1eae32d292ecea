// The audit checks balances: an account can spend all its free cash, and no more.
#include "client/loadgen/audit/balance_probe.hpp"

#include <regex>

#include "catch.hpp"
#include "unit/client/loadgen/audit/audit_support.hpp"

using namespace exchange;
using namespace exchange::loadgen;

TEST_CASE("balances are found to the last unit, however large or small") {
  HonestServer server;
  AuditInput input{.symbol_name = symbol_name, .probe_symbol = "PROBE"};
  for (const std::int64_t cash :
       {0ll, 1ll, 922ll, 923ll, 12'345'678'901ll, 1'000'000'000'000ll, 9'000'000'000'000'000'000ll})
    input.accounts.push_back(
        {std::to_string(100 + input.accounts.size()), cash, {{1, 1 + cash % 10}}});
  input.accounts.push_back({"200", 7, {{2, 92'233'720'367}, {2, 1}, {3, 92'233'720'367}}});
  const Ask ask = [&](std::string_view document) { return server.ask(document); };
  create(input, ask);
  CHECK(text_of(audit(input, ask)) == "");

  for (AuditAccount& account : input.accounts) {
    AuditInput less = input, more = input;
    AuditAccount& changed = less.accounts[std::size_t(&account - input.accounts.data())];
    if (changed.cash > 0) {
      --changed.cash;
      CHECK_THAT(text_of(audit(less, ask)),
                 contains_text("but the server opened <order sym=\"PROBE\""));
    }
    ++more.accounts[std::size_t(&account - input.accounts.data())].cash;
    CHECK_THAT(text_of(audit(more, ask)),
               contains_text("but the server refused <order sym=\"PROBE\""));
  }
}

// A server that keeps whole shares and cents: it refuses numbers that it cannot hold.
TEST_CASE("a lenient audit passes a server that knows no more than two decimals") {
  HonestServer server;
  AuditInput input{.symbol_name = symbol_name, .probe_symbol = "PROBE", .lenient = true};
  for (const std::int64_t cash : {0ll, 1ll, 92'233'720'367ll, 92'233'720'368ll, 999'999'999'999ll})
    input.accounts.push_back(
        {std::to_string(100 + input.accounts.size()), cash, {{1, 1 + cash % 10}}});
  input.accounts.push_back({"200", 7, {{2, 92'233'720'367}}});
  const Ask ask = [&](std::string_view document) {
    static const std::regex fine(R"(( amount="-?\d+")|( limit="\d+(\.\d\d?)?"))");
    std::string rest = std::regex_replace(std::string(document), fine, "");
    CHECK_THAT(rest, !contains_text("amount") && !contains_text("limit"));
    return server.ask(document);
  };
  create(input, ask);
  CHECK(text_of(audit(input, ask)) == "");

  for (std::size_t i = 0; i < input.accounts.size(); ++i) {
    INFO("account " << i);
    AuditInput less = input, more = input;
    if (less.accounts[i].cash-- > 0)
      CHECK_THAT(text_of(audit(less, ask)),
                 contains_text("but the server opened <order sym=\"PROBE\""));
    ++more.accounts[i].cash;
    CHECK_THAT(text_of(audit(more, ask)),
               contains_text("but the server refused <order sym=\"PROBE\""));
    less = more = input;
    --less.accounts[i].shares[0].shares;
    ++more.accounts[i].shares[0].shares;
    CHECK_THAT(text_of(audit(less, ask)), contains_text("but the server opened <order sym=\"S"));
    CHECK_THAT(text_of(audit(more, ask)), contains_text("but the server refused <order sym=\"S"));
  }
}

TEST_CASE("shares too many by the smallest unit are found") {
  HonestServer server;
  const Ask ask = [&](std::string_view document) { return server.ask(document); };
  AuditInput input{
      .accounts = {{"1", 7, {{1, 5}}}}, .symbol_name = symbol_name, .probe_symbol = "PROBE"};
  create(input, ask);
  CHECK(text_of(audit(input, ask)) == "");
  server.ask("<create><symbol sym=\"" + symbol_name(1) +
             "\"><account id=\"1\">0.00000001</account></symbol></create>");
  CHECK_THAT(text_of(audit(input, ask)),
             contains_text("but the server opened <order sym=\"" + symbol_name(1) + "\""));
}
