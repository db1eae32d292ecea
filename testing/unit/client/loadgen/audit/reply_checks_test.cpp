// Replies and final states that are impossible, whatever the run was.
#include "client/loadgen/audit/reply_checks.hpp"

#include "client/loadgen/audit/audit.hpp"
#include "unit/client/loadgen/audit/audit_support.hpp"

using namespace exchange;
using namespace exchange::loadgen;

namespace {

// One account whose orders of symbol 1 are 1, 2, ... at $100, the n-th sent at 10 n and answered 5
// later; and the server's replies about them to any request. The rest of the run is arbitrary: a
// test looks only at its own finding.
struct Reported {
  std::vector<std::int32_t> amounts;
  std::vector<std::string> states;
  std::vector<Observation> observations;
  Terms terms = Terms::none;  // of all
  std::vector<ReplaceRecord> replaces = {};
  std::vector<CancelAllRecord> cancels_of_all = {};

  std::string findings() const {
    AuditInput input{.accounts = {{"1", 1'000'000, {{1, 1'000'000}}}},
                     .symbol_name = symbol_name,
                     .probe_symbol = "PROBE"};
    std::string reply = "<results>";
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      const std::uint64_t id = i + 1;
      input.history.orders.push_back({.id = id,
                                      .account = 0,
                                      .symbol = 1,
                                      .terms = terms,
                                      .amount = amounts[i],
                                      .limit_cents = 100'00,
                                      .sent_ns = std::int64_t(10 * id),
                                      .answered_ns = std::int64_t(10 * id + 5)});
      reply += "<status id=\"" + std::to_string(id) + "\">" + states[i] + "</status>";
    }
    input.history.observations = observations;
    input.history.replaces = replaces;
    input.history.cancels_of_all = cancels_of_all;
    return text_of(
        audit(std::move(input), [&](std::string_view) { return reply + "</results>\n"; }));
  }
};

std::string executed(const std::string& price, const std::string& time = "1700000000") {
  return "<executed shares=\"5\" price=\"" + price + "\" time=\"" + time + "\"/>";
}

using Kind = Observation::Kind;
const std::string still_open = "<open shares=\"10\"/>",
                  canceled = "<canceled shares=\"10\" time=\"1700000000\"/>";
const OrderDigest is_open{.open = 10}, is_canceled{.canceled = 10, .canceled_time = 1'700'000'000};

// Returns the findings about order 1, or about all if `finding` says so; "" if nothing is found.
void check_found(const std::string& findings, const std::string& finding) {
  if (finding.empty())
    CHECK_THAT(findings, !contains_text("order 1 ("));
  else
    CHECK_THAT(findings, contains_text(finding));
}

// Order 1, of 10, is replaced by 6 in the request of order 2, sent at 20 and answered at 25.
ReplaceRecord replaced_by_6(std::int32_t limit_cents = 100'00) {
  return {.id = 1,
          .place = {2, Place::Side::after},
          .amount = 6,
          .limit_cents = limit_cents,
          .sent_ns = 20,
          .answered_ns = 25};
}

}  // namespace

TEST_CASE("a final state that no order can have is found") {
  const struct {
    std::int32_t amount;
    std::string state;
    Terms terms;
    const char* found;
  } rows[] = {
      {-10, "<open shares=\"5\"/>" + executed("99.99"), Terms::none,
       "an execution worse than the limit"},
      {10, "<canceled shares=\"5\" time=\"1600000000\"/>" + executed("100"), Terms::none,
       "an execution later than its cancel"},
      {10, "<canceled shares=\"5\" time=\"1700000001\"/>" + executed("100"), Terms::ioc,
       "executions and a cancel of several times"},
      {10, executed("100") + executed("100", "1700000002"), Terms::fok,
       "executions and a cancel of several times"},
  };
  for (const auto& [amount, state, terms, found] : rows)
    CHECK_THAT((Reported{{amount}, {state}, {}, terms}.findings()), contains_text(found));
}

TEST_CASE("replies that cannot be true are found") {
  const Observation cancel{Kind::canceled, 1, 50, 60, is_canceled};
  const struct {
    std::string state;
    std::vector<Observation> observations;
    const char* found;
  } rows[] = {
      {still_open,
       {{Kind::cancel_refused, 1, 50, 60, {}}},
       "it was refused, but the order is open"},
      {canceled, {cancel, {Kind::canceled, 1, 70, 80, is_canceled}}, "was successful twice"},
      {canceled, {{Kind::cancel_refused, 1, 30, 40, {}}, cancel}, "was refused, and later done"},
      {canceled,
       {cancel, {Kind::status, 1, 70, 80, is_open}},
       "A query was stale: sent after the answer to the cancel"},
      {canceled,
       {{Kind::status, 1, 30, 40, is_canceled}, cancel},
       "as canceled before any request to cancel it"},
  };
  for (const auto& [state, observations, found] : rows)
    CHECK_THAT((Reported{{10}, {state}, observations}.findings()), contains_text(found));
}

TEST_CASE("replies that cannot be true of an order that never rests are found") {
  const std::pair<Observation, const char*> rows[] = {
      {{Kind::status, 1, 50, 60, is_canceled}, ""},
      {{Kind::cancel_refused, 1, 50, 60, {}}, ""},
      {{Kind::status, 1, 50, 60, is_open},
       "A query of order 1 (buy 10 of SYM1 at 100, tif ioc): it was open, but"},
      {{Kind::canceled, 1, 50, 60, is_canceled},
       "there was nothing to cancel, since such an order never rests"},
  };
  for (const auto& [observation, found] : rows)
    check_found(Reported{{10}, {canceled}, {observation}, Terms::ioc}.findings(), found);
}

TEST_CASE("what a query says of an order that was canceled when another came fits the times") {
  // Order 2, sent at 20 and answered at 25, cancels order 1.
  const std::pair<Observation, const char*> rows[] = {
      {{Kind::status, 1, 22, 24, is_open}, ""},
      {{Kind::status, 1, 22, 24, is_canceled}, ""},
      {{Kind::status, 1, 26, 28, is_open}, "A query was stale"},
      {{Kind::status, 1, 16, 18, is_canceled}, "as canceled before"},
      {{Kind::cancel_refused, 1, 16, 18, {}}, "was refused, and later"},
  };
  for (const auto& [observation, found] : rows)
    check_found(
        Reported{{10, -5}, {canceled, "<open shares=\"5\"/>"}, {observation}, Terms::cancel_resting}
            .findings(),
        found);
}

TEST_CASE("what a reply says of an order that is replaced fits the times") {
  const char* const not_then = "were not what it was replaced by then (E27)";
  const struct {
    Kind kind;
    std::int32_t shares;
    std::int64_t sent_ns;
    const char* found;
  } rows[] = {
      {Kind::status, 10, 22, ""},
      {Kind::status, 6, 22, ""},
      {Kind::status, 10, 16, ""},
      {Kind::status, 6, 16, not_then},
      {Kind::status, 6, 26, ""},
      {Kind::status, 10, 26, not_then},
      {Kind::status, 7, 22, not_then},
      {Kind::canceled, 6, 22, ""},
      {Kind::canceled, 10, 22, not_then},
      {Kind::canceled, 6, 16,
       "After it was canceled order 1 (buy 10 of SYM1 at 100, replaced by 6 at 100) was replaced "
       "(E26)."},
  };
  for (const auto& [kind, shares, sent_ns, found] : rows) {
    const bool is_query = kind == Kind::status;
    const OrderDigest digest =
        is_query ? OrderDigest{.open = shares}
                 : OrderDigest{.canceled = shares, .canceled_time = 1'700'000'000};
    INFO(shares << " at " << sent_ns);
    check_found(Reported{{10, 5},
                         {is_query ? "<open shares=\"6\"/>"
                                   : "<canceled shares=\"6\" time=\"1700000000\"/>",
                          "<open shares=\"5\"/>"},
                         {{kind, 1, sent_ns, sent_ns + 2, digest}},
                         Terms::none,
                         {replaced_by_6()}}
                    .findings(),
                found);
  }
}

TEST_CASE("a final state that no replaced order can have is found") {
  const std::string one_open = "<open shares=\"1\"/>";
  const struct {
    std::string state;
    std::int32_t limit_cents;
    Terms terms;
    const char* found;
  } rows[] = {
      {one_open + executed("100.5"), 100'50, Terms::none, ""},
      {one_open + executed("100.51"), 100'50, Terms::none, "an execution worse than the limit"},
      {one_open + executed("100"), 99'00, Terms::none, ""},
      {"<open shares=\"5\"/>" + executed("100"), 100'00, Terms::none,
       "not what it was replaced by (E27)"},
      {"<canceled shares=\"6\" time=\"1700000000\"/>", 100'00, Terms::ioc,
       "been replaced, but such an order never rests"},
  };
  for (const auto& [state, limit_cents, terms, found] : rows) {
    const std::string findings =
        Reported{{10, 5}, {state, "<open shares=\"5\"/>"}, {}, terms, {replaced_by_6(limit_cents)}}
            .findings();
    if (*found)
      CHECK_THAT(findings, contains_text(found));
    else
      CHECK_THAT(findings, !contains_text("In the end"));
  }
}

TEST_CASE("a cancel of all left out what was certainly open") {
  // Order 1 is sent at 10 and answered at 15, order 2 at 20 and 25.
  const auto cancel = [](std::int64_t sent_ns, std::int64_t answered_ns,
                         const std::vector<std::uint64_t>& ids, std::uint16_t symbol = 1) {
    return CancelAllRecord{.account = 0,
                           .symbol = symbol,
                           .sent_ns = sent_ns,
                           .answered_ns = answered_ns,
                           .canceled = ids};
  };
  const std::string left_out =
      "A cancel of all orders of account 1, symbol SYM1, left out order 1 (buy 10 of SYM1 at 100), "
      "which was open (E17).";
  const Observation later{Kind::canceled, 1, 35, 40, is_canceled},
      at_once{Kind::canceled, 1, 34, 40, is_canceled}, seen{Kind::status, 1, 35, 36, is_open};
  const struct {
    std::string first;
    std::vector<Observation> observations;
    CancelAllRecord cancel;
    std::string found;  // empty: nothing about a cancel of all
  } rows[] = {
      {still_open, {}, cancel(30, 35, {2}), left_out},
      {canceled, {}, cancel(30, 35, {1, 2}), ""},
      {still_open, {}, cancel(14, 35, {2}), ""},  // it may have come later than the cancel
      {still_open,
       {},
       cancel(30, 35, {}),
       "was refused, but order 1 (buy 10 of SYM1 at 100) was open (E19)"},
      // It was canceled by another request, or seen open, after the reply.
      {canceled, {later}, cancel(30, 35, {2}), left_out},
      {canceled, {at_once}, cancel(30, 35, {2}), ""},
      {canceled, {at_once, seen}, cancel(30, 35, {2}), left_out},
      {still_open, {}, cancel(30, 35, {2}, 2), "which is another's or of another symbol (E17)"},
      {canceled,
       {},
       cancel(30, 35, {2, 1}),
       "listed order 1 (buy 10 of SYM1 at 100) behind a younger order"},
      {still_open, {}, cancel(30, 35, {2, 3}), "canceled order 3, which no request opened (E17)"},
  };
  const auto check = [](const Reported& run, const std::string& found) {
    if (found.empty())
      CHECK_THAT(run.findings(), !contains_text("A cancel of all"));
    else
      CHECK_THAT(run.findings(), contains_text(found));
  };
  for (auto [first, observations, cancel_all, found] : rows) {
    for (const std::uint64_t id : cancel_all.canceled)
      observations.push_back(
          {Kind::canceled, id, cancel_all.sent_ns, cancel_all.answered_ns, is_canceled});
    check({{10, 10}, {first, canceled}, observations, Terms::none, {}, {cancel_all}}, found);
  }
  // It was executed by an order that was sent after the reply, or not.
  for (const auto& [answered_ns, found] : {std::pair{20, "was refused, but order 1"}, {21, ""}})
    check({{5, -5},
           {executed("100"), executed("100")},
           {},
           Terms::none,
           {},
           {cancel(16, answered_ns, {})}},
          found);
}

TEST_CASE("a cancel of all leaves the younger orders beyond a thousand to the next one") {
  Reported run{{}, {}, {}, Terms::none, {}, {}};
  CancelAllRecord cancel{.account = 0, .sent_ns = 1'000'000, .answered_ns = 1'000'001};
  for (std::uint64_t id = 1; id <= 1'001; ++id) {
    run.amounts.push_back(10);
    run.states.push_back(id <= 1'000 ? "<canceled shares=\"10\" time=\"1700000000\"/>"
                                     : "<open shares=\"10\"/>");
    if (id > 1'000) break;
    cancel.canceled.push_back(id);
    run.observations.push_back(
        {Observation::Kind::canceled, id, cancel.sent_ns, cancel.answered_ns, is_canceled});
  }
  run.cancels_of_all = {cancel};
  CHECK_THAT(run.findings(), !contains_text("left out"));
  std::swap(run.states.front(), run.states.back());
  run.cancels_of_all.front().canceled.erase(run.cancels_of_all.front().canceled.begin());
  run.cancels_of_all.front().canceled.push_back(1'001);
  run.observations.front().id = 1'001;
  CHECK_THAT(run.findings(), contains_text("left out order 1 ("));
}

TEST_CASE("cash and shares that come from nowhere are found") {
  const std::string bought = Reported{{5}, {executed("100")}, {}}.findings(),
                    sold = Reported{{-5}, {executed("100")}, {}}.findings();
  CHECK_THAT(bought, contains_text("together have 999500 in cash, where 1000000 was created"));
  CHECK_THAT(bought, contains_text("5 shares of SYM1 more than were created"));
  CHECK_THAT(sold, contains_text("together have 1000500 in cash, where 1000000 was created"));
  CHECK_THAT(sold, contains_text("5 shares of SYM1 less than were created"));
}
