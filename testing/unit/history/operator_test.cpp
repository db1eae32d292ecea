// Histories with the operator's changes: rules, halts and auctions of symbols, and accounts.
#include <random>

#include "support/faulty_exchange.hpp"
#include "unit/history/story.hpp"

using namespace exchange;
using namespace exchange::history;

namespace {

std::string create(const std::string& elements) { return "<create>" + elements + "</create>"; }

struct Day : Story {
  Day() { set_up(); }
  explicit Day(testing::DayFault fault)
      : Story(std::make_shared<testing::FaultyExchange>(fault, 1)) {
    set_up();
  }
  std::size_t change(const std::string& elements) { return ask(-1, create(elements)); }
  std::size_t trading(const std::string& value) {
    return change("<instrument sym='SPY' trading='" + value + "'/>");
  }
};

// Two orders that an auction executes: 5 at 10, the limit of the smaller surplus.
struct Auction : Day {
  Auction() {
    trading("auction");
    buy = order(1, "5", "10");
    sell = order(2, "-8", "9");
    before = query(1, 1);
    end = trading("open");
    after = query(1, 1);
  }
  std::size_t buy, sell, before, end, after;
};

const std::string day_elements[] = {
    "<instrument sym='SPY' trading='auction'/>",
    "<instrument sym='SPY' trading='open'/>",
    "<instrument sym='SPY' trading='halted'/>",
    "<instrument sym='SPY' trading='open'/><instrument sym='SPY' trading='auction'/>",
    "<instrument sym='SPY' band='1' at-band='auction'/>",
    "<instrument sym='SPY' band='0'/>",
    "<instrument sym='SPY' price-max='11'/>",
    "<instrument sym='SPY' price-min='12'/>",  // refused while there is a lower price-max
    "<instrument tick='0.5' lot='2'/>",
    "<instrument tick='0' lot='1' price-min='0'/>",
    "<instrument sym='NONE' tick='1'/>",
    "<instrument sym='SPY' trading='closed'/>",
    "<set-account id='1' access='frozen' cancel-orders='true'/>",
    "<set-account id='1' access='active' orders-max='3'/>",
    "<set-account id='2' position-max='60' orders-per-second-max='2'/>",
    "<set-account id='2' position-max='0' orders-per-second-max='0'/>",
    "<adjust-cash id='1' amount='100.5' reason='gift'/>",
    "<adjust-cash id='2' amount='-40'/>",
    "<adjust-cash id='404' amount='1'/>",
    "<adjust-shares sym='SPY' id='1' amount='-5'/>",
    "<adjust-shares sym='SPY' id='2' amount='3'/>",
    "<set-key id='1' key='12345678'/>",
};

}  // namespace

TEST_CASE("an honest history of a trading day is possible") {
  Auction day;
  CHECK(day.reply(day.end) == R"(<created sym="SPY" price="9" volume="5"/>)");
  for (const std::string& elements : day_elements) {
    day.change(elements);
    day.order(1, "2", "10");
    day.order(2, "-1", "9.5");
    day.ask(2, transactions(2, "<order sym='SPY' amount='-2' type='market'/>"));
    day.ask(2, transactions(2, "<replace id='2' amount='-9' limit='9.5'/><query id='2'/>"));
  }
  CHECK(day.findings() == "");
  CHECK(check(day.requests, day.journal).executions > 1);
}

TEST_CASE("price, volume and executions of an auction are judged") {
  const Auction day;
  CHECK_THAT(day.findings_with(day.end, "price=\"9\"", "price=\"10\""),
             contains_text(R"(right is <created sym="SPY" price="9" volume="5"/>)"));
  CHECK_THAT(day.findings_with(day.end, "volume=\"5\"", "volume=\"8\""),
             contains_text(R"(right is <created sym="SPY" price="9" volume="5"/>)"));
  CHECK_THAT(day.findings_with(day.after, "price=\"9\"", "price=\"10\""),
             contains_text("at no place of the commit order"));
  Auction early = day;
  early.reply(early.before) = early.reply(early.after);
  CHECK_THAT(early.findings(), contains_text("which is so only after the journal up to batch 5"));
}

TEST_CASE("an order that was opened in a halt, or refused without one, is found") {
  Day day;
  const std::size_t open = day.order(1, "1", "5");
  day.trading("halted");
  const std::size_t halted = day.order(1, "1", "5");
  CHECK(day.findings() == "");
  const std::string refusal = "trading of this symbol is halted";
  CHECK_THAT(day.findings_with(halted, refusal, "insufficient funds"), contains_text(refusal));
  CHECK_THAT(day.findings_with(open, day.reply(open),
                               R"(<error sym="SPY" amount="1" limit="5">)" + refusal + "</error>"),
             contains_text("no request asked for this"));
  Day opened = day;
  opened.journal.push_back({opened.journal.size() + 1, opened.journal[1].record});
  opened.journal.back().record.time = opened.journal[2].record.time;
  opened.journal.back().record.orders = 2;
  CHECK_THAT(opened.findings(), contains_text("breaks the rules: " + refusal));
}

TEST_CASE("what the operator did is missed where the journal lacks it") {
  for (const char* elements :
       {"<set-account id='1' access='frozen'/>", "<adjust-cash id='1' amount='-999'/>",
        "<adjust-shares sym='SPY' id='1' amount='-50'/>"}) {
    Day day;
    const std::size_t change = day.change(elements);
    day.order(1, "1", "5");
    day.order(1, "-1", "50");
    CHECK(day.findings() == "");
    Day lost = day;
    lost.journal.erase(lost.journal.begin() + 1);
    for (std::size_t i = 1; i < lost.journal.size(); ++i) lost.journal[i].number = i + 1;
    const std::string findings = lost.findings();
    CHECK_THAT(findings, contains_text("an acknowledged command is lost"));
    CHECK_THAT(findings, contains_text("h:3: got <error") || contains_text("h:4: got <error"));
    Day unasked = day;
    unasked.requests.erase(unasked.requests.begin() + std::ptrdiff_t(change));
    CHECK_THAT(unasked.findings(), contains_text("no request asked for this"));
  }
}

TEST_CASE("a refusal for orders in a second may be right where there is such a limit") {
  Day day;
  const std::size_t first = day.order(1, "2000", "1");
  CHECK_THAT(day.findings_with(first, "insufficient funds",
                               "the account may send so many orders in a second: 1"),
             contains_text("right is"));
  day.change("<set-account id='1' orders-per-second-max='1'/>");
  const std::size_t second = day.order(1, "2000", "1"),
                    unknown = day.ask(1, transactions(1, "<replace id='9' amount='1' limit='1'/>"));
  CHECK(day.findings_with(second, "insufficient funds",
                          "the account may send so many orders in a second: 1") == "");
  CHECK_THAT(day.findings_with(second, "insufficient funds",
                               "the account may send so many orders in a second: 2"),
             contains_text("right is"));
  CHECK_THAT(day.findings_with(unknown, "no such order of this account",
                               "the account may send so many orders in a second: 1"),
             contains_text("right is"));
}

TEST_CASE("of two equal requests at once, one may have ended the auction") {
  for (const bool first : {true, false}) {
    Day day;
    day.trading("auction");
    day.order(1, "5", "10");
    day.order(2, "-5", "10");
    const std::string open = create("<instrument sym='SPY' trading='open'/>");
    const std::size_t ended = day.ask(7, open, 1'000, 1'100),
                      other = day.ask(8, open, 1'001, 1'099);
    CHECK_THAT(day.reply(ended), contains_text("volume=\"5\""));
    if (first) std::swap(day.requests[ended].replies, day.requests[other].replies);
    INFO(first);
    CHECK(day.findings() == "");
    day.reply(first ? ended : other) = day.reply(first ? other : ended);  // both replies say so
    CHECK_THAT(day.findings(), contains_text("right is <created sym=\"SPY\"/>"));
  }
}

TEST_CASE("trading that changed without a request is a timetable's, or wrong") {
  Auction day;
  day.requests.erase(day.requests.begin() + std::ptrdiff_t(day.end));
  CHECK_THAT(day.findings(), contains_text("trading open)): no request asked for this"));
  const auto of_timetable = [](const Story& story) {
    return check(story.requests, story.journal, TradingChanges::of_timetable).findings.size();
  };
  CHECK(of_timetable(day) == 0);
  Day ruled;
  ruled.change("<instrument sym='SPY' trading='halted' tick='1'/>");
  ruled.requests.pop_back();
  CHECK(of_timetable(ruled) == 1);
}

// Clients trade, some at the same time, while an operator changes what is allowed. Returns the
// queries that were answered.
std::vector<std::size_t> trade(Day& day, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::vector<std::size_t> queries;
  for (int i = 0; i < 120; ++i) {
    const bool same_batch = below(3) == 0;
    const std::int64_t call = 1'000 + 10 * i, answered = call + 5 + std::int64_t(below(30));
    if (below(4) == 0) {
      day.ask(-1, create(day_elements[below(std::size(day_elements))]), call, call + 5, same_batch);
      continue;
    }
    const std::string sign = below(2) ? "" : "-", id = std::to_string(1 + below(30));
    const std::string elements =
        below(3) == 0   ? "<query id='" + id + "'/>"
        : below(6) == 0 ? "<order sym='SPY' amount='" + sign + "2' type='market'/>"
        : below(6) == 0 ? "<replace id='" + id + "' amount='" + sign + "4' limit='10'/>"
        : below(8) == 0 ? "<cancel id='" + id + "'/>"
                        : order_element(sign + std::to_string(1 + below(9)),
                                        std::to_string(9 + below(3)) + (below(2) ? ".5" : ""));
    const std::size_t request =
        day.ask(i, transactions(1 + int(below(2)), elements), call, answered, same_batch);
    if (day.reply(request).starts_with("<status")) queries.push_back(request);
  }
  return queries;
}

TEST_CASE("honest histories with an operator are possible, and wrong replies in them are found") {
  std::mt19937_64 random(test_seed());
  std::size_t lies = 0;
  for (int round = 0; round < 30; ++round) {
    Day day;
    const std::vector<std::size_t> queries = trade(day, random);
    INFO("round " << round);
    REQUIRE(day.findings() == "");
    for (const std::size_t query : queries) {
      if (day.reply(query).find("<executed shares=\"1\"") == std::string::npos) continue;
      REQUIRE_THAT(day.findings_with(query, "<executed shares=\"1\"", "<executed shares=\"1.5\""),
                   contains_text(day.requests[query].line + ": got <status"));
      ++lies;
    }
  }
  CHECK(lies > 0);
}

TEST_CASE("faults of a server in halts and auctions, and with frozen accounts, are found") {
  using testing::DayFault;
  boost::mp11::mp_for_each<EnumeratorsOf<DayFault>>([](auto enumerator) {
    const DayFault fault = enumerator.value;
    std::mt19937_64 random(test_seed());
    int found = 0;
    for (int round = 0; round < 30; ++round) {
      Day day(fault);
      trade(day, random);
      const std::string findings = day.findings();
      INFO(to_string(fault) << ", round " << round << ": " << findings);
      if (fault == DayFault::none) REQUIRE(findings == "");
      found += !findings.empty();
    }
    INFO(to_string(fault));
    CHECK((found > 0) == (fault != DayFault::none));
  });
}
