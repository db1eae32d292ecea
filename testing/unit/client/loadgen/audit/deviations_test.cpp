// Replies that differ from the protocol in form alone, and the states of orders in a few bytes.
#include "client/loadgen/audit/deviations.hpp"

#include "catch.hpp"
#include "client/loadgen/audit/history.hpp"

using namespace exchange;
using namespace exchange::run_audit;

namespace {

struct Read {
  std::string problem;
  Status status;
  std::vector<std::string> deviations;
};

Read read(const std::string& content) {
  const std::string document = "<results><status id=\"12\">" + content + "</status></results>\n";
  client::ReplyElements elements(document);
  client::ReplyElement element;
  REQUIRE(elements.next(element));
  Read read;
  Deviations deviations;
  read.problem = read_state(element, read.status, deviations);
  read.status.order = 0;
  read.deviations = deviations.sentences();
  return read;
}

std::string executed(const std::string& shares, const std::string& price, const std::string& time) {
  return "<executed shares=\"" + shares + "\" price=\"" + price + "\" time=\"" + time + "\"/>";
}

const std::string open_state = "<open shares=\"3\"/>", first = executed("5", "100", "1700000000"),
                  second = executed("6", "100.5", "1700000001");

}  // namespace

TEST_CASE("a state as the protocol has it is read without a deviation") {
  const Read plain = read(open_state + first + second);
  CHECK(plain.problem == "");
  CHECK(plain.deviations.empty());
  CHECK(plain.status.open == Shares::whole(3));
  CHECK(plain.status.executions.size() == 2);
}

TEST_CASE("what differs in form alone is read and counted") {
  const Status right = read(open_state + first + second).status;
  struct Form {
    std::string content, deviation;
  };
  for (const Form& form : {
           Form{open_state + second + first, "T9"},
           {first + second + open_state, "T9"},
           {open_state + "<canceled shares=\"0\" time=\"0\"/>" + first + second, "T9"},
           {"<open shares=\"-3\"/>" + first + second, "R10"},
           {open_state + executed("5", "$100", "1700000000") + second, "R10, R11"},
           {open_state + executed(" 5", "$ 100 ", "1700000000") + second, "R10, R11"},
           {open_state + executed("5.0E0", "1E2", "1700000000") + second, "R10, R11"},
           {open_state + executed("5", "100.00000000000001", "1700000000") + second, "R10, R11"},
           {open_state + executed("5", "100", "1700000000123") + second,
            "(R12), such as: 1700000000123"},
           {open_state + executed("5", "100", "1700000000123456789") + second, "R12"},
           {open_state + executed("5", "100", "1700000000.123") + second, "R12"},
       }) {
    INFO(form.content);
    const Read deviating = read(form.content);
    CHECK(deviating.problem == "");
    CHECK((deviating.status == right));
    REQUIRE(deviating.deviations.size() == 1);
    CHECK_THAT(deviating.deviations.front(), contains_text(form.deviation));
  }
  for (const char* time : {"", "2023-11-14 22:13:20", "-5", "12"}) {
    const Read odd = read(open_state + executed("5", "100", time));
    CHECK(odd.problem == "");
    CHECK(odd.deviations.size() == 1);
  }
}

TEST_CASE("what cannot be read is a problem") {
  for (const std::string& content :
       {open_state + executed("five", "100", "1700000000"),
        open_state + executed("5", "", "1700000000"),
        open_state + executed("5", "-100", "1700000000"),
        open_state + executed("5", "0", "1700000000"), open_state + open_state,
        open_state + "<canceled shares=\"1\" time=\"1700000000\"/>",
        "<filled shares=\"5\"/>" + first, open_state + "text"}) {
    INFO(content);
    CHECK(read(content).problem != "");
  }
}

TEST_CASE("numbers are read as languages print them") {
  for (const auto& [text, units] :
       {std::pair<const char*, std::int64_t>{"9.9999898E7", 9'999'989'800'000'000},
        {"1.0", 100'000'000},
        {"99.420000000000002", 9'942'000'000},
        {"-1e-8", -1}})
    CHECK(lenient_units(text) == units);
  for (const char* const text : {"1e", "inf", "nan", "0x10", "1e300", "e5", "1-", "92233720368.1"})
    CHECK_FALSE(lenient_units(text).has_value());
}

TEST_CASE("deviations of several workers add up") {
  Deviations all, one, two;
  one.add(Deviation::time, "1");
  two.add(Deviation::time, "2");
  two.add(Deviation::echo, "99.5");
  all.add(one);
  all.add(two);
  CHECK(all.sentences() == std::vector<std::string>{
                               "2 times that are not in whole seconds since 1970 (R12), such as: 1",
                               "1 attributes repeated in other words (R8), such as: 99.5"});
}

TEST_CASE("a digest differs for other executions, and not for another order of them") {
  const std::string canceled = "<canceled shares=\"4\" time=\"1700000000\"/>",
                    two = executed("2", "1", "1700000000"),
                    one = executed("1", "2.5", "1700000000");
  const auto digest = [](const std::string& content) { return digest_of(read(content).status); };
  const auto both = digest(canceled + two + one);
  REQUIRE(both);
  CHECK(both->open == 0);
  CHECK(both->canceled == 4);
  CHECK(both->canceled_time == 1'700'000'000);
  CHECK(both->executed == 3);
  CHECK(both->executions == 2);
  CHECK(both->fingerprint == digest(two + one)->fingerprint);
  CHECK(both->fingerprint == digest(one + two)->fingerprint);
  CHECK(digest(two)->fingerprint != digest(one)->fingerprint);
  CHECK(digest("")->fingerprint == 0);

  CHECK(!digest("<open shares=\"0.5\"/>"));
  CHECK(!digest(executed("1.5", "1", "1700000000")));
  CHECK(!digest("<open shares=\"3000000000\"/>"));
}
