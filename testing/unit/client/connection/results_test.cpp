// The ends of replies that arrive in any pieces, and their content; the keys in requests.
#include "client/connection/results.hpp"

#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "protocol/request_writer.hpp"

using namespace exchange;
using namespace exchange::client;

namespace {

const std::string opened =
    "<results><opened sym=\"SYM1\" amount=\"-7\" limit=\"99.50\" id=\"12\"/></results>\n";
const std::string status =
    "<results><status id=\"12\"><open shares=\"3\"/><executed shares=\"4\" price=\"99.5\" "
    "time=\"1700000000\"/></status></results>\n";

std::string with_length(const std::string& reply) {
  return std::to_string(reply.size()) + "\n" + reply;
}

std::string without_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

// The documents found in a stream that comes in pieces, each no longer than `piece_bytes()`.
template <class PieceBytes>
std::vector<std::string> documents(const std::string& stream, PieceBytes piece_bytes) {
  std::vector<std::string> found;
  std::string buffer;
  std::size_t scanned = 0;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t bytes = std::min<std::size_t>(piece_bytes(), stream.size() - at);
    buffer.append(stream, at, bytes);
    at += bytes;
    for (ReplyEnd reply; (reply = find_reply(buffer, scanned)).state == ReplyEnd::State::complete;
         scanned = 0) {
      found.push_back(without_end(buffer.substr(reply.begin, reply.end - reply.begin)));
      buffer.erase(0, reply.end);
    }
    REQUIRE(find_reply(buffer, scanned).state == ReplyEnd::State::incomplete);
  }
  REQUIRE(skip_padding(buffer) == buffer.size());
  return found;
}

std::string elements_of(std::string_view document) {
  std::string text;
  ReplyElements elements(document);
  for (ReplyElement element; elements.next(element);)
    text += std::string(element.name) + "(" + std::string(element.attribute("id")) + ")" +
            std::string(element.content) + ";";
  return text + (elements.complete() ? "end" : "bad");
}

struct Read {
  Status status;
  std::string problem;
};

Read read(const std::string& content) {
  const std::string document = "<results><status id=\"12\">" + content + "</status></results>\n";
  ReplyElements elements(document);
  ReplyElement element;
  REQUIRE(elements.next(element));
  Read read;
  read.status.executions.resize(3);  // of an order read before
  read.problem = read_status(element, read.status);
  return read;
}

constexpr Timestamp at{1'700'000'000'000'000};

}  // namespace

TEST_CASE("replies are found byte by byte and in random pieces, bare or with a length line") {
  std::mt19937_64 random(test_seed());
  std::vector<std::string> sent;
  std::string stream;
  for (int i = 0; i < 300; ++i) {
    const std::string& reply = random() % 2 ? opened : status;
    sent.push_back(without_end(reply));
    stream += random() % 3 == 0 ? with_length(reply) : reply;
    if (random() % 5 == 0) stream += "\r\n";
  }
  CHECK((documents(stream, [] { return 1; }) == sent));
  CHECK((documents(stream, [&] { return 1 + random() % 200; }) == sent));
  CHECK((documents(stream, [&] { return stream.size(); }) == sent));
}

TEST_CASE("an empty reply is found however it is spaced, and NUL bytes after a reply are skipped") {
  const std::vector<std::string> sent{"<results />", "<results\n\t/>", "<results/>",
                                      "<?xml version=\"1.0\"?>\n<results />", without_end(opened)};
  std::string stream;
  for (const std::string& reply : sent) stream += reply + std::string("\n\0\r\n\0", 5);
  std::vector<std::string> found = documents(stream, [] { return 1; });
  CHECK((found == sent));
  std::size_t scanned = 0;
  const ReplyEnd whole = find_reply(stream, scanned);
  CHECK(whole.end == sent[0].size() + 5);
}

TEST_CASE("a reply of another root is found, and one behind a byte order mark") {
  const std::string mark = "\xEF\xBB\xBF",
                    other = "<result><created id=\"1\"/><error>no</error></result>";
  const std::vector<std::string> sent{other, "<response/>", "<?xml version='1.0'?> " + other,
                                      "<error>a &lt; b</error>", without_end(opened)};
  std::string stream;
  for (const std::string& reply : sent) stream += mark + reply + "\n" + with_length(reply);
  std::vector<std::string> twice;
  for (const std::string& reply : sent) twice.insert(twice.end(), {reply, reply});
  CHECK((documents(stream, [] { return 1; }) == twice));
  CHECK((documents(mark + with_length(opened), [] { return 1; }) ==
         std::vector{without_end(opened)}));
  CHECK(elements_of(other) == "created(1);error()no;end");
  CHECK(ReplyElements(other).root() == "result");
  CHECK(read_outcomes(other, 2).size() == 2);
  CHECK_THROWS_AS(read_outcomes("<html></html>", any_number), BadReply);
  CHECK_THROWS_AS(read_outcomes("<html><p/></html>", any_number), BadReply);
}

TEST_CASE("what cannot be the beginning of a reply is bad") {
  for (const std::string text : {"hello", "x<results></results>", "0\n<results/>", "\xEF\xBBx",
                                 "12x\n", "99999999999999999999999\n"}) {
    std::size_t scanned = 0;
    CHECK(find_reply(text, scanned).state == ReplyEnd::State::bad);
  }
}

TEST_CASE("elements directly inside <results> are separated from what they contain") {
  CHECK(elements_of(opened) == "opened(12);end");
  CHECK(elements_of("<?xml version=\"1.0\"?>\n" + status) ==
        "status(12)<open shares=\"3\"/><executed shares=\"4\" price=\"99.5\" time=\"1700000000\"/>"
        ";end");
  CHECK(elements_of("<results>\n  <created id='1'/>\n  <error id=\"2\">no</error>\n</results>") ==
        "created(1);error(2)no;end");
  CHECK(elements_of("<results/>") == "end");
  CHECK(elements_of("<results></results>") == "end");
}

TEST_CASE("what an error quotes may be unescaped") {
  CHECK(elements_of("<results><error id='1'>0 < 1</error><error>a <= b</error></results>") ==
        "error(1)0 < 1;error()a <= b;end");
  CHECK(elements_of("<results><!-- a --><error id='1'><![CDATA[no]]></error><a/></results>") ==
        "error(1)<![CDATA[no]]>;a();end");
  CHECK(elements_of("<results><error>0 <").ends_with("bad"));
}

TEST_CASE("documents that are no results are bad, however they are cut") {
  for (const std::string text :
       {"", "</results>", "<result></results>", "<results>", "<results><a></results>",
        "<results>text</results>", "<results><>"})
    CHECK(elements_of(text).ends_with("bad"));
  const std::string whole = without_end(status);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    CHECK(elements_of(whole.substr(0, bytes)).ends_with("bad"));
}

TEST_CASE("attributes are found by whole names, in any order and either quotes") {
  const ReplyElement element{
      .name = "opened", .attributes = " uid='x=\"1\"' sym='A' id=\"7\" ", .content = {}};
  CHECK(element.attribute("id") == "7");
  CHECK(element.attribute("sym") == "A");
  CHECK(element.attribute("uid") == "x=\"1\"");
  CHECK(element.attribute("d").data() == nullptr);
}

TEST_CASE("values without quotes are read, and reported") {
  const std::string document =
      "<results><opened sym=ABC amount=\"2\" id=7/>"
      "<status id=7><open shares=3/></status></results>";
  ReplyElements elements(document);
  ReplyElement element;
  REQUIRE(elements.next(element));
  CHECK(element.attribute("sym") == "ABC");
  CHECK(element.attribute("amount") == "2");
  CHECK(element.attribute("id") == "7");
  REQUIRE(elements.next(element));
  Status status;
  CHECK(read_status(element, status) == "");
  CHECK(status.open == Shares::whole(3));
  CHECK(first_bare_value(document) == "ABC");
  CHECK(first_bare_value("<results><a b=\"1\"/><open shares=3/></results>") == "3");
  for (const char* const quoted :
       {"<results><a b=\"c=d\" e='f'/></results>", "<results><error>0 = 1</error></results>", ""})
    CHECK(first_bare_value(quoted).data() == nullptr);
}

TEST_CASE("open, canceled and executed orders are read to the last decimal") {
  const Read open = read(
      "<open shares=\"3\"/><executed shares=\"0.00000001\" price=\"99.5\" time=\"1700000000\"/>");
  CHECK(open.problem == "");
  CHECK((open.status ==
         Status{.open = Shares::whole(3),
                .executions = {{Shares::from_units(1), Price::from_units(9'950'000'000), at}}}));
  const Read canceled = read("\n  <canceled time='1700000000' shares='92233720367.99999999' />\n");
  CHECK(canceled.problem == "");
  CHECK((canceled.status ==
         Status{.canceled = Shares::from_units(9'223'372'036'799'999'999), .canceled_at = at}));
  const Read executed = read(
      "<executed shares=\"2\" price=\"1\" time=\"1700000000\"/><executed shares=\"1\" price=\"2\" "
      "time=\"1700000001\"></executed>");
  CHECK(executed.problem == "");
  CHECK(
      (executed.status.executions ==
       std::vector<Execution>{{Shares::whole(2), Price::whole(1), at},
                              {Shares::whole(1), Price::whole(2), {at.microseconds + 1'000'000}}}));
  CHECK(read("").problem == "");
}

TEST_CASE("content that is no state of an order is bad") {
  for (const char* content :
       {"<open/>", "<open shares=\"0\"/>", "<open shares=\"-1\"/>", "<open shares=\"1e3\"/>",
        "<canceled shares=\"1\"/>", "<canceled shares=\"1\" time=\"soon\"/>",
        "<open shares=\"1\"/><canceled shares=\"1\" time=\"1\"/>",
        "<executed shares=\"1\" price=\"1\" time=\"1\"/><open shares=\"1\"/>",
        "<executed shares=\"1\" price=\"0\" time=\"1\"/>", "<executed shares=\"1\" time=\"1\"/>",
        "<executed shares=\"0.000000001\" price=\"1\" time=\"1\"/>", "<closed/>", "text",
        "<open shares=\"1\"/>text", "<canceled shares=\"1\" time=\"-1\"/>",
        "<executed shares=\"92233720367\" price=\"1\" time=\"1\"/>"
        "<executed shares=\"92233720367\" price=\"1\" time=\"1\"/>"})
    CHECK(read(content).problem != "");
}

TEST_CASE("a whole reply is read as values, an error with its references resolved") {
  const std::vector<ReplyOutcome> results = read_outcomes(
      "<results><created id=\"1\"/><opened sym=\"S\" amount=\"1\" limit=\"1\" id=\"12\"/>"
      "<status id=\"12\"><open shares=\"3\"/></status>"
      "<canceled id=\"13\"><canceled shares=\"2\" time=\"1700000000\"/></canceled>"
      "<replaced id=\"14\" ref=\"r\" amount=\"-5\" limit=\"1\"/>"
      "<error id=\"2\">a &lt;b&gt; &amp; c</error></results>",
      6);
  REQUIRE(results.size() == 6);
  CHECK(std::holds_alternative<Created>(results[0]));
  CHECK(std::get<Opened>(results[1]).order == 12);
  CHECK((std::get<Status>(results[2]) == Status{.order = 12, .open = Shares::whole(3)}));
  CHECK((std::get<Canceled>(results[3]).status ==
         Status{.order = 13, .canceled = Shares::whole(2), .canceled_at = at}));
  CHECK(std::get<Replaced>(results[4]).order == 14);
  CHECK(std::get<ErrorElement>(results[5]).message == "a <b> & c");
}

TEST_CASE("one error without attributes answers every element of the request") {
  const auto all = read_outcomes("<results><error>the whole</error></results>\n", 3);
  REQUIRE(all.size() == 3);
  for (const ReplyOutcome& result : all)
    CHECK(std::get<ErrorElement>(result).message == "the whole");
  CHECK_THROWS_AS(read_outcomes("<results><error id=\"1\">one</error></results>", 3), BadReply);
}

TEST_CASE("a reply may have any number of elements, from one") {
  CHECK(read_outcomes("<results><created/><created/></results>", any_number).size() == 2);
  CHECK(read_outcomes("<results><error>no open orders</error></results>", any_number).size() == 1);
  CHECK_THROWS_AS(read_outcomes("<results/>", any_number), BadReply);
}

TEST_CASE("replies that no exchange sends are bad") {
  for (const char* document :
       {"<results/>", "<results><created/><created/></results>", "<results><hello/></results>",
        "<results><opened sym=\"S\"/></results>", "<results><opened id=\"0\"/></results>",
        "<results><replaced amount=\"1\" limit=\"1\"/></results>", "<oops/>",
        "<results><status id=\"1\"><open shares=\"x\"/></status></results>",
        "<results><status id=\"1\"><open/></status></results>",
        "<results><status id=\"1\"><bid/></status></results>",
        "<results><status id=\"1\"><executed shares=\"1\" price=\"1\" time=\"soon\"/></status>"
        "</results>"}) {
    INFO(document);
    CHECK_THROWS_AS(read_outcomes(document, 1), BadReply);
  }
}

TEST_CASE("the operator's key is an attribute of <create>, and no key is shown") {
  CHECK(create_tag("") == "<create>");
  CHECK(create_tag(R"(a<b&"c'd)") == R"(<create key="a&lt;b&amp;&quot;c'd">)");
  CHECK(without_keys(create_tag("secret") +
                     R"(<account id="1" key="other" balance="5"/></create>)") ==
        R"(<create key="…"><account id="1" key="…" balance="5"/></create>)");
  CHECK(without_keys("<create/>") == "<create/>");
  CHECK(without_keys(R"(cut off key="sec)") == R"(cut off key="…)");
}
