// The audit accepts the actions of an honest server, and finds one fault among many correct
// replies.
#include "client/loadgen/audit/audit.hpp"

#include <cstdio>
#include <map>
#include <regex>

#include "catch.hpp"
#include "client/loadgen/audit/order_ids.hpp"
#include "unit/client/loadgen/audit/audit_support.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

template <class Server>
AuditInput run_against(Server& server, std::uint64_t seed, const Habits& habits = {}) {
  std::mt19937_64 random(seed);
  constexpr unsigned symbols = 2;
  AuditInput input = random_accounts(random, 8, symbols);
  // the audit assumes that market buys do not run out of cash
  const bool market = habits.trading_days ||
                      std::count(habits.terms.begin(), habits.terms.end(), Terms::market) > 0;
  for (AuditAccount& account : input.accounts)
    if (market || habits.replaces) account.cash = 1'000'000'000'000;
  // and that the order beside each replace is opened
  for (AuditAccount& account : input.accounts)
    if (habits.replaces) account.shares = {{1, 1'000'000}, {2, 1'000'000}};
  const Ask ask = [&](std::string_view document) { return server.ask(document); };
  create(input, ask);
  RandomRun(input, ask, random, symbols, habits).run(2'000);
  return input;
}

template <class Server>
AuditResult audited(Server& server, AuditInput input) {
  return audit(std::move(input), [&](std::string_view document) { return server.ask(document); });
}

// A server whose replies are edited.
template <class Server>
struct EditedReplies {
  Server server;
  std::function<std::string(std::string)> edit;
  std::string ask(std::string_view document) { return edit(server.ask(document)); }
};

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += by.size())
    text.replace(at, old.size(), by);
  return text;
}

// The states of orders; `list` lists the content of each.
std::string listed(const std::string& reply,
                   const std::function<void(std::vector<std::string>&)>& list) {
  std::string text = "<results>";
  client::ReplyElements elements(reply);
  for (client::ReplyElement element; elements.next(element);) {
    std::vector<std::string> parts;
    client::ReplyElements inner = client::ReplyElements::within(element);
    for (client::ReplyElement part; inner.next(part);)
      parts.push_back("<" + std::string(part.name) + std::string(part.attributes) + ">");
    if (element.name == "error") parts = {std::string(element.content)};
    if (element.name == "status" || element.name == "canceled") list(parts);
    const std::string name(element.name);
    text += "<" + name + std::string(replaced(std::string(element.attributes), "/", "")) + ">";
    for (const std::string& part : parts) text += part;
    text += "</" + name + ">";
  }
  return text + "</results>\n";
}

// Returns the findings of the audit about a server with this fault.
std::string found(Fault fault, bool self_match = true, const Habits& habits = {},
                  std::uint64_t seed = test_seed()) {
  FaultyServer server(fault, self_match);
  AuditInput input = run_against(server, seed, habits);
  server.end_of_run();
  const AuditResult result = audited(server, std::move(input));
  CHECK(result.passed == result.findings.empty());
  CHECK(result.findings.size() <= 21);
  return text_of(result);
}

const std::vector<Terms> some_terms{Terms::ioc, Terms::fok, Terms::post},
    stp{Terms::cancel_resting, Terms::cancel_taking},
    all_terms{Terms::ioc,          Terms::fok, Terms::post, Terms::market, Terms::cancel_resting,
              Terms::cancel_taking};
const Habits replaces{.replaces = true}, replaces_of_all_terms{all_terms, true};

}  // namespace

TEST_CASE("an honest server passes, whatever was asked of it") {
  for (std::uint64_t seed = test_seed(); seed < test_seed() + 10; ++seed) {
    HonestServer server;
    AuditInput input =
        run_against(server, seed, Habits{seed % 2 ? some_terms : std::vector<Terms>()});
    const std::size_t orders = input.history.orders.size();
    const AuditResult result = audited(server, std::move(input));
    CHECK(text_of(result) == "");
    CHECK(result.passed);
    CHECK(result.orders == orders);
    CHECK(result.executions > 100);
    CHECK(result.accounts == 8);
    CHECK(result.cash_moved != "0");
  }
}

TEST_CASE("the audit leaves orders and accounts as they were, so that a second one passes") {
  HonestServer server;
  const AuditInput input = run_against(server, test_seed());
  CHECK(text_of(audited(server, input)) == "");
  CHECK(text_of(audited(server, input)) == "");
}

TEST_CASE("the faulty server of other tests passes without a fault") {
  CHECK(found(Fault::none) == "");
  for (const std::vector<Terms>& terms : {some_terms, stp, {Terms::market}, all_terms})
    for (std::uint64_t seed = test_seed(); seed < test_seed() + 5; ++seed) {
      FaultyServer server(Fault::none);
      AuditInput input = run_against(server, seed, Habits{terms});
      CHECK(text_of(audited(server, std::move(input))) == "");
    }
}

TEST_CASE("an honest server passes with replaces and cancels of all orders") {
  for (std::uint64_t seed = test_seed(); seed < test_seed() + 10; ++seed) {
    HonestServer honest;
    FaultyServer naive(Fault::none), without_self_match(Fault::none, false);
    const Habits& habits = seed % 2 ? replaces : replaces_of_all_terms;
    const auto check = [&](auto& server) {
      AuditInput input = run_against(server, seed, habits);
      CHECK(input.history.replaces.size() > 50);
      CHECK(input.history.cancels_of_all.size() > 20);
      const AuditResult result = audited(server, std::move(input));
      INFO("seed " << seed);
      CHECK(text_of(result) == "");
      CHECK(result.passed);
      CHECK(result.executions > 100);
    };
    check(honest);
    check(naive);
    if (seed % 2) check(without_self_match);
  }
}

TEST_CASE(
    "replaces whose requests opened no order leave the rest to be checked, and are reported") {
  HonestServer server;
  AuditInput input = run_against(server, test_seed(), replaces);
  ReplaceRecord* last = nullptr;
  int replaced = 0;
  for (ReplaceRecord& replace : input.history.replaces)
    for (const OrderRecord& order : input.history.orders)
      if (order.id == replace.id && order.symbol == 1) {
        replace.place = {};
        last = &replace;
        ++replaced;
      }
  REQUIRE(replaced > 10);
  const AuditResult result = audited(server, input);
  CHECK(result.findings.empty());
  CHECK(result.passed);
  CHECK(result.accounts == 8);
  CHECK(result.not_checked ==
        std::to_string(replaced) +
            " replaces were in requests that opened no order, so that it is not known when they "
            "happened: whether the executions of these symbols are the right ones was not checked: "
            "SYM1");
  // Sums and balances are still correct.
  last->amount += last->amount > 0 ? 1 : -1;
  CHECK(!audited(server, input).passed);
}

TEST_CASE("a server that does not match orders of one account passes, and is reported") {
  FaultyServer server(Fault::none, false);
  AuditInput input = run_against(server, test_seed());
  server.end_of_run();
  const AuditResult result = audited(server, std::move(input));
  CHECK(text_of(result) == "");
  CHECK(result.passed);
  CHECK(result.deviations.sentences() ==
        std::vector<std::string>{"orders of one account were not matched with each other (M11)"});
  for (const Fault fault : {Fault::worst_price_first, Fault::newest_first, Fault::takers_price})
    CHECK_THAT(found(fault, false), contains_text("by the rules they execute"));
}

TEST_CASE("a server whose replies differ in form alone passes, and its deviations are reported") {
  std::mt19937_64 random(test_seed());
  const auto newest_first = [](std::vector<std::string>& parts) {
    std::reverse(parts.begin(), parts.end());
  };
  const auto in_any_order = [&](std::vector<std::string>& parts) {
    std::shuffle(parts.begin(), parts.end(), random);
  };
  const auto with_open_zero = [](std::vector<std::string>& parts) {
    if (parts.empty() || parts.front().starts_with("<executed"))
      parts.insert(parts.begin(), "<open shares=\"0\"/>");
  };
  const std::vector<std::pair<const char*, std::function<std::string(std::string)>>> forms{
      {"R12",
       [](std::string reply) {
         for (std::size_t at = 0; (at = reply.find("time=\"", at)) != std::string::npos;)
           reply.insert(at = reply.find('"', at + 6), "123");
         return reply;
       }},
      {"R12", [](std::string reply) { return replaced(reply, "time=\"", "time=\"at "); }},
      {"R11", [](std::string reply) { return replaced(reply, "price=\"", "price=\"$"); }},
      {"R10",
       [](std::string reply) { return replaced(reply, "<open shares=\"", "<open shares=\"-"); }},
      {"T9", [&](const std::string& reply) { return listed(reply, newest_first); }},
      {"T9", [&](const std::string& reply) { return listed(reply, in_any_order); }},
      {"T9", [&](const std::string& reply) { return listed(reply, with_open_zero); }},
  };
  const auto check = [](auto&& server, const char* rule) {
    AuditInput input = run_against(server, test_seed());
    if constexpr (requires { server.server.end_of_run(); }) server.server.end_of_run();
    const AuditResult result = audited(server, std::move(input));
    INFO(rule);
    CHECK(text_of(result) == "");
    CHECK(result.passed);
    CHECK(result.accounts == 8);
    REQUIRE(result.deviations.sentences().size() == 1);
    CHECK_THAT(result.deviations.sentences().front(), contains_text(rule));
  };
  for (const auto& [rule, edit] : forms) {
    check(EditedReplies<HonestServer>{{}, edit}, rule);  // all in one second
    check(EditedReplies<FaultyServer>{FaultyServer(Fault::none), edit}, rule);
    EditedReplies<FaultyServer> faulty{FaultyServer(Fault::takers_price), edit};
    AuditInput input = run_against(faulty, test_seed());
    faulty.server.end_of_run();
    CHECK_THAT(text_of(audited(faulty, std::move(input))),
               contains_text("by the rules they execute"));
  }
}

// Returns the input as if the server had given these ids, and an object that has them, to query.
using Rename = std::function<std::string(std::uint64_t)>;
AuditInput renamed(AuditInput input, const Rename& rename) {
  for (OrderRecord& order : input.history.orders) order.id = number_of_id(rename(order.id));
  for (Observation& observation : input.history.observations)
    observation.id = number_of_id(rename(observation.id));
  return input;
}
template <class Server>
struct RenamingServer {
  Server& server;
  Rename rename;
  std::map<std::string, std::string> ids;
  std::string ask(std::string_view document) {
    const std::regex asked("<(query|cancel) id=\"([^\"]*)"),
        replied("<(status|canceled|error) id=\"([0-9]+)|<(opened) [^>]*id=\"([0-9]+)");
    return replace_all(server.ask(replace_all(std::string(document), asked, false)), replied, true);
  }
  // The id is the last group that matched.
  std::string replace_all(const std::string& text, const std::regex& where, bool forth) {
    std::string out;
    auto rest = text.begin();
    for (std::sregex_iterator at(text.begin(), text.end(), where), end; at != end; ++at) {
      const auto& id = (*at)[(*at)[2].matched ? 2 : 4];
      out.append(rest, id.first);
      if (forth) {
        const std::string renamed = rename(std::stoull(id.str()));
        ids[renamed] = id.str();
        out += renamed;
      } else {
        out += ids.contains(id.str()) ? ids[id.str()] : "0";
      }
      rest = id.second;
    }
    return out.append(rest, text.end());
  }
};

TEST_CASE("ids may be any texts; where they do not rise, what came at once is not rerun") {
  const Rename hexadecimal = [](std::uint64_t id) {
    char text[16];
    std::snprintf(text, sizeof text, "x%06x", unsigned(id));
    return std::string(text);
  };
  const Rename from_0 = [](std::uint64_t id) { return std::to_string(id - 1); };
  const Rename random = [](std::uint64_t id) {
    return std::to_string(id * 0x9E3779B97F4A7C15u % 1'000'000'007);
  };
  const Rename random_text = [&](std::uint64_t id) { return "t" + random(id); };
  struct Ids {
    const char* what;
    const Rename& rename;
    bool rise;
  };
  for (const Ids& ids : {Ids{"hexadecimal", hexadecimal, true},
                         {"from 0", from_0, true},
                         {"random", random, false},
                         {"random text", random_text, false}})
    for (const Fault fault : {Fault::none, Fault::takers_price, Fault::lost_execution}) {
      INFO(ids.what << ", fault " << int(fault));
      FaultyServer server(fault);
      AuditInput input = run_against(server, test_seed());
      server.end_of_run();
      input.lenient = true;
      RenamingServer<FaultyServer> renaming{server, ids.rename, {}};
      for (const OrderRecord& order : input.history.orders)
        renaming.ids[ids.rename(order.id)] = std::to_string(order.id);
      const AuditResult result = audited(renaming, renamed(std::move(input), ids.rename));
      CHECK(result.passed == (fault == Fault::none || (fault == Fault::takers_price && !ids.rise)));
      CHECK(result.not_checked.empty() == ids.rise);
      CHECK(result.deviations.sentences().size() == (ids.rise ? 0 : 1));
      if (fault == Fault::takers_price && ids.rise)
        CHECK_THAT(text_of(result), contains_text("by the rules they execute"));
    }
}

TEST_CASE("an audit of nothing does not pass") {
  const Ask ask = [](std::string_view) { return std::string("<results/>\n"); };
  AuditInput input{.symbol_name = symbol_name, .probe_symbol = "PROBE"};
  AuditResult result = audit(input, ask);
  CHECK(!result.passed);
  CHECK(text_of(result) == "");
  input.accounts = {{"1", 7, {}}};
  input.history.unanswered = 500;
  result = audit(input, ask);
  CHECK(!result.passed);
  CHECK_THAT(text_of(result), contains_text("500 requests went without a reply"));
}

TEST_CASE("the audit needs no symbol without shares, and no order of an unknown symbol") {
  HonestServer server;
  AuditInput input{
      .accounts = {{"1", 7, {{1, 5}}}}, .symbol_name = symbol_name, .probe_symbol = "PROBE"};
  bool placed = false;
  const Ask ask = [&](std::string_view document) -> std::string {
    const bool names_probe = document.find("PROBE") != std::string_view::npos;
    placed |= names_probe && document.find("</symbol>") != std::string_view::npos;
    if (names_probe && !placed) return "<results><error>no such symbol</error></results>\n";
    return server.ask(document);
  };
  create(input, ask);
  CHECK(text_of(audit(input, ask)) == "");
}

TEST_CASE("each fault of a server is found, in the words of its rule") {
  const std::string no_request = "is canceled, but no request canceled it",
                    cash = "in cash free; but the server refused", passed_over = "passed over",
                    lost_place =
                        "The order that arrived first at that price was passed over (M4|"
                        "behind a younger order (E17, E31)",
                    never_rests =
                        "such an order never rests (E2, E10)|"
                        "but all happens when it arrives (E2)",
                    matched =
                        "by the rules it matched no other order then|"
                        "by the rules they execute";
  struct Row {
    Fault fault;
    Habits habits;
    std::vector<std::string> found;  // each of these, or one of those between the "|"
  };
  const Row rows[] = {
      {Fault::lost_execution,
       {},
       {"open, canceled and executed shares that are not what was ordered",
        "no sell has it|no buy has it"}},
      {Fault::takers_price,
       {},
       {"The price was that of the incoming order, not of the resting one (M6)."}},
      {Fault::worst_price_first, {}, {"A better price was passed over (M4)"}},
      {Fault::newest_first,
       {},
       {"The order that arrived first at that price was passed over (M4)"}},
      {Fault::passed_over, {}, {passed_over}},
      {Fault::refund_dropped, {}, {cash}},
      {Fault::credit_dropped, {}, {"free; but the server refused <order sym=\"SYM"}},
      // if such orders were all canceled again later, only the time shows the fault
      {Fault::cancels_nothing,
       {},
       {"after it was canceled|the time of the cancel is another in the end"}},
      {Fault::trades_after_cancel, {}, {"the order was executed after it was canceled"}},
      {Fault::canceled_unasked, {}, {no_request}},
      {Fault::vanished_order,
       {},
       {"which it had opened, the server replied: no such order of this account",
        "not every order's state is known"}},
      {Fault::stale_query, {}, {"A query was stale"}},
      {Fault::query_of_the_future,
       {},
       {"are not the first of those in the end|executions that were reported have gone"}},

      {Fault::ioc_rests, {{Terms::ioc}}, {never_rests, matched}},
      {Fault::ioc_rests, {{Terms::market}}, {never_rests, matched}},
      {Fault::fok_in_part, {{Terms::fok}}, {"not been executed in full (E3)"}},
      {Fault::post_takes, {{Terms::post}}, {"by the rules the one is refused (E5)"}},
      {Fault::market_stops, {{Terms::market}}, {passed_over}},
      {Fault::self_trade, {{Terms::cancel_resting}}, {"by the rules the other is canceled (E14)"}},
      {Fault::self_trade, {{Terms::cancel_taking}}, {"by the rules the one is canceled (E15)"}},
      {Fault::taking_rests, {{Terms::cancel_taking}}, {"by the rules the one is canceled (E15)"}},
      {Fault::out_of_reach, {{Terms::cancel_resting}}, {no_request}},
      {Fault::canceled_unasked, {stp}, {no_request}},
      {Fault::passed_over, {all_terms}, {passed_over}},
      {Fault::worst_price_first, {all_terms}, {"passed over (M4)"}},
      {Fault::canceled_unasked, {all_terms}, {no_request}},
      {Fault::refund_dropped, {all_terms}, {cash}},

      {Fault::place_kept, replaces, {lost_place}},
      {Fault::place_kept, replaces_of_all_terms, {lost_place}},
      {Fault::place_lost, replaces, {lost_place}},
      {Fault::place_lost, replaces_of_all_terms, {lost_place}},
      {Fault::rests_anew, replaces, {", replaced by ", passed_over}},
      {Fault::amount_is_open,
       replaces,
       {"shares that are not what it was replaced by (E27)|has more shares than were ordered"}},
      {Fault::replace_without_effect, replaces, {"that are not what it was replaced by (E27)"}},
      {Fault::reservation_kept, replaces, {cash}},
      {Fault::replaced_after_cancel,
       replaces,
       {"were not what it was replaced by then (E27); reported then: 0 open, |the time of the "
        "cancel is another in the end"}},
      {Fault::cancel_of_all_incomplete,
       replaces,
       {"A cancel of all orders of account 7", " left out order "}},
      {Fault::cancel_of_all_refused, replaces, {" was refused, but order ", " was open (E19)"}},
      {Fault::symbol_ignored, replaces, {"or of another symbol (E17)"}},
      {Fault::youngest_first, replaces, {"behind a younger order (E17, E31)"}},
      {Fault::passed_over, replaces, {passed_over}},
      {Fault::worst_price_first, replaces, {"passed over (M4"}},
      {Fault::takers_price, replaces, {"(M6)"}},
      {Fault::canceled_unasked, replaces, {no_request}},
      {Fault::refund_dropped, replaces, {cash}},
      {Fault::stale_query, replaces, {"A query was stale"}},
  };
  for (const auto& [fault, habits, wanted] : rows) {
    std::string text;
    const auto has = [&](const std::string& one) {
      const std::size_t bar = one.find('|');
      return text.find(one.substr(0, bar)) != text.npos ||
             (bar != one.npos && text.find(one.substr(bar + 1)) != text.npos);
    };
    // in one random run of 300 the fault gets no occasion
    for (std::uint64_t run = 0; run < 4; ++run) {
      if (run > 0 && std::all_of(wanted.begin(), wanted.end(), has)) break;
      text += found(fault, true, habits, test_seed() + run);
    }
    for (const std::string& one : wanted) {
      INFO(to_string(fault) << ": " << one << "\nfound: " << text);
      CHECK(has(one));
    }
  }
}

TEST_CASE("an honest server passes with halts and auctions") {
  for (const Habits& habits : {Habits{.trading_days = true}, {all_terms, false, true}})
    for (std::uint64_t seed = test_seed(); seed < test_seed() + 20; ++seed) {
      INFO("seed " << seed);
      HonestServer server;
      AuditInput input = run_against(server, seed, habits);
      std::int64_t executed = 0;
      for (const TradingRecord& record : input.history.trading) executed += record.shares;
      CHECK(executed > 0);
      CHECK(text_of(audited(server, std::move(input))) == "");
    }
}

TEST_CASE("faults of a server in halts and auctions are found") {
  struct Row {
    DayFault fault;
    const char* found;
  };
  for (const auto& [fault, wanted] : {Row{DayFault::none, ""},
                                      {DayFault::trades_in_halt, "while trading was halted (I6)"},
                                      {DayFault::trades_in_auction, "(A4)"},
                                      {DayFault::auction_price, "(A4); the server replied"},
                                      {DayFault::auction_newest_first, "(A5); the server reported"},
                                      {DayFault::auction_forgets, "(A4); the server replied"},
                                      {DayFault::auction_says_more, "(A4); the server replied"},
                                      {DayFault::market_order_kept, "was not canceled (A6)"}}) {
    std::string text;
    for (std::uint64_t run = 0; run < 4 && (text.empty() || text.find(wanted) == text.npos);
         ++run) {
      FaultyServer server(fault);
      Habits habits{.trading_days = true};
      if (fault == DayFault::market_order_kept) habits.terms = {Terms::market};
      AuditInput input = run_against(server, test_seed() + run, habits);
      server.end_of_run();
      text += text_of(audited(server, std::move(input)));
    }
    INFO(to_string(fault) << "\nfound: " << text);
    CHECK(text.empty() == (fault == DayFault::none));
    CHECK_THAT(text, contains_text(wanted));
  }
}

TEST_CASE("an id that two orders got is found") {
  HonestServer server;
  AuditInput input = run_against(server, test_seed());
  input.history.orders.push_back(input.history.orders[5]);
  CHECK_THAT(text_of(audited(server, input)),
             contains_text("Two orders were opened under the id " +
                           std::to_string(input.history.orders[5].id)));
}

TEST_CASE("requests without a reply leave the rest to be checked, and are reported") {
  HonestServer server;
  AuditInput input = run_against(server, test_seed());
  input.history.orders.erase(input.history.orders.begin() + 20);
  input.history.unanswered = 1;
  const AuditResult result = audited(server, input);
  CHECK(result.findings.empty());
  CHECK_THAT(result.not_checked, contains_text("1 request went without a reply, and what"));
  input.history.wrongly_answered = 2;
  CHECK_THAT(audited(server, input).not_checked,
             contains_text("1 request went without a reply and 2 got a wrong answer, and what"));
  input.history.unanswered = 0;
  CHECK_THAT(audited(server, input).not_checked, contains_text("2 requests got a wrong answer"));
  input.history.orders[5].amount *= 2;
  CHECK_THAT(text_of(audited(server, input)), contains_text("that are not what was ordered"));
}

TEST_CASE("final states that the server refuses to return in one reply are asked for again") {
  HonestServer server;
  AuditInput input = run_against(server, test_seed());
  const auto at_most_20_executions = [&](std::string_view document) {
    std::string reply = server.ask(document), cut = "<results>";
    if (document.find("<query") == std::string_view::npos) return reply;
    client::ReplyElements elements(reply);
    std::size_t executions = 0;
    for (client::ReplyElement element; elements.next(element);) {
      const std::string id(element.attribute("id"));
      if (executions > 20) {
        cut += "<error id=\"" + id + "\">the reply would be too long</error>";
        continue;
      }
      cut += "<status id=\"" + id + "\">" + std::string(element.content) + "</status>";
      for (std::size_t found = element.content.find("<executed"); found != std::string_view::npos;
           found = element.content.find("<executed", found + 1))
        ++executions;
    }
    return cut + "</results>\n";
  };
  CHECK(text_of(audit(std::move(input), at_most_20_executions)) == "");
}
