// Right and wrong answers.
#include "client/loadgen/reply_check.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "client/loadgen/audit/order_ids.hpp"

using namespace exchange::loadgen;

namespace {

const Workload three_symbols({.symbols = 3, .account_prefix = "9"}, 5);
const Action sell_order{
    .kind = Action::Kind::order, .symbol = 2, .amount = -7, .limit_cents = 99'50};
const std::string order_attributes = "sym=\"SYM2\" amount=\"-7\" limit=\"99.50\"";
const std::string opened = "<opened " + order_attributes + " id=\"12\"/>";

ReplyCheck check(const std::vector<Action>& elements, const std::string& document,
                 bool lenient = false) {
  ReplyCheck answer{.lenient = lenient};
  answer.problem = "from before";
  check_reply(three_symbols, 3, {0, elements}, document, answer);
  return answer;
}

std::string results(const std::string& elements) { return "<results>" + elements + "</results>"; }

}  // namespace

TEST_CASE("an order is answered by its own attributes and an id, or rejected with them") {
  const ReplyCheck right = check({sell_order}, results(opened));
  CHECK(right.problem == "");
  REQUIRE(right.elements.size() == 1);
  CHECK(!right.elements[0].rejected);
  CHECK(right.elements[0].opened == 12);
  // the answer points into it
  const std::string rejection = results("<error " + order_attributes + ">not enough cash</error>");
  const ReplyCheck rejected = check({sell_order}, rejection);
  CHECK(rejected.problem == "");
  REQUIRE(rejected.elements.size() == 1);
  CHECK(rejected.elements[0].rejected);
  CHECK(rejected.elements[0].opened == 0);
  CHECK(rejected.elements[0].element.content == "not enough cash");

  for (const std::string& wrong :
       {results("<opened " + order_attributes + "/>"),
        results("<opened sym=\"SYM2\" amount=\"7\" limit=\"99.50\" id=\"12\"/>"),
        results("<status id=\"12\"/>"), results(""), results("<error>no</error>"),
        results(opened + opened)}) {
    CHECK(check({sell_order}, wrong).problem != "");
    CHECK(!check({sell_order}, wrong).malformed);
  }
  CHECK(check({sell_order}, "<results>" + opened).malformed);
  CHECK(check({sell_order}, "<html></html>").malformed);
}

TEST_CASE("the same numbers in other words are a deviation, other numbers are wrong") {
  for (const char* attributes :
       {"sym=\"SYM2\" amount=\"-7\" limit=\"99.5\"", "sym=\"SYM2\" amount=\"-7.0\" limit=\"99.50\"",
        "sym=\"SYM2\" amount=\"-7\" limit=\"$99.50\"",
        "sym=\"SYM2\" amount=\"-7\" limit=\"99.500000000000014\"",
        "sym=\"SYM2\" amount=\"-7\" limit=\"9.95E1\""}) {
    const ReplyCheck answer =
        check({sell_order}, results("<opened " + std::string(attributes) + " id=\"12\"/>"));
    CHECK(answer.problem == "");
    REQUIRE(answer.deviations.sentences().size() == 1);
    CHECK_THAT(answer.deviations.sentences().front(), contains_text("R8"));
  }
  for (const char* attributes :
       {"sym=\"SYM2\" amount=\"7\" limit=\"99.5\"", "sym=\"SYM2\" amount=\"-7\" limit=\"99.51\"",
        "sym=\"SYM2\" amount=\"-7\"", "sym=\"sym2\" amount=\"-7\" limit=\"99.50\""})
    CHECK(check({sell_order}, results("<opened " + std::string(attributes) + " id=\"12\"/>"))
              .problem != "");
}

TEST_CASE("an id is whatever the server gives, and may be asked for") {
  for (const char* const id : {"0", "x00001f", "007", "-5", "99999999999999999999",
                               "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}) {
    INFO(id);
    const ReplyCheck answer =
        check({sell_order}, results("<opened " + order_attributes + " id=\"" + id + "\"/>"));
    CHECK(answer.problem == "");
    const std::uint64_t number = answer.elements.at(0).opened;
    CHECK(number >= text_ids_begin);
    CHECK(number_of_id(id) == number);
    CHECK(id_text(number) == id);
    REQUIRE(answer.deviations.sentences().size() == 1);
    CHECK_THAT(answer.deviations.sentences().front(), contains_text("T18"));
    const Action query{.kind = Action::Kind::query, .id = number};
    CHECK(check({query}, results("<error id=\"" + std::string(id) + "\">no</error>")).problem ==
          "");
    CHECK(check({query}, results("<error id=\"1\">no</error>")).problem != "");
  }
  CHECK(number_of_id("18") == 18);
  for (const std::string& id : {std::string(), std::string("a\"b"), std::string(65, 'x')})
    CHECK(number_of_id(id) == 0);
}

TEST_CASE(
    "attributes that are missing are a deviation where that is asked for, wrong ones are not") {
  const Action query{.kind = Action::Kind::query, .id = 12};
  const std::string bare = results("<error>unknown order</error>"),
                    without_limit = results("<opened sym=\"SYM2\" amount=\"-7\" id=\"12\"/>");
  for (const auto& [action, document] :
       {std::pair{query, bare}, {sell_order, bare}, {sell_order, without_limit}}) {
    CHECK(check({action}, document).problem != "");
    const ReplyCheck answer = check({action}, document, true);
    CHECK(answer.problem == "");
    CHECK_THAT(answer.deviations.sentences().at(0), contains_text("T14"));
  }
  CHECK(check({query}, bare, true).elements.at(0).rejected);
  CHECK(check({query}, results("<error id=\"13\">unknown order</error>"), true).problem != "");
  CHECK(check({query, query}, bare, true).problem != "");
}

TEST_CASE("a root of another name is a deviation, if what is inside is right") {
  const ReplyCheck answer = check({sell_order}, "<result>" + opened + "</result>");
  CHECK(answer.problem == "");
  CHECK_THAT(answer.deviations.sentences().at(0), contains_text("R1"));
}

TEST_CASE("terms come back as they were asked for, and a market order without a limit") {
  const auto problem = [](Terms terms, const std::string& attributes) {
    Action with_terms = order;
    with_terms.terms = terms;
    return check({with_terms}, results("<opened " + attributes + "/>")).problem;
  };
  const std::string id = " id=\"12\"", without_limit = "sym=\"SYM2\" amount=\"-7\"";
  for (const Terms terms : {Terms::ioc, Terms::fok, Terms::post, Terms::market,
                            Terms::cancel_resting, Terms::cancel_taking}) {
    const auto [name, value] = attribute_of(terms);
    const std::string attribute = " " + std::string(name) + "=\"" + std::string(value) + "\"",
                      start = terms == Terms::market ? without_limit : order_attributes;
    CHECK(problem(terms, start + id + attribute) == "");
    CHECK(problem(terms, start + id) != "");
    CHECK(problem(terms, start + id + " " + std::string(name) + "=\"gtc\"") != "");
  }
  CHECK(problem(Terms::market, order_attributes + id + " type=\"market\"") != "");
  CHECK(problem(Terms::ioc, without_limit + id + " tif=\"ioc\"") != "");

  Action fok = order;
  fok.terms = Terms::fok;
  const std::string refusal = results("<error " + order_attributes +
                                      " tif=\"fok\">the order cannot be filled at once</error>");
  CHECK(check({fok}, refusal).problem == "");
  CHECK(check({fok}, refusal).elements.at(0).rejected);
}

TEST_CASE("an account with shares is answered by two elements in order") {
  const std::vector<Action> asked{
      {.kind = Action::Kind::account, .id = 8},
      {.kind = Action::Kind::placement, .symbol = 3, .amount = 5, .id = 8}};
  const std::string account = "<created id=\"938\"/>",
                    shares = "<created sym=\"SYM3\" id=\"938\"/>";
  CHECK(check(asked, results(account + shares)).problem == "");
  CHECK(check(asked, results(account)).problem != "");
  CHECK(check(asked, results(account + account)).problem != "");
  CHECK(check(asked, results(shares + account)).problem != "");
}

TEST_CASE("queries and cancels are answered under their own names and ids") {
  const std::vector<Action> query{{.kind = Action::Kind::query, .id = 41}},
      cancel{{.kind = Action::Kind::cancel, .id = 41}};
  CHECK(check(query, results("<status id=\"41\"><open shares=\"1\"/></status>")).problem == "");
  CHECK(check(query, results("<status id=\"42\"><open shares=\"1\"/></status>")).problem != "");
  CHECK(check(cancel, results("<canceled id=\"41\"><canceled shares=\"1\" time=\"5\"/></canceled>"))
            .problem == "");
  CHECK(check(cancel, results("<status id=\"41\"/>")).problem != "");
  CHECK(check(cancel, results("<error id=\"41\">order is closed</error>")).elements.at(0).rejected);
}

TEST_CASE("a replace is answered by its own attributes") {
  const Action replace{
      .kind = Action::Kind::replace, .symbol = 2, .amount = -9, .limit_cents = 99'50, .id = 41};
  const std::string attributes = "id=\"41\" amount=\"-9\" limit=\"99.50\"";
  const auto problem = [&](const std::string& element) {
    return check({replace}, results(element)).problem;
  };
  CHECK(problem("<replaced " + attributes + "/>") == "");
  CHECK(problem("<replaced id=\"42\" amount=\"-9\" limit=\"99.50\"/>") != "");
  CHECK(problem("<replaced id=\"41\" amount=\"9\" limit=\"99.50\"/>") != "");
  CHECK(problem("<replaced id=\"41\" amount=\"-9\"/>") != "");
  CHECK(problem("<replaced id=\"41\"/>") != "");
  CHECK(problem("<opened " + attributes + "/>") != "");
  CHECK(problem("<error>no</error>") != "");
  const std::string refusal = results("<error " + attributes + ">no such order</error>");
  CHECK(check({replace}, refusal).problem == "");
  CHECK(check({replace}, refusal).elements.at(0).rejected);
  const ReplyCheck other_form =
      check({replace}, results("<replaced id=\"41\" amount=\"-9\" limit=\"99.5\"/>"));
  CHECK(other_form.problem == "");
  CHECK(other_form.deviations.sentences().size() == 1);
}

TEST_CASE("a cancel of all is answered by one element or more, or one error") {
  const Action all{.kind = Action::Kind::cancel_all},
      of_symbol{.kind = Action::Kind::cancel_all, .symbol = 3},
      query{.kind = Action::Kind::query, .id = 12}, cancel{.kind = Action::Kind::cancel, .id = 13};
  const auto canceled = [](int id) {
    return "<canceled id=\"" + std::to_string(id) +
           "\"><canceled shares=\"1\" time=\"5\"/></canceled>";
  };
  const std::string status = "<status id=\"12\"><open shares=\"7\"/></status>",
                    none = "<error>no open orders</error>",
                    none_of_symbol = "<error sym=\"SYM3\">no open orders</error>";
  const auto actions = [](const std::vector<Action>& asked, const std::string& document) {
    const ReplyCheck answer = check(asked, document);
    std::string text(answer.problem.empty() ? "" : "problem");
    if (answer.problem.empty())
      for (const CheckedElement& element : answer.elements) text += std::to_string(element.action);
    return text;
  };
  CHECK(actions({all}, results(canceled(1))) == "0");
  CHECK(actions({of_symbol}, results(canceled(1) + canceled(2) + canceled(3))) == "000");
  CHECK(actions({query, all, cancel}, results(status + canceled(1) + canceled(2) + canceled(13))) ==
        "0112");
  CHECK(actions({query, all, cancel}, results(status + none + canceled(13))) == "012");
  CHECK(actions({all}, results(none)) == "0");
  CHECK(actions({of_symbol}, results(none_of_symbol)) == "0");
  CHECK(check({all}, results(none)).elements.at(0).rejected);

  CHECK(actions({of_symbol}, results(none)) == "problem");
  CHECK(actions({all}, results("<error>unknown account</error>")) == "problem");
  CHECK(actions({all}, results(none_of_symbol)) == "problem");
  CHECK(actions({all}, results("")) == "problem");
  CHECK(actions({all}, results(canceled(1) + status)) == "problem");
  CHECK(actions({all}, results("<canceled><canceled shares=\"1\" time=\"5\"/></canceled>")) ==
        "problem");
  CHECK(actions({all}, results(none + canceled(1))) == "problem");
  CHECK(actions({all}, results(canceled(1) + none)) == "problem");
  CHECK(actions({all, cancel}, results(canceled(13))) == "problem");
}

TEST_CASE("several orders in one request are answered each in its place") {
  const Action query{.kind = Action::Kind::query, .id = 12};
  const std::string status = "<status id=\"12\"><open shares=\"7\"/></status>";
  CHECK(check({sell_order, query, sell_order}, results(opened + status + opened)).problem == "");
  CHECK(check({sell_order, query, sell_order}, results(opened + opened + status)).problem != "");
}

TEST_CASE("an id that comes twice is noticed, near or far") {
  IdSet ids;
  for (const std::uint64_t id : {1ull, 2ull, 511ull, 512ull, 1ull << 40, ~0ull})
    CHECK(ids.insert(id));
  for (const std::uint64_t id : {1ull, 2ull, 511ull, 512ull, 1ull << 40, ~0ull})
    CHECK(!ids.insert(id));
}

TEST_CASE("ids of two workers are put together, and those that both had are counted") {
  IdSet one, two;
  for (std::uint64_t id = 1; id <= 1'000; ++id) one.insert(id);
  for (std::uint64_t id = 991; id <= 2'000; ++id) two.insert(id);
  CHECK(one.insert(two) == 10);
  CHECK(!one.insert(2'000));
  CHECK(one.insert(2'001));
}
