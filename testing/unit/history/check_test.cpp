// Histories that the check accepts, and every kind of false reply that it must find.
#include "history/check.hpp"

#include <random>

#include "unit/history/story.hpp"

using namespace exchange;
using namespace exchange::history;

namespace {

// Two accounts. Order 1 rests, order 2 executes against it, and queries of order 1 come before and
// after.
struct Trade : Story {
  Trade() {
    set_up();
    buy = order(1, "5", "10");
    before = query(1, 1);
    sell = order(2, "-2", "9.5");
    after = query(1, 1);
  }
  std::size_t buy, before, sell, after;
};

const std::string open_5 = R"(<status id="1"><open shares="5"/></status>)";

}  // namespace

TEST_CASE("an honest history is possible") {
  Trade trade;
  trade.cancel(1, 1);
  trade.cancel(1, 1);           // refused
  trade.query(2, 1);            // of another account
  trade.order(1, "1000", "5");  // not enough cash
  trade.ask(1,
            transactions(1, order_element("1", "1") +
                                "<query id='3'/><cancel id='3'/><query id='3'/><cancel id='3'/>"));
  trade.ask(1,
            "<create><account id='1' balance='3'/><account id='7' balance='3'/>"
            "<symbol sym='NEW'/><symbol sym='NEW'/></create>");
  trade.ask(1, transactions(404, order_element("1", "1") + "<query id='1'/>"));
  trade.ask(1, transactions(1, order_element("x", "1") + "<dance/>"));
  trade.ask(1, "<transactions id='1'/>");
  CHECK(trade.findings() == "");
  const Verdict verdict = check(trade.requests, trade.journal);
  CHECK(verdict.requests == 14);
  CHECK(verdict.commits == 4 + 2 + 1 + 2 + 3);
  CHECK(verdict.executions == 1);
  CHECK(verdict.placed == 7);  // and one was malformed as a whole
}

TEST_CASE("a query during a change may show the state before or after it, a later one only after") {
  for (const bool overlaps : {true, false})
    for (const bool old : {true, false}) {
      Trade trade;
      if (overlaps) trade.requests[trade.after].call = trade.requests[trade.sell].call + 1;
      if (old) trade.reply(trade.after) = open_5;
      INFO(overlaps << old << trade.findings());
      CHECK(trade.findings().empty() == (overlaps || !old));
    }
}

TEST_CASE("a stale read is reported, with what made it stale and the reply that proves it") {
  Trade trade;
  trade.reply(trade.after) = open_5;
  const std::string findings = trade.findings();
  CHECK_THAT(
      findings,
      contains_text(
          "h:5: got " + open_5 +
          ": stale. It was so until batch 3, command 1 (order 2: PlaceOrder(account 2, symbol "
          "SPY, side sell, shares 2, limit 9.5))"));
  CHECK_THAT(findings, contains_text("not stand before that of h:4"));
  CHECK_THAT(findings, contains_text("whose reply came 10 ns before this was sent"));
}

TEST_CASE("two queries may not see a change and then not see it, though both overlap it") {
  Trade trade;
  // refused; ends the overlap below
  const std::size_t again = trade.ask(4, transactions(2, "<query id='1'/>"));
  trade.requests[trade.sell].answered = *trade.requests[again].answered + 100;
  const std::size_t third =
      trade.ask(3, transactions(1, "<query id='1'/>"), *trade.requests[again].answered + 5,
                *trade.requests[again].answered + 6);
  CHECK(trade.findings() == "");
  trade.reply(third) = open_5;  // after `after` has shown the execution
  CHECK_THAT(trade.findings(), contains_text("stale"));
}

TEST_CASE("a reply that shows a change that comes later is impossible") {
  Trade trade;
  trade.reply(trade.before) = trade.reply(trade.after);
  const std::string findings = trade.findings();
  CHECK_THAT(findings, contains_text(R"(h:3: got <status id="1"><open shares="3"/><executed)"));
  CHECK_THAT(findings, contains_text("which is so only after the journal up to batch 3"));
}

TEST_CASE("wrong shares, price, time and a lost execution are found in queries and cancels") {
  for (const auto& [from, to] : {std::pair(R"(price="10")", R"(price="9.5")"),
                                 {R"(executed shares="2")", R"(executed shares="1")"},
                                 {R"(open shares="3")", R"(open shares="4")"},
                                 {R"(time="17)", R"(time="18)"}}) {
    const Trade trade;
    CHECK_THAT(trade.findings_with(trade.after, from, to),
               contains_text(to) && contains_text(", which is so at no place of the commit order"));
  }
  Trade trade;
  const std::string all = trade.reply(trade.after);
  const std::size_t begin = all.find("<executed"), end = all.find("/>", begin) + 2;
  CHECK_THAT(trade.findings_with(trade.after, all.substr(begin, end - begin), ""),
             contains_text(R"(h:5: got <status id="1"><open shares="3"/></status>, which is so at )"
                           "no place of the commit order"));
  const std::size_t cancel = trade.cancel(1, 1);
  CHECK_THAT(trade.findings_with(cancel, R"(canceled shares="3")", R"(canceled shares="5")"),
             contains_text(R"(h:6: got <canceled id="1"><canceled shares="5")") &&
                 contains_text(R"(; right is <canceled id="1"><canceled shares="3")"));
}

TEST_CASE("what was acknowledged and is not in the journal is lost") {
  Trade trade;
  trade.journal.pop_back();  // as after a reply before its commit, and kill -9
  CHECK_THAT(trade.findings(),
             contains_text(R"(h:4: got <opened sym="SPY" amount="-2" limit="9.5" id="2"/>)"
                           ", but the journal does not have it: an acknowledged command is lost"));
  Trade canceled;
  canceled.cancel(1, 1);
  canceled.journal.pop_back();
  CHECK_THAT(canceled.findings(), contains_text("h:6: got <canceled"));
  CHECK_THAT(canceled.findings(), contains_text("is lost"));
}

TEST_CASE("an order that came into the place of a lost one is not taken for it") {
  Trade trade;
  trade.journal.pop_back();
  trade.journal.push_back({3,
                           {.time = Timestamp{(Story::seconds + 9) * 1'000'000},
                            .commands = {PlaceOrder{AccountId("1"), SymbolName("SPY"), Side::sell,
                                                    Shares::whole(1), Price::whole(20)}},
                            .orders = 2,
                            .executions = 0}});
  const std::string findings = trade.findings(),
                    committed = "PlaceOrder(account 1, symbol SPY, side sell, shares 1, limit 20))";
  CHECK_THAT(
      findings,
      contains_text("but the journal has something else there: batch 3, command 1 (order 2: " +
                    committed));
  CHECK_THAT(findings, contains_text(committed + ": no request asked for this"));
}

TEST_CASE(
    "a command that was applied twice is one that no request asked for, and shifts what follows") {
  Trade trade;
  trade.journal.push_back({4, trade.journal[2].record});
  trade.journal.back().record.orders = 3;
  trade.journal.back().record.executions = 2;
  CHECK_THAT(
      trade.findings(),
      contains_text(
          ": batch 4, command 1 (order 3: PlaceOrder(account 2, symbol SPY, side sell, shares 2, "
          "limit 9.5)): no request asked for this"));
}

TEST_CASE("one commit cannot answer two requests") {
  Trade trade;
  trade.requests.push_back(trade.requests[trade.sell]);
  trade.requests.back().line = "h:6";
  CHECK_THAT(trade.findings(), contains_text("as was h:4 for the same commit: batch 3, command 1"));
}

TEST_CASE("commits against the order of real time are found") {
  Trade trade;
  const std::size_t far = trade.order(2, "1", "1"), other = trade.order(1, "1", "1.5");
  CHECK(trade.findings() == "");
  std::swap(trade.requests[far].call, trade.requests[other].call);
  std::swap(trade.requests[far].answered, trade.requests[other].answered);
  const std::string findings = trade.findings();
  CHECK_THAT(
      findings,
      contains_text(
          "h:6: was committed as batch 4, command 1 (order 3: PlaceOrder(account 2, symbol SPY, "
          "shares 1, limit 1)), before that of h:7 "
          "(batch 5, command 1 (order 4: PlaceOrder(account 1, symbol SPY, shares 1, limit 1.5))), "
          "whose reply came 10 ns before this was sent"));
}

TEST_CASE("on one connection requests are committed and answered in the order of sending") {
  Trade trade;
  const std::size_t first = trade.order(1, "1", "1"), second = trade.order(1, "1", "1.5");
  trade.requests[second].call = trade.requests[first].call + 1;  // pipelined
  CHECK(trade.findings() == "");
  Trade swapped = trade;
  std::swap(swapped.requests[first].elements, swapped.requests[second].elements);
  std::swap(swapped.requests[first].replies, swapped.requests[second].replies);
  CHECK_THAT(swapped.findings(), contains_text("which was sent earlier on the same connection"));
  trade.requests[first].answered = *trade.requests[second].answered + 1;
  CHECK_THAT(trade.findings(), contains_text("h:7: was answered before h:6"));
}

TEST_CASE(
    "a request without a reply may have been executed or not, at any later time, but as a whole") {
  Trade trade;
  const std::size_t lost =
      trade.ask(3, transactions(2, order_element("-1", "30") + order_element("-1", "31")));
  trade.order(1, "1", "1");
  trade.lose_reply(lost);
  CHECK(trade.findings() == "");
  CHECK(check(trade.requests, trade.journal).unanswered_but_committed == 1);
  Trade late = trade;
  late.requests[lost].call = *late.requests.back().answered + 5;  // committed before it was sent
  CHECK_THAT(late.findings(), contains_text("h:6: was committed as batch 4"));
  Trade never = trade;
  never.requests[lost].elements =
      never.requests[trade.before].elements;  // it asked for something else
  CHECK_THAT(never.findings(), contains_text("no request asked for this"));
  Trade half = trade;  // one of the two is of another batch
  half.journal[3].record.commands.pop_back();
  half.journal[3].record.orders = 3;
  half.journal.insert(half.journal.begin() + 4, {5,
                                                 {.time = half.journal[3].record.time,
                                                  .commands = trade.journal[3].record.commands,
                                                  .orders = 4,
                                                  .executions = 1}});
  half.journal[4].record.commands.erase(half.journal[4].record.commands.begin());
  half.journal[5].number = 6;
  CHECK_THAT(
      half.findings(),
      contains_text(
          "batch 5, command 1 (order 4: PlaceOrder(account 2, symbol SPY, side sell, shares 1, "
          "limit 31)): no request asked for this"));
}

TEST_CASE("a request without a reply keeps its commit from an equal one that was sent later") {
  Trade trade;
  const std::string create = "<create><symbol sym='NEW'/></create>";
  const std::size_t lost = trade.ask(3, create);
  trade.lose_reply(lost);
  trade.order(1, "1", "1");
  trade.ask(4, create);
  trade.order(1, "1", "1");
  CHECK(trade.findings() == "");
  CHECK(check(trade.requests, trade.journal).unanswered_but_committed == 1);
}

TEST_CASE("an order with a reference may be sent again, and has one commit") {
  const std::string document = transactions(
      2, "<order sym='SPY' amount='2' limit='3' ref='a'/><query ref='a'/><cancel ref='b'/>");
  Trade trade;
  const std::size_t first = trade.ask(2, document), again = trade.ask(2, document);
  trade.requests[first].connection = 99;  // it was sent again on another one
  CHECK(trade.reply(again).find("id=\"3\" ref=\"a\"") != std::string::npos);
  CHECK(trade.findings() == "");

  SECTION("if the first reply was lost") {
    trade.lose_reply(first);
    CHECK(trade.findings() == "");
  }
  SECTION("if the first one never arrived") {
    trade.lose_reply(first);
    trade.requests[first].call = trade.requests[again].call - 5;
    CHECK(trade.findings() == "");
  }
  SECTION("what else was asked is judged") {
    CHECK_THAT(trade.findings_with(again, R"(shares="2")", R"(shares="1")", 1),
               contains_text("right is <status id=\"3\" ref=\"a\">"));
  }
  SECTION("but not two") {
    CHECK_THAT(trade.findings_with(again, R"(id="3")", R"(id="4")"),
               contains_text("but the journal does not have it"));
  }
}

// Order 1 of account 1 has executed 2 of 5; 3 are open at 10.
struct PartlyFilled : Trade {
  std::size_t replace(const std::string& attributes, int account = 1) {
    return ask(account, transactions(account, "<replace " + attributes + "/>"));
  }
};

TEST_CASE("an honest history with replaces is possible") {
  PartlyFilled story;
  story.ask(2, transactions(2, "<order sym='SPY' amount='-4' limit='12' ref='a'/>"));
  story.replace("id='01' amount='4' limit='10'");  // keeps its place
  story.replace("id='1' amount='4' limit='10'");   // changes nothing, and takes a number
  story.replace("id='1' amount='6' limit='9.999999999'");
  story.replace("ref='a' amount='-7' limit='9.99999999'", 2);  // executes immediately
  story.query(2, 3);
  story.query(1, 1);
  story.order(2, "-1", "20");  // whose number is not the count of orders
  story.query(2, 7);
  story.query(2, 8);
  story.cancel(2, 8);
  // refused, in the order of the rules
  for (const char* attributes :
       {"id='404' amount='1' limit='1'", "id='5' amount='1' limit='1'",
        "id='2' amount='1' limit='1'", "ref='b' amount='1' limit='1'",
        "id='1' ref='b' amount='1' limit='1'", "amount='1' limit='1'",
        "id='1' amount='9' limit='9'", "id='1' amount='0' limit='1'",
        "id='1' amount='1' limit='-1'", "id='1' amount='9' limit='9' tif='gtc'",
        "id='1' amount='9' limit='9' post='false'"})
    story.replace(attributes);
  story.replace("id='1' amount='1' limit='1'", 404);
  const std::size_t order = story.order(1, "5", "9");
  CHECK(story.reply(order).find(" id=\"9\"") != std::string::npos);
  for (const char* attributes : {"id='9' amount='-5' limit='9'", "id='9' amount='1000' limit='9'"})
    story.replace(attributes);
  story.order(2, "-4", "9");
  story.replace("id='9' amount='4' limit='9'");
  const std::size_t sell = story.order(2, "-4", "30");
  story.replace("id='11' amount='-400' limit='30'", 2);
  CHECK(story.reply(sell).find(" id=\"11\"") != std::string::npos);
  CHECK(story.findings() == "");
}

TEST_CASE("wrong replies to replaces are found, and what they would have changed") {
  PartlyFilled story;
  const std::size_t kept = story.replace("id='1' amount='4' limit='10'"),
                    refused = story.replace("id='1' amount='2' limit='10'");
  story.replace("id='1' amount='5' limit='11'");
  const std::size_t query = story.query(1, 1);
  CHECK(story.findings() == "");
  CHECK_THAT(story.findings_with(kept, R"(id="1")", R"(id="2")"),
             contains_text(R"(h:6: got <replaced id="2" amount="4" limit="10"/>; )"
                           R"(right is <replaced id="1" amount="4" limit="10"/>)"));
  CHECK_THAT(story.findings_with(kept, R"(limit="10")", R"(limit="9")"),
             contains_text("h:6: got <replaced"));
  CHECK_THAT(story.findings_with(kept, story.reply(kept),
                                 R"(<error id="1" amount="4" limit="10">no</error>)"),
             contains_text("(ReplaceOrder(account 1, order 1, shares 4, limit 10)): no request "
                           "asked for this"));
  CHECK_THAT(story.findings_with(refused, story.reply(refused),
                                 R"(<replaced id="1" amount="2" limit="10"/>)"),
             contains_text("h:7: got <replaced id=\"1\" amount=\"2\" limit=\"10\"/>, but the "
                           "journal does not have it: an acknowledged command is lost"));
  CHECK_THAT(story.findings_with(refused, "the order has executed that much already",
                                 "insufficient funds"),
             contains_text("right is <error id=\"1\" amount=\"2\" limit=\"10\">the order has "
                           "executed that much already</error>"));
  CHECK_THAT(
      story.findings_with(query, R"(<open shares="3"/>)", R"(<open shares="2"/>)"),
      contains_text(
          "stale. It was so until batch 5, command 1 (ReplaceOrder(account 1, order 1, shares 5, "
          "limit 11))"));
}

TEST_CASE("an order that was replaced stands behind its price, unless it keeps its place") {
  for (const bool keeps : {true, false}) {
    PartlyFilled story;
    story.order(2, "5", "10");  // behind order 1
    story.replace(keeps ? "id='1' amount='4' limit='10'" : "id='1' amount='6' limit='10'");
    story.order(2, "-1", "10");
    std::string& reply = story.reply(story.query(1, 1));
    const std::string executed = R"(<status id="1"><open shares="1"/>)",
                      other_executed = R"(<status id="1"><open shares="4"/>)";
    INFO(reply);
    REQUIRE(reply.starts_with(keeps ? executed : other_executed));
    CHECK(story.findings() == "");
    reply.replace(reply.find("shares=") + 8, 1, keeps ? "2" : "3");
    CHECK_THAT(story.findings(), contains_text("h:9: got " + reply));
  }
}

TEST_CASE("equal requests share their commits as real time allows") {
  Trade trade;
  const std::string create = "<create><symbol sym='NEW'/></create>";
  const std::size_t first = trade.ask(3, create);
  trade.order(1, "1", "1");
  const std::size_t second = trade.ask(4, create);
  trade.order(1, "1", "1");
  // the first in time, the last to be answered
  trade.requests[first].answered = *trade.requests[second].answered + 1;
  CHECK(trade.findings() == "");
  // now both were sent after the order between them was answered
  trade.requests[first].call = trade.requests[second].call - 1;
  CHECK_THAT(
      trade.findings(),
      contains_text(
          "was committed as batch 4, command 1 (CreateSymbol(symbol NEW)), before that of h:7"));
}

TEST_CASE("the commands of a request stand together") {
  Trade trade;
  const std::size_t both =
      trade.ask(3, transactions(2, order_element("-1", "30") + order_element("-1", "31")));
  trade.order(1, "1", "1");
  std::vector<Command>& commands = trade.journal[3].record.commands;
  // an order of another client stands between the two
  commands.insert(commands.begin() + 1, trade.journal[4].record.commands.front());
  trade.journal.pop_back();
  trade.journal[3].record.orders = 5;
  trade.reply(both, 1).replace(trade.reply(both, 1).find(R"(id="4")"), 6, R"(id="5")");
  trade.reply(6).replace(trade.reply(6).find(R"(id="5")"), 6, R"(id="4")");
  CHECK_THAT(trade.findings(),
             contains_text("h:6: its commands do not stand together in the journal"));
}

TEST_CASE("no client sees a request half done") {
  for (const bool half : {false, true}) {
    Story story;
    story.set_up();
    story.order(1, "5", "10");
    const std::size_t twice = story.ask(
        3, transactions(2, order_element("-2", "9") + order_element("-3", "9")), 100, 200);
    const std::size_t query = story.query(1, 1);
    story.requests[query].call = story.requests[twice].call + 1;  // overlaps it
    std::string& reply = story.reply(query);
    const std::size_t first = reply.find("<executed"), second = reply.find("<executed", first + 1);
    REQUIRE(second != std::string::npos);
    reply = half ? reply.substr(0, first) + R"(<open shares="3"/>)" +
                       reply.substr(first, second - first) + "</status>"
                 : reply.substr(0, first) + R"(<open shares="5"/></status>)";
    INFO(story.findings());
    CHECK(story.findings().empty() == !half);
  }
}

TEST_CASE(
    "refusals that the rules do not give, and acceptances that they do not allow, are found") {
  Trade trade;
  // 1000.5, and 20 from the sale
  const std::size_t refused = trade.order(2, "1", "1020.51"), exact = trade.order(2, "1", "1020.5");
  CHECK(trade.findings() == "");
  const auto lie = [&](std::size_t request, const std::string& reply) {
    return trade.findings_with(request, trade.reply(request), reply);
  };
  CHECK_THAT(lie(exact, R"(<error sym="SPY" amount="1" limit="1020.5">insufficient funds</error>)"),
             contains_text("(order 3: PlaceOrder(account 2, symbol SPY, shares 1, limit 1020.5)): "
                           "no request asked for this"));
  CHECK_THAT(
      lie(refused, R"(<error sym="SPY" amount="1" limit="1020.51">insufficient shares</error>)"),
      contains_text("h:6: got <error"));
  CHECK_THAT(lie(refused, R"(<opened sym="SPY" amount="1" limit="1020.51" id="4"/>)"),
             contains_text("h:6: got <opened"));
}

TEST_CASE("a journal that breaks the rules, or counts otherwise than they do, is found") {
  Trade trade;
  trade.journal[2].record.executions = 2;
  CHECK_THAT(
      trade.findings(),
      contains_text(
          "batch 3 reports 2 orders and 2 executions after it; by the rules there are 2 and 1"));
  Trade rich;
  rich.journal[1].record.commands[0] = PlaceOrder{AccountId("1"), SymbolName("SPY"), Side::buy,
                                                  Shares::whole(5), Price::whole(1'000)};
  CHECK_THAT(rich.findings(), contains_text("breaks the rules: insufficient funds"));
  Trade back;
  back.journal[2].record.time = Timestamp{1};
  CHECK_THAT(back.findings(), contains_text("batch 3 is older than the one before it"));
}

TEST_CASE("too few or too many reply elements are found") {
  Trade trade;
  trade.requests[trade.before].replies.push_back(open_5);
  trade.requests[trade.after].replies.clear();
  const std::string findings = trade.findings();
  CHECK_THAT(findings, contains_text("h:3: got 2 reply elements to 1 asked"));
  CHECK_THAT(findings, contains_text("h:5: got 0 reply elements to 1 asked"));
}

// Clients send requests at random, and each request is committed at some moment between its call
// and its return.
TEST_CASE(
    "honest histories of concurrent clients are possible, and a stale reply in them is found") {
  std::mt19937_64 random(test_seed());
  const auto below = [&](std::uint64_t end) { return random() % end; };
  int lies = 0;
  for (int round = 0; round < 30; ++round) {
    Story story;
    story.set_up();
    struct Plan {
      std::int64_t client, call, commit, answered;
    };
    std::vector<Plan> plans;
    for (std::int64_t client = 1; client <= 4; ++client)
      for (std::int64_t time = 1'000, i = 0; i < 40; ++i) {
        Plan plan{client, time, 0, 0};
        plan.commit = plan.call + 1 + std::int64_t(below(40));
        plan.answered = plan.commit + 1 + std::int64_t(below(40));
        time = plan.answered + std::int64_t(below(10));
        plans.push_back(plan);
      }
    std::stable_sort(plans.begin(), plans.end(),
                     [](const Plan& a, const Plan& b) { return a.commit < b.commit; });
    std::vector<std::size_t> queries;
    for (const Plan& plan : plans) {
      const int account = 1 + int(below(2));
      const std::string id = std::to_string(1 + below(8));
      std::string elements;
      for (std::uint64_t left = 1 + below(2); left > 0; --left) {
        const auto choice = below(10);
        elements += choice == 0   ? "<cancel id='" + id + "'/>"
                    : choice == 9 ? "<replace id='" + id + "' amount='" + (below(2) ? "" : "-") +
                                        std::to_string(1 + below(30)) + "' limit='" +
                                        std::to_string(9 + below(3)) + ".5'/>"
                    : choice < 6
                        ? "<query id='" + id + "'/>"
                        : order_element((below(2) ? "" : "-") + std::to_string(1 + below(30)),
                                        std::to_string(9 + below(3)) + ".5");
      }
      const std::size_t request = story.ask(plan.client, transactions(account, elements), plan.call,
                                            plan.answered, below(3) == 0);
      if (elements.starts_with("<query") && elements.find("/>") + 2 == elements.size())
        queries.push_back(request);
    }
    INFO("round " << round);
    REQUIRE(story.findings() == "");
    // A query repeats an answer from before a change whose end a third client saw.
    const auto echo = [](const history::RecordedRequest& one) {
      return reply_to(one.elements[0], Created());
    };
    for (const std::size_t old : queries)
      for (const std::size_t late : queries) {
        const history::RecordedRequest &a = story.requests[old], &b = story.requests[late];
        if (echo(a) != echo(b) || a.replies == b.replies ||
            std::get<QueryOrder>(*a.elements[0].command).account.view() !=
                std::get<QueryOrder>(*b.elements[0].command).account.view())
          continue;
        const bool between = std::any_of(queries.begin(), queries.end(), [&](std::size_t third) {
          const history::RecordedRequest& c = story.requests[third];
          return c.replies == b.replies && echo(c) == echo(b) && *a.answered < c.call &&
                 *c.answered < b.call;
        });
        if (!between) continue;
        Story lie = story;
        lie.requests[late].replies = a.replies;
        REQUIRE_THAT(lie.findings(), contains_text(b.line + ": got " + a.replies[0]));
        ++lies;
      }
  }
  CHECK(lies > 0);
}
