#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

struct Trader {
  explicit Trader(Talk& talk)
      : account(talk.given_account(400'000)), symbol(talk.given_symbol({{account, 100}})) {}
  // The reply to an order with a reference.
  Element order(Talk& talk, const std::string& reference, const std::string& amount = "2",
                const std::string& limit = "3.5") const {
    return talk.ask_one(Talk::transactions(
        account, Talk::order(symbol, amount, limit, " ref=\"" + reference + "\"")));
  }
  std::string opened(Talk& talk, const std::string& reference) const {
    const Element answer = order(talk, reference);
    expect(answer.name == "opened" && answer.attribute("ref") == reference,
           "<opened> with the reference was expected, got " + answer.print());
    return answer.attribute("id");
  }
  std::string account, symbol;
};

std::string any_reference(Talk& talk) { return "r." + std::to_string(talk.between(1, 1'000'000)); }

void characters(Talk& talk) {
  const Trader trader(talk);
  trader.opened(talk, "AZaz09._:-");
  trader.opened(talk, std::string(64, 'x'));
  for (const std::string& bad : {std::string(), std::string("a b"), std::string(65, 'x')})
    expect(trader.order(talk, bad).name == "error", "the reference '" + bad + "' is an error");
}

void sent_again(Talk& talk) {
  const Trader trader(talk);
  const std::string reference = any_reference(talk), id = trader.opened(talk, reference);
  talk.reconnect();
  expect(trader.opened(talk, reference) == id, "an order sent again should get the same id");
  const Element other_form = trader.order(talk, reference, "2.0", "3.50");
  expect(other_form.attribute("id") == id,
         "amounts and limits are compared as numbers, got " + other_form.print());
}

void with_other_values(Talk& talk) {
  const Trader trader(talk);
  const std::string reference = any_reference(talk);
  trader.opened(talk, reference);
  expect(trader.order(talk, reference, "3").name == "error", "another amount is an error");
  expect(trader.order(talk, reference, "2", "4").name == "error", "another limit is an error");
}

void refused(Talk& talk) {
  const Trader trader(talk);
  const std::string reference = any_reference(talk);
  expect(trader.order(talk, reference, "-5000").name == "error", "a sell without the shares");
  trader.opened(talk, reference);
}

void of_each_account(Talk& talk) {
  const Trader a(talk), b(talk);
  const std::string reference = any_reference(talk);
  expect(a.opened(talk, reference) != b.opened(talk, reference),
         "two accounts' orders of one reference are two orders");
}

void queried_and_canceled(Talk& talk) {
  const Trader trader(talk);
  const std::string reference = any_reference(talk), id = trader.opened(talk, reference);
  for (const auto& [action, reply] : {std::pair{"query", "status"}, {"cancel", "canceled"}}) {
    const Element answer = talk.ask_one(Talk::transactions(
        trader.account, std::string("<") + action + " ref=\"" + reference + "\"/>"));
    expect(answer.name == reply && answer.attribute("id") == id,
           std::string("<") + reply + " id=\"" + id + "\"> was expected, got " + answer.print());
    talk.expect_error(
        Talk::transactions(trader.account, std::string("<") + action + " ref=\"unknown\"/>"),
        "an unknown reference");
  }
}

void with_an_id(Talk& talk) {
  const Trader trader(talk);
  const std::string reference = any_reference(talk), id = trader.opened(talk, reference);
  talk.expect_error(
      Talk::transactions(trader.account, "<query id=\"" + id + "\" ref=\"" + reference + "\"/>"),
      "a query with id and ref");
}

void so_many(Talk& talk) {
  const Trader trader(talk);
  const std::string first = trader.opened(talk, "first");
  std::string inside;
  for (int i = 0; i < 1'024; ++i) {
    if (i == 1'023)
      expect(trader.opened(talk, "first") == first, "1,024 references should be remembered");
    inside = Talk::order(trader.symbol, "1", "0.25", " ref=\"n" + std::to_string(i) + "\"");
    const Element answer = talk.ask_one(Talk::transactions(trader.account, inside));
    expect(answer.name == "opened", "an order with a reference should be opened");
  }
  expect(trader.opened(talk, "first") != first,
         "with 1,024 newer references the first one should be forgotten");
}

}  // namespace

void add_reference_cases(Cases& cases) {
  cases.insert(cases.end(), {
                                {"O1", "characters of a reference", characters},
                                {"O2", "an order sent again", sent_again},
                                {"O3", "an order with other values", with_other_values},
                                {"O4", "a refused order", refused},
                                {"O5", "references of two accounts", of_each_account},
                                {"O6", "query and cancel by reference", queried_and_canceled},
                                {"O7", "reference and id together", with_an_id},
                                {"O8", "more than 1,024 references", so_many, true},
                            });
}

}  // namespace exchange::conformance
