#include "protocol/framing.hpp"

#include "unit/protocol/support.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const std::string create = R"(<create><account id="1" balance="5"/></create>)";
const std::string created = results(R"(<created id="1"/>)");
const std::string again = R"(<create><symbol sym="S"/></create>)";
const std::string again_created = results(R"(<created sym="S"/>)");

std::string describe(const Frame& frame) {
  switch (frame.state) {
    case Frame::State::incomplete:
      return "incomplete skip " + std::to_string(frame.skip) + " wants " +
             std::to_string(frame.bytes_wanted);
    case Frame::State::complete:
      return "complete " + std::to_string(frame.skip) + "+" + std::to_string(frame.header) + "+" +
             std::to_string(frame.bytes);
    case Frame::State::bad: return std::string(frame.problem);
  }
  return "?";
}
std::string find(std::string_view buffer) { return describe(find_frame(buffer, ProtocolLimits{})); }

// Checks each buffer and the frame that is found in it.
void check_frames(const std::vector<std::pair<std::string_view, std::string_view>>& buffers) {
  for (const auto& [buffer, found] : buffers) {
    INFO(buffer.substr(0, 60));
    CHECK(find(buffer) == found);
  }
}

const std::string bad_digits = "bad framing: a request begins with its length in digits";
const std::string bad_newline = "bad framing: the length must be followed by a newline";
const std::string too_long_line = "bad framing: length line too long";
const std::string over_limit = "bad framing: request longer than the limit";
const std::string zero = "bad framing: length is 0";
const std::string cut_short = "bad framing: the stream ended inside a request";
const std::string malformed = "malformed XML: Error parsing start element tag";
const std::string doubted = "; the request before was malformed: was its length right?";
const std::string second_line =
    "; a second length line follows after 4 bytes: is the length right?";

std::string too_few(int announced, int came) {
  return "bad framing: " + std::to_string(announced) + " bytes announced, " + std::to_string(came) +
         " came, and the document is complete: is the length right?";
}
// Returns the reply to bad framing, which ends the connection.
std::string fatal(const std::string& sentence) { return error_reply(sentence) + " [closed]"; }

}  // namespace

TEST_CASE("a frame is a line of digits and as many bytes") {
  check_frames({{"3\nabc", "complete 0+2+3"},
                {"3\nabcd", "complete 0+2+3"},
                {"10\n0123456789", "complete 0+3+10"},
                {"0003\nabc", "complete 0+5+3"},
                {"3\r\nabc", "complete 0+3+3"},
                {"3\n\n\n\n", "complete 0+2+3"}});  // blank bytes of the XML are its own
}

TEST_CASE("an incomplete frame is recognized, with the bytes it wants once its length is known") {
  check_frames({{"", "incomplete skip 0 wants 0"},
                {"1", "incomplete skip 0 wants 0"},
                {"12", "incomplete skip 0 wants 0"},
                {"12\r", "incomplete skip 0 wants 0"},
                {"12\n", "incomplete skip 0 wants 15"},
                {"12\r\n", "incomplete skip 0 wants 16"},
                {"12\n01234567890", "incomplete skip 0 wants 15"},
                {" \n12\n0", "incomplete skip 2 wants 17"}});
}

TEST_CASE("blank space before a frame is skipped, also where no frame follows yet") {
  check_frames({{"\n3\nabc", "complete 1+2+3"},
                {" \t\r\n\n3\nabc", "complete 5+2+3"},
                {" \r\n", "incomplete skip 3 wants 0"},
                {std::string_view("\0\n\0003\nabc", 8), "complete 3+2+3"},
                {std::string_view("\0", 1), "incomplete skip 1 wants 0"},
                {"\xEF\xBB\xBF"
                 "3\nabc",
                 "complete 3+2+3"},
                {" \xEF\xBB\xBF\n\xEF\xBB\xBF"
                 "3\nabc",
                 "complete 8+2+3"},
                {"\xEF\xBB\xBF", "incomplete skip 3 wants 0"},
                {" \xEF\xBB", "incomplete skip 1 wants 0"},
                {"\xEF", "incomplete skip 0 wants 0"},
                {"\v3\nabc", bad_digits}});
}

TEST_CASE("what does not begin with a digit is no frame") {
  for (const std::string bad : {"x", "-1\nabc", "+3\nabc", "<create/>", ".5\n", "\xEF\xBB\xBE",
                                "\xEF\xBB"
                                "3\nabc",
                                "٣\nabc"})
    CHECK(find(bad) == bad_digits);
}

TEST_CASE("bad framing that is well known gets a hint, by its first bytes alone") {
  const auto replies = [](const std::string& bytes) {
    const std::string at_once = serve_requests(bytes);
    CHECK(serve_requests(bytes, {1}) == at_once);
    return at_once;
  };
  const std::string binary = "; the length is text, not a binary number",
                    zeros(3, '\0');  // lengths as `htonl` and as the memory of most CPUs has them
  CHECK(replies(zeros + "\x8E<create/>") == fatal(bad_digits + binary));
  CHECK(replies("\x8E" + zeros + "<create/>") == fatal(bad_digits + binary));
  CHECK(replies(zeros + "\x09<create/>") ==
        fatal(bad_digits + "; a document without a length line needs a server with "
                           "--request-framing lenient"));
  CHECK(replies(zeros + "N<create/>") == fatal(bad_digits + binary));
  CHECK(replies(zeros + "9<create/>") == fatal(bad_newline + binary));
  CHECK(replies("9" + zeros + "<create/>") == fatal(bad_newline + binary));
  CHECK(replies("N") == fatal(bad_digits));
  CHECK(replies(framed(create) + zeros + "\n" + "N") == created + fatal(bad_digits));
  CHECK(replies(std::to_string(create.size()) + "\n" + framed(create)) ==
        error_reply("malformed XML: Start-end tags mismatch; a second length line stands "
                    "before the document") +
            fatal(bad_digits + doubted));
}

namespace {

const ProtocolLimits lenient{.lenient_framing = true};

std::string serve_leniently(const std::string& bytes) {
  const std::string replies = serve_requests(bytes, {100'000}, lenient);
  INFO(bytes);
  CHECK(serve_requests(bytes, {1}, lenient) == replies);
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 20; ++i)
    CHECK(serve_requests(bytes, random_slices(random), lenient) == replies);
  return replies;
}

}  // namespace

TEST_CASE("a document without a length line ends with its root element") {
  const std::string marks = "<!-- </create> > --><?p </create> ?>",
                    inside =
                        "<account id=\"1\" balance='5' y=\"'>\" x='/>'/>"
                        "<![CDATA[</create>]]><!-- </create> -->";
  for (const std::string& document :
       {create, "<?xml version=\"1.0\"?>\n" + marks + create + "\n",
        marks + "<create  >" + inside + "</create >", "\xEF\xBB\xBF\n" + create})
    CHECK(serve_leniently(document + again) == created + again_created);
  CHECK(serve_leniently("<create/><transactions id='1'/>\n\n<x/>") ==
        results("") + results("") + error_reply("unknown element 'x'"));
  CHECK(serve_leniently(create + framed(again) + create) ==
        created + again_created + results("<error id=\"1\">account already exists</error>"));
  CHECK(serve_leniently("</create>" + again) ==
        error_reply("malformed XML: Start-end tags mismatch") + again_created);
  CHECK(serve_leniently("<!DOCTYPE a><create/>") ==
        error_reply("malformed XML: document types are not accepted"));
  for (const std::string cut : {"<", "<create>", "<create><create/>", "<create></create", "<!-- "})
    CHECK(serve_leniently(again + cut) == again_created + error_reply(cut_short));
  CHECK(serve_leniently("x") == fatal(bad_digits));
}

TEST_CASE("a document without a length line has the limit of others") {
  const auto of_bytes = [](std::size_t bytes) {
    return "<create>" + std::string(bytes - 17, ' ') + "</create>";
  };
  const ProtocolLimits small{.frame_bytes_max = 99,
                             .read_buffer_bytes_min = 32,
                             .read_buffer_bytes_max = 64,
                             .lenient_framing = true};
  for (const std::size_t slice : {1, 7, 1'000}) {
    CHECK(serve_requests(of_bytes(99) + again, {slice}, small) == results("") + again_created);
    CHECK(serve_requests(of_bytes(100) + again, {slice}, small) == fatal(over_limit));
    CHECK(serve_requests("<" + std::string(1'000, '<'), {slice}, small) == fatal(over_limit));
  }
  const std::size_t most = 1u << 20;
  CHECK(serve_requests(of_bytes(most) + again, {65'536}, lenient) == results("") + again_created);
  CHECK(serve_requests(of_bytes(most + 1), {65'536}, lenient) == fatal(over_limit));
}

TEST_CASE("a length may be one byte too large where the server is lenient") {
  const auto announced = [](std::size_t more, const std::string& document) {
    return std::to_string(document.size() + more) + "\n" + document;
  };
  for (const std::string behind : {"", "\n", " \r\n\n"})
    CHECK(serve_leniently(announced(1, create) + behind + announced(1, again) + behind) ==
          created + again_created);
  CHECK(serve_leniently(announced(1, create) + again + framed(create)) ==
        created + again_created + results("<error id=\"1\">account already exists</error>"));
  CHECK(serve_leniently(framed(create) + framed(again)) == created + again_created);
  CHECK(serve_leniently(announced(2, create)) ==
        error_reply(too_few(int(create.size()) + 2, int(create.size()))));
  LocalService service;
  LocalClient client(service, lenient);
  client.send(announced(1, create));  // and the connection stays open
  CHECK(client.replies() == created);
}

TEST_CASE("nothing but a newline may follow the digits") {
  for (const std::string bad :
       {"3x", "3 \nabc", "3\tabc", "3.0\nabc", "3-\n", "0x3\nabc", "3\rabc", "3\r\r\nabc", "3e1\n"})
    CHECK(find(bad) == bad_newline);
  CHECK(find(std::string_view("3\0\nabc", 6)) == bad_newline);
}

TEST_CASE("a length of nothing is refused however it is written") {
  check_frames({{"0\n", zero}, {"0\r\n", zero}, {"0000\nabc", zero}});
}

TEST_CASE("a length over the limit is refused before its bytes are read, one at the limit is not") {
  check_frames({{"1048576\n", "incomplete skip 0 wants 1048584"},
                {"1048577\n", over_limit},
                {"9999999999999999999\n", over_limit},
                {"18446744073709551617\n", too_long_line},  // 2^64 + 1 does not wrap to 1
                {"1844674407370955161\n", over_limit}});
  const ProtocolLimits small{.frame_bytes_max = 4};
  CHECK(describe(find_frame("4\nabcd", small)) == "complete 0+2+4");
  CHECK(describe(find_frame("5\nabcde", small)) == over_limit);
}

TEST_CASE("the newline comes within 20 bytes or never") {
  const std::string digits19 = "0000000000000000003", digits18 = digits19.substr(1);
  CHECK(find(digits19 + "\nabc") == "complete 0+20+3");
  CHECK(find(digits18 + "\r\nabc") == "complete 0+20+3");
  CHECK(find(digits19 + "\r\nabc") == too_long_line);
  CHECK(find(digits19) == "incomplete skip 0 wants 0");
  CHECK(find("0" + digits19) == too_long_line);
  CHECK(find("0" + digits19 + "\nabc") == too_long_line);
  CHECK(find("0" + digits19 + "x") == too_long_line);  // as it is without the x
  CHECK(find(std::string(1'000'000, '1')) == too_long_line);
  CHECK(find(std::string(1'000'000, ' ') + digits19 + "\nabc") == "complete 1000000+20+3");
}

TEST_CASE("the same bytes give the same replies however they are sliced") {
  const std::string good = framed(create);
  const std::string two = good + framed(again);
  const struct {
    std::string bytes, replies;
  } cases[] = {
      {good, created},
      {two, created + again_created},
      {good + "\n \r\n\t" + framed(again) + "\n", created + again_created},
      {std::to_string(create.size()) + "\r\n" + create, created},
      {"\n\n" + good, created},
      {"", ""},
      {" \r\n", ""},
      {good + "\n", created},
      // The framing is wrong after a good request: the reply comes, then the error, then the end.
      {good + "x", created + fatal(bad_digits)},
      {good + "-5\nabc" + good, created + fatal(bad_digits)},
      {good + "0\n" + good, created + fatal(zero)},
      {good + "1048577\n" + good, created + fatal(over_limit)},
      {good + "00000000000000000000003\n" + good, created + fatal(too_long_line)},
      {good + "3 \n" + good, created + fatal(bad_newline)},
      {good + "3\rabc", created + fatal(bad_newline)},
      // The stream ends inside a frame.
      {good + "3", created + error_reply(cut_short)},
      {good + "3\r", created + error_reply(cut_short)},
      {good + "3\n", created + error_reply(cut_short + ": 3 bytes announced, 0 came")},
      {good + framed(again).substr(0, 20),
       created + error_reply(cut_short + ": 34 bytes announced, 17 came")},
      // The length is wrong: too large, at the end and before another request; too small.
      {"5\n<a/>", error_reply(too_few(5, 4))},
      {"9\n<a/> \r\n", error_reply(too_few(9, 7))},
      {"9\n<a/>7\n<b/>7\n<", error_reply(malformed + second_line) + fatal(bad_digits + doubted)},
      {"99\n<a/>\n4\n<b/>", error_reply(cut_short + ": 99 bytes announced, 11 came" + second_line)},
      {"3\n<a/>\n", error_reply(malformed) + fatal(bad_digits + doubted)},
  };
  std::mt19937_64 random(test_seed());
  for (const auto& c : cases) {
    INFO(c.bytes);
    CHECK(serve_requests(c.bytes) == c.replies);
    CHECK(serve_requests(c.bytes, {1}) == c.replies);
    for (int i = 0; i < 20; ++i) CHECK(serve_requests(c.bytes, random_slices(random)) == c.replies);
  }
}

TEST_CASE("a frame cut short executes nothing") {
  LocalService service;
  const ProtocolLimits limits;
  LocalClient client(service, limits);
  client.send(std::to_string(create.size() + 1) + "\n" + create);
  client.end();
  CHECK(client.replies() == error_reply(too_few(47, 46)));
  CHECK(service.exchange().accounts() == 0);
}

TEST_CASE(
    "a session's memory grows with the bytes that came, not with the length that was claimed") {
  const ProtocolLimits limits;
  XmlSession session(limits);
  const auto feed = [&](std::string_view bytes) {
    REQUIRE(session.read_space().size() >= bytes.size());
    REQUIRE(!receive(session, bytes));
  };
  feed("1048576\n");
  CHECK(session.read_space().size() <= limits.read_buffer_bytes_min);
  feed("<create>");
  CHECK(session.read_space().size() <= limits.read_buffer_bytes_min);
  std::size_t sent = 16;
  while (sent < 1'000'000) {
    const std::size_t piece = std::min<std::size_t>(session.read_space().size(), 1'000'000 - sent);
    REQUIRE(piece > 0);
    REQUIRE(piece <= 4 * std::max(sent, limits.read_buffer_bytes_min));
    feed(std::string(piece, ' '));
    sent += piece;
  }
}

TEST_CASE("after a large request a connection goes back to its size at rest") {
  LocalService service;
  const ProtocolLimits limits;
  LocalClient client(service, limits);
  client.send(framed("<create>" + std::string(1'000'000, ' ') + "</create>"));
  CHECK(client.replies() == results(""));
  CHECK(client.session().read_space().size() == limits.read_buffer_bytes_min);
  client.send(framed(create));
  CHECK(client.replies() == created);
}

TEST_CASE("a request of exactly the limit is read, also with others around it") {
  const std::string large = "<create>" + std::string((1u << 20) - 17, ' ') + "</create>";
  REQUIRE(large.size() == 1u << 20);
  CHECK(serve_requests(framed(create) + framed(large) + framed(again), {65'536, 1, 4'000}) ==
        created + results("") + again_created);
}
