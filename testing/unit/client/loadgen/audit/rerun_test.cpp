// Tests which courses of events the rerun allows. Order n is the n-th placed, at time 10 n,
// answered 5 later.
#include "client/loadgen/audit/rerun.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "catch.hpp"

using namespace exchange;
using namespace exchange::run_audit;

namespace {

constexpr std::uint32_t seconds = 1'700'000'000;

std::int32_t cents(const std::string& price) { return std::int32_t(std::stod(price) * 100 + 0.5); }
std::pair<std::int32_t, std::int32_t> shares_and_cents(const std::string& text) {
  return {std::stoi(text), cents(text.substr(text.find('@') + 1))};
}
std::pair<std::int64_t, std::int64_t> times(const std::string& text) {
  return {std::stoll(text), std::stoll(text.substr(text.find('-') + 1))};
}

// What happened and what the server reported of it, one event a line:
//   -20@100 = 5@100 10@100    an order, and its executions
//     canceled, canceled-later, account-1, 20-90, or terms such as ioc: of this order
//   replace 1 -15@100         in the request of the order above, after it, or "before"
//   cancel 1 x2 22-24         a reply to a cancel of order 1, or query, with 2 executions; its
//   times cancel-all 1 3 12         a cancel of all lists these orders; sent then; "before" or
//   "after" the
//                             order above, else its place is not known
class Story {
 public:
  explicit Story(const std::string& text) {
    evidence_.symbol_name = [](unsigned) { return "A"; };
    evidence_.account_name = [](std::uint32_t account) { return std::to_string(account); };
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line, ';');) {
      std::istringstream words(line);
      std::string first;
      if (!(words >> first)) continue;
      if (first == "replace")
        replace(words);
      else if (first == "cancel-all")
        cancel_all(words);
      else if (first == "cancel" || first == "query")
        observe(first == "query" ? Observation::Kind::status : Observation::Kind::canceled, words);
      else
        order(first, words);
    }
  }

  std::string findings() {
    index(evidence_.observations, evidence_.first_observation);
    index(evidence_.replaces, evidence_.first_replace);
    Findings findings;
    Rerun(evidence_, findings).run();
    std::string text;
    for (const std::string& finding : findings.sentences()) text += finding + "\n";
    return text;
  }
  // Requires: findings() has been called. Orders by id, and the one that came when they were
  // canceled.
  std::map<std::uint64_t, std::uint64_t> canceled_by() const {
    std::map<std::uint64_t, std::uint64_t> ids;
    for (const auto& [order, taker] : evidence_.canceled_by) ids[order + 1] = taker + 1;
    return ids;
  }

 private:
  void order(const std::string& placed, std::istringstream& words) {
    const auto [amount, limit] = shares_and_cents(placed);
    const std::uint64_t id = evidence_.orders.size() + 1;
    OrderRecord& order =
        evidence_.orders.emplace_back(OrderRecord{.id = id,
                                                  .symbol = 1,
                                                  .amount = amount,
                                                  .limit_cents = limit,
                                                  .sent_ns = std::int64_t(10 * id),
                                                  .answered_ns = std::int64_t(10 * id + 5)});
    FinalState& state = evidence_.states.emplace_back(
        FinalState{.first_fill = evidence_.fills.size(), .known = true});
    for (std::string word; words >> word;)
      if (word.find('@') != word.npos) {
        const auto [shares, price] = shares_and_cents(word);
        evidence_.fills.push_back({shares, price, seconds});
        ++state.fills;
        state.executed += shares;
      } else if (word.starts_with("canceled")) {
        state.canceled_time = seconds + (word == "canceled-later");
      } else if (word == "account-1") {
        order.account = 1;
      } else if (std::isdigit(word[0])) {
        std::tie(order.sent_ns, order.answered_ns) = times(word);
      } else if (word != "=") {
        order.terms = terms_of(word);
      }
    (state.canceled_time != 0 ? state.canceled : state.open) = std::abs(amount) - state.executed;
  }
  static Terms terms_of(const std::string& word) {
    for (const Terms terms : {Terms::ioc, Terms::post, Terms::cancel_resting, Terms::cancel_taking})
      if (attribute_of(terms).value == word || (word == "post" && terms == Terms::post))
        return terms;
    throw std::invalid_argument(word);
  }
  void replace(std::istringstream& words) {
    std::string id, by, side;
    words >> id >> by >> side;
    const auto [amount, limit] = shares_and_cents(by);
    const OrderRecord& order = evidence_.orders.back();
    evidence_.replaces.push_back({.id = std::stoull(id),
                                  .place = {order.id, side_of(side.empty() ? "after" : side),
                                            std::uint16_t(evidence_.replaces.size())},
                                  .amount = amount,
                                  .limit_cents = limit,
                                  .sent_ns = order.sent_ns,
                                  .answered_ns = order.answered_ns});
    FinalState& state = evidence_.states[std::stoull(id) - 1];
    (state.canceled > 0 ? state.canceled : state.open) = std::abs(amount) - state.executed;
  }
  static Place::Side side_of(const std::string& word) {
    return word == "before"  ? Place::Side::before
           : word == "after" ? Place::Side::after
                             : Place::Side::itself;
  }
  void observe(Observation::Kind kind, std::istringstream& words) {
    std::string id, executions, when;
    words >> id >> executions >> when;
    const auto [sent_ns, answered_ns] = times(when);
    evidence_.observations.push_back(
        {kind,
         std::stoull(id),
         sent_ns,
         answered_ns,
         {.executions = std::uint32_t(std::stoul(executions.substr(1)))}});
  }
  void cancel_all(std::istringstream& words) {
    std::vector<std::string> all;
    for (std::string word; words >> word;) all.push_back(word);
    CancelAllRecord cancel{.account = 0};
    if (const Place::Side side = side_of(all.back()); side != Place::Side::itself) {
      cancel.place = {evidence_.orders.back().id, side};
      all.pop_back();
    }
    cancel.sent_ns = std::stoll(all.back());
    cancel.answered_ns = cancel.sent_ns + 2;
    all.pop_back();
    for (const std::string& id : all) {
      cancel.canceled.push_back(std::stoull(id));
      evidence_.canceled_with[std::uint32_t(std::stoul(id) - 1)] =
          std::uint32_t(evidence_.cancels_of_all.size());
      listed_.push_back({std::stoull(id), cancel.sent_ns});
    }
    evidence_.cancels_of_all.push_back(cancel);
  }
  // Sorts the records by order and notes where those of each order begin.
  template <class Record>
  void index(std::vector<Record>& records, std::vector<std::uint32_t>& first) {
    if constexpr (std::is_same_v<Record, Observation>)
      for (const auto& [id, sent_ns] : listed_)
        if (id <= evidence_.states.size())
          records.push_back({Observation::Kind::canceled,
                             id,
                             sent_ns,
                             sent_ns + 2,
                             {.executions = evidence_.states[id - 1].fills}});
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.id < b.id; });
    for (std::uint64_t id = 1, at = 0; id <= evidence_.orders.size() + 1; ++id) {
      first.push_back(std::uint32_t(at));
      while (at < records.size() && records[at].id == id) ++at;
    }
  }

  Evidence evidence_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> listed_;  // by cancels of all, when sent
};

struct Row {
  std::string story;
  std::string found = {};  // empty: nothing is wrong
};
void check(const std::vector<Row>& rows) {
  for (const auto& [story, found] : rows) {
    INFO(story);
    if (found.empty())
      CHECK(Story(story).findings() == "");
    else
      CHECK_THAT(Story(story).findings(), contains_text(found));
  }
}

const std::string as_if_canceled = "passed over as if canceled",
                  one_gone = "found the one gone before the other left";

}  // namespace

TEST_CASE("an order leaves the book at some moment after its cancel was sent") {
  check({
      // while order 2 is in flight from 20 to 25
      {"-20@100 canceled; 10@100; cancel 1 x0 22-24"},
      {"-20@100 = 10@100 canceled; 10@100 = 10@100; cancel 1 x1 22-24"},
      {"-20@100 canceled; 10@100; cancel 1 x0 26-28",
       "passed over as if canceled: the answer to order 2 (buy 10 of A at 100) came before the "
       "cancel of order 1 (sell 20 of A at 100) was sent"},
      // By its id order 3 came after order 2, which came after the cancel; but it was answered
      // before the cancel was sent.
      {"-20@100 canceled; 10@100 20-90; -5@200; cancel 1 x0 50-60",
       "the answer to order 3 (sell 5 of A at 200) came before the cancel of order 1 (sell 20 of A "
       "at 100) was sent, and by then order 2 (buy 10 of A at 100) had found it gone."},
      {"-20@100 = 10@100 canceled; 10@100 = 10@100; cancel 1 x1 16-18",
       "a reply with an execution of order 1 (sell 20 of A at 100) came before order 2 (buy 10 of "
       "A at 100) was sent"},
      // Order 2 is next in line once order 1 has left.
      {"-20@100 = 5@100 canceled; -20@100 = 10@100; 5@100 = 5@100; 10@101 = 10@100; "
       "cancel 1 x1 36-38"},
      {"-20@100 = 5@100 canceled; -20@100 = 10@100; 10@101 = 10@100; 5@100 = 5@100; "
       "cancel 1 x1 46-48",
       "The order that arrived first at that price was passed over (M4"},
      // A post order finds order 1 gone, or not.
      {"-20@100 canceled; 20@100 post; cancel 1 x0 22-24"},
      {"-20@100 canceled; 20@100 post; cancel 1 x0 26-28", as_if_canceled},
  });
}

TEST_CASE(
    "a query returns what was answered before it was sent, and nothing sent after its reply") {
  const std::string story = "-20@100 = 10@100; 10@100 = 10@100; ";
  check({
      {story + "query 1 x0 16-26; query 1 x1 16-21"},
      {story + "query 1 x0 24-29"},
      {story + "query 1 x0 26-29", "A query was stale: the answer to order 2"},
      {story + "query 1 x1 16-19",
       "Time goes against the ids: a reply with an execution of order 1 (sell 20 of A at 100) came "
       "before order 2"},
  });
}

TEST_CASE("ids that go against time are found") {
  check({
      {"1@100 10-30; 1@100 5-10"},
      {"1@100 10-30; 1@100 5-9",
       "Time goes against the ids: the answer to order 2 (buy 1 of A at 100) came before order 1 "
       "(buy 1 of A at 100) was sent"},
  });
}

TEST_CASE("an order that prevents self-trades cancels those that it would match, or itself") {
  using CanceledBy = std::map<std::uint64_t, std::uint64_t>;
  const struct {
    const char *story, *found;
    CanceledBy canceled_by;
  } rows[] = {
      {"-20@100 = 20@100 account-1; -20@101 canceled; -20@101 = 20@101 account-1; -20@102; "
       "50@101 = 20@100 20@101 cancel-resting",
       "",
       {{2, 5}}},
      {"-20@100; 20@100 cancel-resting",
       "When order 2 (buy 20 of A at 100, stp cancel-resting) came, order 1 (sell 20 of A at 100) "
       "was open and would have executed at once: by the rules the other is canceled (E14)",
       {}},
      {"-20@100 = 20@100 account-1; -20@101 canceled-later; 50@101 = 20@100 cancel-resting",
       "was canceled, but at another time (E14, E15)",
       {{2, 3}}},
      // An order that does not prevent self-trades cancels nothing.
      {"-20@100 = 20@100 cancel-resting; 20@100 = 20@100", "", {}},
      {"-20@100 = 20@100 account-1; -20@101; -20@101 account-1; "
       "50@101 = 20@100 canceled cancel-taking; -5@101",
       "",
       {{4, 4}}},
      // An order of another account does not cancel a taking order.
      {"-20@100 account-1; 20@100 canceled cancel-taking", "The open order was passed over", {}},
      // An order of the account that may have left on request ends nothing if it had: order 2
      // arrives between 20 and 25.
      {"-20@100 canceled; 30@100 cancel-taking; cancel 1 x0 22-24", "", {}},
      {"-20@100 canceled; 30@100 canceled cancel-taking; cancel 1 x0 22-24", "", {{2, 2}}},
      {"-20@100 canceled; 30@100 cancel-taking; cancel 1 x0 16-18", "", {}},
      // no request canceled order 2: the check of replies reports it
      {"-20@100 canceled; 30@100 canceled cancel-taking; cancel 1 x0 16-18", "", {}},
      {"-20@100 canceled; 30@100 cancel-taking; cancel 1 x0 26-28",
       "passed over as if canceled",
       {}},
      {"-20@100 canceled; 30@100 canceled cancel-taking; cancel 1 x0 26-28", "", {{2, 2}}},
      {"-20@100 canceled; 30@100 cancel-resting; cancel 1 x0 16-18", "", {}},
      {"-20@100 canceled; 30@100 cancel-resting; cancel 1 x0 26-28",
       "passed over as if canceled",
       {}},
  };
  for (const auto& [text, found, canceled_by] : rows) {
    INFO(text);
    Story story(text);
    const std::string findings = story.findings();
    if (*found)
      CHECK_THAT(findings, contains_text(found));
    else
      CHECK(findings == "");
    CHECK(story.canceled_by() == canceled_by);
  }
}

TEST_CASE("a replace happens right before the order of its request, or right after") {
  const std::string first = "-10@100 = 10@100; -10@100; 10@100 = 10@100; replace 2 -11@100",
                    second = "-10@100; -10@100 = 10@100; 10@100 = 10@100; replace 1 -11@100";
  check({{second + " before"}, {second, "passed over (M4)"}, {first}, {first + " before"}});
}

TEST_CASE("an order that will be replaced is not canceled yet") {
  check({
      {"-20@100 canceled; 10@100; -1@200; cancel 1 x0 22-62"},
      {"-20@100 canceled; 10@100; -1@200; replace 1 -10@101; cancel 1 x0 22-62",
       "When order 2 (buy 10 of A at 100) came, order 1 (sell 20 of A at 100) was open, the best "
       "price"},
  });
}

TEST_CASE("a replace of what is not open is found") {
  const std::string then = "@100 = 10@100; 10@100 = 10@100; -1@200; replace 1 ";
  check({
      {"-20" + then + "-11@100"},
      {"-20" + then + "-10@100",
       "When the server replaced order 1 (sell 20 of A at 100) by 10, 10 had executed by the "
       "rules: nothing would be open (E27)."},
      {"-10" + then + "-20@100", "by 20, nothing was open by the rules (E26)."},
      {"-10@100 canceled ioc; -1@200; replace 1 -10@100", "nothing was open by the rules (E26)."},
  });
}

TEST_CASE("what one request cancels is gone at once") {
  check({
      // Order 3 finds order 1 gone; order 4 does, or does not, find order 2.
      {"-20@100 canceled; -20@101 canceled; 5@100; 5@101; cancel-all 1 2 12"},
      {"-20@100 canceled; -20@101 = 5@101 canceled; 5@100; 5@101 = 5@101; cancel-all 1 2 12",
       "One request canceled order 1 (sell 20 of A at 100) and order 2 (sell 20 of A at 101), but "
       "order 3 (buy 5 of A at 100) found the one gone before the other left (E17, T17)."},
      // Nor can an order that it canceled come later or be replaced.
      {"-20@100 canceled; 5@100; -20@105 canceled; cancel-all 1 3 12", one_gone},
      {"-20@100 canceled; -20@105 canceled; 5@100; 1@1; replace 2 -10@105; cancel-all 1 2 12",
       one_gone},
  });
}

TEST_CASE("what a cancel of all lists leaves then, neither before nor later") {
  // Orders 2 and 4 buy 5 each of order 1, as far as order 1 is there. The request of order 3
  // cancels.
  const std::string five = "-20@100 = 5@100 canceled; 5@100 = 5@100; -1@200 canceled; ",
                    then = "; 5@99; 5@100";
  check({
      {five + "cancel-all 1 30 before" + then},
      {five + "cancel-all 1 3 30 after" + then},
      {"-20@100 canceled; 5@100; -1@200 canceled; cancel-all 1 3 30 after" + then,
       "When order 2 (buy 5 of A at 100) came, order 1 (sell 20 of A at 100) was open, the best "
       "price"},
      {"-20@100 = 5@100 5@100 canceled; 5@100 = 5@100; -1@200 canceled; cancel-all 1 3 30 after" +
           then + " = 5@100",
       "A cancel of all orders of account 0 canceled order 1 (sell 20 of A at 100), which executed "
       "or was replaced later (E17)."},
  });
}

TEST_CASE("a cancel of all finds nothing open that it does not list") {
  const std::string story = "-20@100 canceled; -20@101 canceled; -1@200; cancel-all ";
  check({
      {story + "1 2 30 before"},
      {story + "1 30 before",
       "A cancel of all orders of account 0 left out order 2 (sell 20 of A at 101), which was open "
       "by the rules (E17)."},
      {story + "30 before; cancel 2 x0 32-34",
       "A cancel of all orders of account 0 was refused, but order 1 (sell 20 of A at 100) was "
       "open by the rules (E19)."},
      // Order 2 was canceled by a request of its own, sent before the cancel of all was answered.
      {story + "1 30 before; cancel 2 x0 32-34"},
      {story + "1 30 before; cancel 2 x0 36-38", as_if_canceled},
      // Orders that come later, or have executed, are not open.
      {"-1@200; cancel-all 2 12 after; -20@100 canceled",
       "canceled order 2 (sell 20 of A at 100), of which nothing was open"},
  });
}

TEST_CASE("an execution that no other order explains is found") {
  check({{"10@100 = 5@100",
          "an execution of 5 at 100; by the rules it matched no other order then"}});
}
