// Which courses of events the replay allows. Order n is the n-th placed, at time 10 n, answered 5
// later.
#include "judge/replay/replay.hpp"

#include <algorithm>
#include <map>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::judge;

namespace {

constexpr std::uint32_t seconds = 1'700'000'000;

class Story {
 public:
  Story() {
    evidence_.symbol_name = [](unsigned) { return "A"; };
    evidence_.account_name = [](std::uint32_t account) { return std::to_string(account); };
  }
  struct Reported {
    std::int32_t shares, price_cents;
  };
  Story& order(std::int32_t amount, std::int32_t limit_cents, const std::vector<Reported>& reported,
               bool canceled = false) {
    const std::uint64_t id = evidence_.orders.size() + 1;
    evidence_.orders.push_back({.id = id,
                                .symbol = 1,
                                .amount = amount,
                                .limit_cents = limit_cents,
                                .sent_ns = std::int64_t(10 * id),
                                .answered_ns = std::int64_t(10 * id + 5)});
    FinalState& state =
        evidence_.states.emplace_back(FinalState{.first_fill = evidence_.fills.size(),
                                                 .fills = std::uint32_t(reported.size()),
                                                 .known = true});
    for (const Reported& fill : reported) {
      evidence_.fills.push_back({fill.shares, fill.price_cents, seconds});
      state.executed += fill.shares;
    }
    (canceled ? state.canceled : state.open) = std::abs(amount) - state.executed;
    state.canceled_time = canceled ? seconds : 0;
    return *this;
  }
  // Of the order added last, as the next two.
  Story& terms(Terms terms) {
    evidence_.orders.back().terms = terms;
    return *this;
  }
  Story& account(std::uint32_t account) {
    evidence_.orders.back().account = account;
    return *this;
  }
  Story& canceled_later() {
    ++evidence_.states.back().canceled_time;
    return *this;
  }
  // In its request, before it or after.
  Story& replaces(std::uint64_t id, std::int32_t amount, std::int32_t limit_cents,
                  bool before = false) {
    const OrderRecord& order = evidence_.orders.back();
    evidence_.replaces.push_back(
        {.id = id,
         .place = {order.id, before ? Place::Side::before : Place::Side::after,
                   std::uint16_t(evidence_.replaces.size())},
         .amount = amount,
         .limit_cents = limit_cents,
         .sent_ns = order.sent_ns,
         .answered_ns = order.answered_ns});
    FinalState& state = evidence_.states[id - 1];
    (state.canceled > 0 ? state.canceled : state.open) = std::abs(amount) - state.executed;
    return *this;
  }
  // By one cancel of all, before or after the order added last, or at a place that is not known.
  Story& canceled_together(const std::vector<std::uint64_t>& ids, std::int64_t sent_ns,
                           Place::Side side = Place::Side::itself) {
    const bool placed = side != Place::Side::itself;
    for (const std::uint64_t id : ids) {
      evidence_.canceled_with[std::uint32_t(id - 1)] =
          std::uint32_t(evidence_.cancels_of_all.size());
      observed(id, Observation::Kind::canceled, evidence_.states[id - 1].fills, sent_ns,
               sent_ns + 2);
    }
    evidence_.cancels_of_all.push_back(
        {.account = 0,
         .place = placed ? Place{evidence_.orders.back().id, side} : Place{},
         .sent_ns = sent_ns,
         .answered_ns = sent_ns + 2,
         .canceled = ids});
    return *this;
  }
  Story& answered(std::int64_t sent_ns, std::int64_t answered_ns) {
    evidence_.orders.back().sent_ns = sent_ns;
    evidence_.orders.back().answered_ns = answered_ns;
    return *this;
  }
  Story& observed(std::uint64_t id, Observation::Kind kind, std::uint32_t executions,
                  std::int64_t sent_ns, std::int64_t answered_ns) {
    evidence_.observations.push_back({kind, id, sent_ns, answered_ns, {.executions = executions}});
    return *this;
  }
  std::string findings() {
    for (std::uint64_t id = 1, at = 0; id <= evidence_.orders.size() + 1; ++id) {
      evidence_.first_observation.push_back(std::uint32_t(at));
      while (at < evidence_.observations.size() && evidence_.observations[at].id == id) ++at;
    }
    std::stable_sort(evidence_.replaces.begin(), evidence_.replaces.end(),
                     [](const ReplaceRecord& a, const ReplaceRecord& b) { return a.id < b.id; });
    for (std::uint64_t id = 1, at = 0; id <= evidence_.orders.size() + 1; ++id) {
      evidence_.first_replace.push_back(std::uint32_t(at));
      while (at < evidence_.replaces.size() && evidence_.replaces[at].id == id) ++at;
    }
    Findings findings;
    Replay(evidence_, findings).run();
    std::string text;
    for (const std::string& finding : findings.sentences()) text += finding + "\n";
    return text;
  }
  // After findings(): orders by id, and the one that came when they were canceled.
  std::map<std::uint64_t, std::uint64_t> canceled_by() const {
    std::map<std::uint64_t, std::uint64_t> ids;
    for (const auto& [order, taker] : evidence_.canceled_by) ids[order + 1] = taker + 1;
    return ids;
  }

 private:
  Evidence evidence_;
};

constexpr auto status = Observation::Kind::status, canceled = Observation::Kind::canceled;

}  // namespace

TEST_CASE("the course example") {
  CHECK(Story()
            .order(300, 125'00, {{200, 125'00}})
            .order(-100, 130'00, {})
            .order(200, 127'00, {{200, 127'00}})
            .order(-500, 128'00, {})
            .order(-200, 140'00, {})
            .order(400, 125'00, {})
            .order(-400, 124'00, {{200, 127'00}, {200, 125'00}})
            .findings() == "");
}

TEST_CASE("an order whose cancel was on its way may have left already, or not") {
  const std::vector<Story::Reported> all{{10, 100'00}};
  // The cancel is sent at 22, while order 2 is on its way from 20 to 25.
  CHECK(Story()
            .order(-20, 100'00, {}, true)
            .order(10, 100'00, {})
            .observed(1, canceled, 0, 22, 24)
            .findings() == "");
  CHECK(Story()
            .order(-20, 100'00, all, true)
            .order(10, 100'00, all)
            .observed(1, canceled, 1, 22, 24)
            .findings() == "");
}

TEST_CASE("an order is not canceled before its cancel is requested") {
  CHECK_THAT(
      Story()
          .order(-20, 100'00, {}, true)
          .order(10, 100'00, {})
          .observed(1, canceled, 0, 26, 28)
          .findings(),
      contains_text(
          "passed over as if canceled: the answer to order 2 (buy 10 of A at 100) came before the cancel of order 1 "
          "(sell 20 of A at 100) was sent"));
}

TEST_CASE("that an earlier order felt the cancel is held against later ones") {
  // By its id order 3 came after order 2, which came after the cancel; but order 3 was answered
  // before the cancel was sent.
  CHECK_THAT(
      Story()
          .order(-20, 100'00, {}, true)
          .order(10, 100'00, {})
          .answered(20, 90)
          .order(-5, 200'00, {})
          .observed(1, canceled, 0, 50, 60)
          .findings(),
      contains_text(
          "the answer to order 3 (sell 5 of A at 200) came before the cancel of order 1 (sell 20 of A at 100) was sent, and by then "
          "order 2 (buy 10 of A at 100) had found it gone."));
}

TEST_CASE("a canceled order does not trade with one sent later") {
  const std::vector<Story::Reported> all{{10, 100'00}};
  CHECK_THAT(
      Story()
          .order(-20, 100'00, all, true)
          .order(10, 100'00, all)
          .observed(1, canceled, 1, 16, 18)
          .findings(),
      contains_text(
          "a reply with an execution of order 1 (sell 20 of A at 100) came before order 2 (buy 10 of A at 100) was sent"));
}

TEST_CASE("a canceled order holds its place until it leaves") {
  // Order 2 is next in line once order 1 has left.
  CHECK(Story()
            .order(-20, 100'00, {{5, 100'00}}, true)
            .order(-20, 100'00, {{10, 100'00}})
            .order(5, 100'00, {{5, 100'00}})
            .order(10, 101'00, {{10, 100'00}})
            .observed(1, canceled, 1, 36, 38)
            .findings() == "");
  CHECK_THAT(Story()
                 .order(-20, 100'00, {{5, 100'00}}, true)
                 .order(-20, 100'00, {{10, 100'00}})
                 .order(10, 101'00, {{10, 100'00}})
                 .order(5, 100'00, {{5, 100'00}})
                 .observed(1, canceled, 1, 46, 48)
                 .findings(),
             contains_text("The order that arrived first at that price was passed over (M4)"));
}

TEST_CASE(
    "a query returns what was answered before it was sent, and nothing sent after its reply") {
  const std::vector<Story::Reported> all{{10, 100'00}};
  const auto story = [&] { return Story().order(-20, 100'00, all).order(10, 100'00, all); };
  CHECK(story().observed(1, status, 0, 16, 26).observed(1, status, 1, 16, 21).findings() == "");
  CHECK(story().observed(1, status, 0, 24, 29).findings() == "");
  CHECK_THAT(story().observed(1, status, 0, 26, 29).findings(),
             contains_text("A query was stale: the answer to order 2"));
  CHECK_THAT(
      story().observed(1, status, 1, 16, 19).findings(),
      contains_text(
          "Time goes against the ids: a reply with an execution of order 1 (sell 20 of A at 100) came before order 2"));
}

TEST_CASE("ids that go against time are found") {
  CHECK(Story()
            .order(1, 100'00, {})
            .answered(10, 30)
            .order(1, 100'00, {})
            .answered(5, 10)
            .findings() == "");
  CHECK_THAT(
      Story().order(1, 100'00, {}).answered(10, 30).order(1, 100'00, {}).answered(5, 9).findings(),
      contains_text(
          "Time goes against the ids: the answer to order 2 (buy 1 of A at 100) came before order 1 (buy 1 of A at 100) was sent"));
}

TEST_CASE("an order that never rests meets only what was there before it") {
  CHECK(Story()
            .order(-20, 100'00, {{20, 100'00}})
            .order(30, 101'00, {{20, 100'00}}, true)
            .terms(Terms::ioc)
            .order(-10, 100'00, {})
            .findings() == "");
  CHECK_THAT(Story()
                 .order(30, 101'00, {{10, 101'00}}, true)
                 .terms(Terms::ioc)
                 .order(-10, 100'00, {{10, 101'00}})
                 .findings(),
             contains_text("by the rules it matched no other order then"));
  CHECK_THAT(
      Story().order(-20, 100'00, {}).order(30, 101'00, {}, true).terms(Terms::ioc).findings(),
      contains_text("The open order was passed over"));
}

TEST_CASE("a post order finds nothing to match when it comes") {
  CHECK(Story()
            .order(-20, 100'00, {{20, 100'00}})
            .order(20, 99'00, {})
            .terms(Terms::post)
            .order(20, 100'00, {{20, 100'00}})
            .findings() == "");
  const std::string refused =
      "When order 2 (buy 20 of A at 100, post true) came, order 1 (sell 20 of A at 100) was open "
      "and would have executed at once";
  CHECK_THAT(Story().order(-20, 100'00, {}).order(20, 100'00, {}).terms(Terms::post).findings(),
             contains_text(refused));
  CHECK_THAT(Story()
                 .order(-20, 100'00, {{20, 100'00}})
                 .order(20, 100'00, {{20, 100'00}})
                 .terms(Terms::post)
                 .findings(),
             contains_text(refused));
  // The order that it would have matched had left.
  const auto canceled_first = [](std::int64_t sent_ns) {
    return Story()
        .order(-20, 100'00, {}, true)
        .order(20, 100'00, {})
        .terms(Terms::post)
        .observed(1, canceled, 0, sent_ns, sent_ns + 2)
        .findings();
  };
  CHECK(canceled_first(22) == "");
  CHECK_THAT(canceled_first(26), contains_text("passed over as if canceled"));
}

TEST_CASE("a market order takes any price") {
  CHECK(Story()
            .order(-20, 500'00, {{20, 500'00}})
            .order(-20, 900'00, {{10, 900'00}})
            .order(30, 0, {{20, 500'00}, {10, 900'00}})
            .terms(Terms::market)
            .order(30, 1'00, {{30, 1'00}})
            .order(-40, 0, {{30, 1'00}}, true)
            .terms(Terms::market)
            .order(10, 1'00, {})
            .findings() == "");
  CHECK_THAT(Story().order(-20, 500'00, {}).order(30, 0, {}, true).terms(Terms::market).findings(),
             contains_text("When order 2 (buy 30 of A, type market) came"));
}

TEST_CASE("an order that prevents self-trades cancels those that it would match") {
  Story story;
  story.order(-20, 100'00, {{20, 100'00}})
      .account(1)
      .order(-20, 101'00, {}, true)
      .order(-20, 101'00, {{20, 101'00}})
      .account(1)
      .order(-20, 102'00, {})
      .order(50, 101'00, {{20, 100'00}, {20, 101'00}})
      .terms(Terms::cancel_resting);
  CHECK(story.findings() == "");
  CHECK(story.canceled_by() == std::map<std::uint64_t, std::uint64_t>{{2, 5}});

  CHECK_THAT(
      Story().order(-20, 100'00, {}).order(20, 100'00, {}).terms(Terms::cancel_resting).findings(),
      contains_text(
          "When order 2 (buy 20 of A at 100, stp cancel-resting) came, order 1 (sell 20 of A at 100) "
          "was open and would have "
          "executed at once: by the rules the other is canceled (E14)"));
  CHECK_THAT(Story()
                 .order(-20, 100'00, {{20, 100'00}})
                 .account(1)
                 .order(-20, 101'00, {}, true)
                 .canceled_later()
                 .order(50, 101'00, {{20, 100'00}})
                 .terms(Terms::cancel_resting)
                 .findings(),
             contains_text("was canceled, but at another time (E14, E15)"));
  // What does not prevent self-trades cancels nothing.
  Story self_trade;
  self_trade.order(-20, 100'00, {{20, 100'00}})
      .terms(Terms::cancel_resting)
      .order(20, 100'00, {{20, 100'00}});
  CHECK(self_trade.findings() == "");
  CHECK(self_trade.canceled_by().empty());
}

TEST_CASE("an order that ends at one of its account is canceled there") {
  Story story;
  story.order(-20, 100'00, {{20, 100'00}})
      .account(1)
      .order(-20, 101'00, {})
      .order(-20, 101'00, {})
      .account(1)
      .order(50, 101'00, {{20, 100'00}}, true)
      .terms(Terms::cancel_taking)
      .order(-5, 101'00, {});
  CHECK(story.findings() == "");
  CHECK(story.canceled_by() == std::map<std::uint64_t, std::uint64_t>{{4, 4}});

  // It ends at no order of another account.
  Story ended;
  ended.order(-20, 100'00, {}).account(1).order(20, 100'00, {}, true).terms(Terms::cancel_taking);
  CHECK_THAT(ended.findings(), contains_text("The open order was passed over"));
  CHECK(ended.canceled_by().empty());
}

TEST_CASE("an order of the account that may have left on request ends nothing if it had") {
  // Order 2 arrives between 20 and 25.
  const auto story = [](std::int64_t cancel_sent_ns, bool rests) {
    Story events;
    events.order(-20, 100'00, {}, true)
        .order(30, 100'00, {}, !rests)
        .terms(Terms::cancel_taking)
        .observed(1, canceled, 0, cancel_sent_ns, cancel_sent_ns + 2);
    std::string text = events.findings();
    for (const auto& [order, taker] : events.canceled_by())
      text += std::to_string(order) + " by " + std::to_string(taker);
    return text;
  };
  CHECK(story(22, true) == "");
  CHECK(story(22, false) == "2 by 2");
  CHECK(story(16, true) == "");
  CHECK(story(16, false) == "");  // no request canceled order 2: the check of replies reports it
  CHECK_THAT(story(26, true), contains_text("passed over as if canceled"));
  CHECK(story(26, false) == "2 by 2");

  const auto resting = [](std::int64_t cancel_sent_ns) {
    return Story()
        .order(-20, 100'00, {}, true)
        .order(30, 100'00, {})
        .terms(Terms::cancel_resting)
        .observed(1, canceled, 0, cancel_sent_ns, cancel_sent_ns + 2)
        .findings();
  };
  CHECK(resting(16) == "");
  CHECK_THAT(resting(26), contains_text("passed over as if canceled"));
}

TEST_CASE("an order keeps its place if only its amount falls, and else loses it") {
  // Orders 1 and 2 sell 20 each at 100. The request of order 3, far from them, replaces order 1.
  // Then 10 are bought.
  const std::vector<Story::Reported> ten{{10, 100'00}};
  const auto story = [&](std::int32_t amount, std::int32_t limit_cents, bool first_sells) {
    const std::vector<Story::Reported> none;
    return Story()
        .order(-20, 100'00, first_sells ? ten : none)
        .order(-20, 100'00, first_sells ? none : ten)
        .order(-1, 200'00, {})
        .replaces(1, amount, limit_cents)
        .order(10, 101'00, ten)
        .findings();
  };
  const std::string passed_over =
      "The order that arrived first at that price was passed over (M4, E29)";
  for (const std::int32_t amount : {-20, -15}) {
    CHECK(story(amount, 100'00, true) == "");
    CHECK_THAT(story(amount, 100'00, false), contains_text(passed_over));
  }
  CHECK(story(-21, 100'00, false) == "");
  CHECK_THAT(story(-21, 100'00, true), contains_text(passed_over));
  CHECK(story(-15, 101'00, false) == "");
  CHECK_THAT(story(-15, 101'00, true), contains_text("passed over"));

  // There and back again.
  const auto twice = [&](bool first_sells) {
    const std::vector<Story::Reported> none;
    return Story()
        .order(-20, 100'00, first_sells ? ten : none)
        .order(-20, 100'00, first_sells ? none : ten)
        .order(-1, 200'00, {})
        .replaces(1, -20, 102'00)
        .order(-1, 200'00, {})
        .replaces(1, -20, 100'00)
        .order(10, 101'00, ten)
        .findings();
  };
  CHECK(twice(false) == "");
  CHECK_THAT(twice(true), contains_text(passed_over));
}

TEST_CASE("an order that keeps its place offers as much as it was replaced by") {
  const auto story = [](std::int32_t bought) {
    return Story()
        .order(-20, 100'00, {{5, 100'00}, {bought, 100'00}})
        .order(5, 100'00, {{5, 100'00}})
        .order(-1, 200'00, {})
        .replaces(1, -12, 100'00)
        .order(20, 100'00, {{bought, 100'00}})
        .findings();
  };
  CHECK(story(7) == "");
  CHECK_THAT(story(12), contains_text("by the rules they execute 7 at 100"));
  CHECK_THAT(story(15), contains_text("by the rules they execute 7 at 100"));
}

TEST_CASE("an order that arrives anew is executed as far as it can be, at the resting prices") {
  const auto story = [](const std::vector<Story::Reported>& anew) {
    const std::vector<Story::Reported> none;
    return Story()
        .order(-20, 105'00, anew)
        .terms(Terms::post)
        .order(8, 101'00,
               anew.empty() ? none : std::vector<Story::Reported>{{8, anew[0].price_cents}})
        .order(-1, 200'00, {})
        .replaces(1, -15, 100'00)
        .order(7, 100'00, anew.size() < 2 ? none : std::vector<Story::Reported>{{7, 100'00}})
        .findings();
  };
  CHECK(story({{8, 101'00}, {7, 100'00}}) == "");
  CHECK_THAT(story({}),
             contains_text("When order 1 (sell 20 of A at 105, post true, replaced by 15 at "
                           "100) came, order 2 (buy 8 of A at 101) was open"));
  CHECK_THAT(story({{8, 100'00}, {7, 100'00}}), contains_text("not of the resting one (M6)"));
  CHECK_THAT(story({{8, 101'00}}), contains_text("When order 4 (buy 7 of A at 100) came, order 1"));
}

TEST_CASE("a replace happens right before the order of its request, or right after") {
  const std::vector<Story::Reported> ten{{10, 100'00}};
  const auto story = [&](bool before, bool first_sells) {
    const std::vector<Story::Reported> none;
    return Story()
        .order(-10, 100'00, first_sells ? ten : none)
        .order(-10, 100'00, first_sells ? none : ten)
        .order(10, 100'00, ten)
        .replaces(first_sells ? 2 : 1, -11, 100'00, before)
        .findings();
  };
  CHECK(story(true, false) == "");
  CHECK_THAT(story(false, false), contains_text("passed over (M4)"));
  CHECK(story(false, true) == "");
  CHECK(story(true, true) == "");
}

TEST_CASE("an order that will be replaced is not canceled yet") {
  const auto story = [](std::int64_t cancel_sent_ns, bool replaced) {
    Story events;
    events.order(-20, 100'00, {}, true).order(10, 100'00, {}).order(-1, 200'00, {});
    if (replaced) events.replaces(1, -10, 101'00);
    return events.observed(1, canceled, 0, cancel_sent_ns, cancel_sent_ns + 40).findings();
  };
  CHECK(story(22, false) == "");
  CHECK_THAT(story(22, true),
             contains_text("When order 2 (buy 10 of A at 100) came, order 1 (sell 20 "
                           "of A at 100) was open, the best price"));
}

TEST_CASE("a replace of what is not open is found") {
  const std::vector<Story::Reported> ten{{10, 100'00}};
  const auto story = [&](std::int32_t amount, std::int32_t replaced_by) {
    return Story()
        .order(amount, 100'00, ten)
        .order(10, 100'00, ten)
        .order(-1, 200'00, {})
        .replaces(1, replaced_by, 100'00)
        .findings();
  };
  CHECK(story(-20, -11) == "");
  CHECK_THAT(story(-20, -10),
             contains_text("When the server replaced order 1 (sell 20 of A at 100) by "
                           "10, 10 had executed by the rules: nothing would be open (E27)."));
  CHECK_THAT(story(-10, -20), contains_text("by 20, nothing was open by the rules (E26)."));
  CHECK_THAT(Story()
                 .order(-10, 100'00, {}, true)
                 .terms(Terms::ioc)
                 .order(-1, 200'00, {})
                 .replaces(1, -10, 100'00)
                 .findings(),
             contains_text("nothing was open by the rules (E26)."));
}

TEST_CASE("what one request cancels is gone at once") {
  // Order 3 finds order 1 gone; order 4 does, or does not, find order 2.
  const std::vector<Story::Reported> none, five{{5, 101'00}};
  const auto story = [&](bool second_sells) {
    return Story()
        .order(-20, 100'00, {}, true)
        .order(-20, 101'00, second_sells ? five : none, true)
        .order(5, 100'00, {})
        .order(5, 101'00, second_sells ? five : none)
        .canceled_together({1, 2}, 12)
        .findings();
  };
  CHECK(story(false) == "");
  CHECK_THAT(
      story(true),
      contains_text("One request canceled order 1 (sell 20 of A at 100) and order 2 (sell 20 of A "
                    "at 101), but order 3 (buy 5 of A at 100) found the one gone before the other "
                    "left (E17, T17)."));
  // Nor does one come, or is replaced, that it canceled.
  CHECK_THAT(Story()
                 .order(-20, 100'00, {}, true)
                 .order(5, 100'00, {})
                 .order(-20, 105'00, {}, true)
                 .canceled_together({1, 3}, 12)
                 .findings(),
             contains_text("found the one gone before the other left"));
  CHECK_THAT(Story()
                 .order(-20, 100'00, {}, true)
                 .order(-20, 105'00, {}, true)
                 .order(5, 100'00, {})
                 .order(1, 1'00, {})
                 .replaces(2, -10, 105'00)
                 .canceled_together({1, 2}, 12)
                 .findings(),
             contains_text("found the one gone before the other left"));
}

TEST_CASE("what a cancel of all lists leaves then, neither before nor later") {
  // Orders 2 and 4 buy 5 each of order 1, as far as it is there. The request of order 3 cancels.
  const std::vector<Story::Reported> five{{5, 100'00}};
  const auto story = [&](const std::vector<Story::Reported>& sold, Place::Side side) {
    const std::vector<Story::Reported> none;
    return Story()
        .order(-20, 100'00, sold, true)
        .order(5, 100'00, sold.empty() ? none : five)
        .order(-1, 200'00, {}, true)
        .canceled_together(side == Place::Side::after ? std::vector<std::uint64_t>{1, 3}
                                                      : std::vector<std::uint64_t>{1},
                           30, side)
        .order(5, 99'00, {})
        .order(5, 100'00, sold.size() < 2 ? none : five)
        .findings();
  };
  const std::vector<Story::Reported> ten{{5, 100'00}, {5, 100'00}};
  CHECK(story(five, Place::Side::before) == "");
  CHECK(story(five, Place::Side::after) == "");
  CHECK_THAT(
      story({}, Place::Side::after),
      contains_text("When order 2 (buy 5 of A at 100) came, order 1 (sell 20 of A at 100) was "
                    "open, the best price"));
  CHECK_THAT(story(ten, Place::Side::after),
             contains_text("A cancel of all orders of account 0 canceled order 1 (sell 20 of A at "
                           "100), which executed or was replaced later (E17)."));
}

TEST_CASE("a cancel of all finds nothing open that it does not list") {
  const auto story = [](std::int32_t cancel_sent_ns, const std::vector<std::uint64_t>& listed) {
    Story events;
    events.order(-20, 100'00, {}, true).order(-20, 101'00, {}, true).order(-1, 200'00, {});
    events.canceled_together(listed, 30, Place::Side::before);
    if (cancel_sent_ns > 0) events.observed(2, canceled, 0, cancel_sent_ns, cancel_sent_ns + 2);
    return events.findings();
  };
  CHECK(story(0, {1, 2}) == "");
  CHECK_THAT(story(0, {1}),
             contains_text("A cancel of all orders of account 0 left out order 2 (sell "
                           "20 of A at 101), which was open by the rules (E17)."));
  CHECK_THAT(story(32, {}),
             contains_text("A cancel of all orders of account 0 was refused, but order "
                           "1 (sell 20 of A at 100) was open by the rules (E19)."));
  // Order 2 was canceled by a request of its own, sent before the cancel of all was answered.
  CHECK(story(32, {1}) == "");
  CHECK_THAT(story(36, {1}), contains_text("passed over as if canceled"));
  // Orders that come later, or have executed, are not open.
  CHECK_THAT(Story()
                 .order(-1, 200'00, {})
                 .canceled_together({2}, 12, Place::Side::after)
                 .order(-20, 100'00, {}, true)
                 .findings(),
             contains_text("canceled order 2 (sell 20 of A at 100), of which nothing was open"));
}

TEST_CASE("an execution that no other order explains is found") {
  CHECK_THAT(
      Story().order(10, 100'00, {{5, 100'00}}).findings(),
      contains_text("an execution of 5 at 100; by the rules it matched no other order then"));
}
