// Sessions: limits, batches and memory of framing, requests and replies; testing/wire has their
// rules, and fuzz/framing.cpp compares framing with an oracle.
#include "protocol/xml_session.hpp"

#include <ctime>

#include "catch.hpp"
#include "protocol/reply.hpp"
#include "support/local.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

const std::string create =
    framed(R"(<create><account id="1" balance="1000"/><symbol sym="S"/></create>)");
const std::string created = results(R"(<created id="1"/><created sym="S"/>)");
const std::string buy =
    framed(R"(<transactions id="1"><order sym="S" amount="1" limit="2"/></transactions>)");
std::string opened(int id) {
  return results(R"(<opened sym="S" amount="1" limit="2" id=")" + std::to_string(id) + R"("/>)");
}
const std::string what = framed("<what/>"), what_reply = error_reply("unknown element 'what'");

// Returns all replies of a fresh exchange to one client that sends `bytes` in pieces of these
// sizes, repeatedly, and then stops. " [closed]" follows if the session ended before the client
// did.
std::string serve_requests(std::string_view bytes,
                           const std::vector<std::size_t>& slices = {std::size_t(-1)},
                           const ProtocolLimits& limits = {}) {
  LocalService service;
  LocalClient client(service, limits);
  for (std::size_t at = 0, i = 0; at < bytes.size(); ++i) {
    const std::string_view piece = bytes.substr(at, slices[i % slices.size()]);
    client.send(piece);
    at += piece.size();
  }
  const bool closed = client.closed();
  if (!closed) client.end();
  REQUIRE(client.closed());
  return client.replies() + (closed ? " [closed]" : "");
}

}  // namespace

TEST_CASE("requests that arrived together are one request batch of commands") {
  const ProtocolLimits limits;
  XmlSession session(limits);
  REQUIRE(receive(session, create + what + buy + "4"));
  CHECK(session.commands().size() == 3);
  CHECK(session.output() == "");
  session.reply(std::vector<Outcome>{Created{}, Rejected{Reason::unknown_account}, Opened{9}});
  CHECK(session.output() == results(R"(<created id="1"/><error sym="S">unknown account</error>)") +
                                what_reply + opened(9));
  CHECK(session.commands().empty());
  CHECK(!session.take_requests());
  CHECK(!session.finished());
}

TEST_CASE(
    "close after reply: blank space behind a request batch as large as may be is not waited on") {
  // the request batch is full with two requests and their elements
  const ProtocolLimits limits{.elements_max = 4, .close_after_reply = true};
  CHECK(serve_requests(create + buy + "\n", {1000}, limits) == created + opened(1) + " [closed]");
  CHECK(serve_requests(create + buy, {1000}, limits) == created + opened(1) + " [closed]");
}

TEST_CASE("a request has so many elements at most, else nothing of it is done") {
  const ProtocolLimits limits{.elements_max = 3};
  const struct {
    std::string begin, child, end, error;
  } cases[] = {{"<create>", "<what/>", "</create>", "<error>unknown element 'what'</error>"},
               {"<create><symbol sym='A'>", "<account id='1'>1</account>", "</symbol></create>",
                R"(<error sym="A" id="1">unknown account</error>)"},
               {"<transactions id='1'>", "<query id='1'/>", "</transactions>",
                R"(<error id="1">unknown account</error>)"}};
  for (const auto& [begin, child, end, error] : cases) {
    const std::string fits = framed(begin + repeated(child, 3) + end),
                      one_more = framed(begin + repeated(child, 4) + end);
    CHECK(serve_requests(fits, {1'000}, limits) == results(repeated(error, 3)));
    CHECK(serve_requests(one_more, {1'000}, limits) ==
          error_reply("more than 3 elements in one request"));
  }
}

TEST_CASE("one request batch holds so many elements, however much was received") {
  const ProtocolLimits limits{.elements_max = 4};
  XmlSession session(limits);
  REQUIRE(receive(session, create + buy + buy));
  CHECK(session.commands().size() == 3);
  session.reply(std::vector<Outcome>{Created{}, Created{}, Opened{1}});
  REQUIRE(session.take_requests());
  CHECK(session.commands().size() == 1);
}

TEST_CASE("a document without a length line has the limit of others") {
  const std::string again = "<create/>";
  const auto of_bytes = [](std::size_t bytes) {
    return "<create>" + std::string(bytes - 17, ' ') + "</create>";
  };
  const std::string refused =
      error_reply("bad framing: request longer than the limit") + " [closed]";
  const ProtocolLimits small{.frame_bytes_max = 99,
                             .read_buffer_bytes_min = 32,
                             .read_buffer_bytes_max = 64,
                             .lenient_framing = true};
  for (const std::size_t slice : {1, 7, 1'000}) {
    CHECK(serve_requests(of_bytes(99) + again, {slice}, small) == results("") + results(""));
    CHECK(serve_requests(of_bytes(100) + again, {slice}, small) == refused);
    CHECK(serve_requests("<" + std::string(1'000, '<'), {slice}, small) == refused);
  }
  const ProtocolLimits lenient{.lenient_framing = true};
  const std::size_t most = 1u << 20;
  CHECK(serve_requests(of_bytes(most) + again, {65'536}, lenient) == results("") + results(""));
  CHECK(serve_requests(of_bytes(most + 1), {65'536}, lenient) == refused);
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
  client.send(create);
  CHECK(client.replies() == created);
}

TEST_CASE("a request of exactly the limit is read, also with others around it") {
  const std::string large = "<create>" + std::string((1u << 20) - 17, ' ') + "</create>";
  REQUIRE(large.size() == 1u << 20);
  CHECK(serve_requests(create + framed(large) + buy, {65'536, 1, 4'000}) ==
        created + results("") + opened(1));
}

TEST_CASE("a pipeline longer than any buffer is answered to its last request") {
  std::string requests = create, replies = created;
  for (int i = 1; i <= 3'000; ++i) {
    requests += buy;
    replies += results(R"(<error sym="S" amount="1" limit="2">insufficient funds</error>)");
    if (i <= 500) replies.replace(replies.rfind("<results>"), std::string::npos, opened(i));
  }
  CHECK(serve_requests(requests) == replies);
  CHECK(serve_requests(requests, {1'000}) == replies);
}

TEST_CASE("after a burst a connection is as small as before once its client asks little again") {
  const ProtocolLimits limits;
  XmlSession session(limits);
  const auto feed = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      receive_some(session, bytes);
      while (session.take_requests()) {
        session.reply(std::vector<Outcome>(session.commands().size(), Created{}));
        session.output().clear();
      }
    }
  };
  feed(create);
  const std::size_t at_rest = session.memory_bytes();
  feed(repeated(create, int(500'000 / create.size()) + 1));
  CHECK(session.memory_bytes() > 10 * at_rest);
  for (int i = 0; i < 3; ++i) feed(create);
  CHECK(session.memory_bytes() < 5 * at_rest);
}

namespace {

// Returns whether the session finds the document complete after these bytes, in one piece or many.
bool is_complete(std::string_view bytes) {
  const ProtocolLimits limits;
  XmlSession at_once(limits), bytewise(limits);
  REQUIRE_FALSE(receive(at_once, bytes));
  const bool complete = at_once.document_is_complete();
  CHECK(at_once.document_is_complete() == complete);
  for (const char& byte : bytes) {
    REQUIRE_FALSE(receive(bytewise, {&byte, 1}));
    bytewise.document_is_complete();
  }
  CHECK(bytewise.document_is_complete() == complete);
  return complete;
}

}  // namespace

TEST_CASE(
    "a session sees that a request is a complete document although its length promises more") {
  for (const char* const document : {"<create/>", "<create></create>", "<transactions id='1'/>",
                                     "<?xml version='1.0'?>\n<create/>", "<!-- c --><create/>",
                                     "<create><account id='1' balance='1'/></create>",
                                     "<transactions id='1'><query id='1'/></transactions>"}) {
    INFO(document);
    CHECK(is_complete("999\n" + std::string(document)));
    CHECK(is_complete("999\n" + std::string(document) + " \r\n"));
    CHECK(is_complete(std::string("999\n") + document + '\0'));
    CHECK(is_complete("\n 00999\r\n" + std::string(document)));
    CHECK_FALSE(is_complete("999\n" + std::string(document) + "<"));
    CHECK_FALSE(is_complete("999\n" + std::string(document) + document));
  }
  for (const char* const bytes :
       {"", " ", "9", "999\n", "999\n\n", "999\n<create>",
        "999\n<create><account id='1' balance='1'/>", "999\n<create", "999\n/>", "999\n>",
        "999\n</create>", "999\n<create></transactions>", "999\n<create><create></create>",
        "999\n<a><create/>"}) {
    INFO(bytes);
    CHECK_FALSE(is_complete(bytes));
  }
}

TEST_CASE(
    "looking whether a request is complete costs little, whatever comes and in whatever pieces") {
  const ProtocolLimits limits;
  for (const std::string piece :
       {"<create></create>", "</create>", "<a/>", " ", "</transactions> "}) {
    XmlSession session(limits);
    REQUIRE_FALSE(receive(session, "1000000\n<create><x>"));
    const std::clock_t begin = std::clock();
    for (std::size_t sent = 0; sent < 900'000; sent += piece.size()) {
      REQUIRE_FALSE(receive(session, piece));
      REQUIRE_FALSE(session.document_is_complete());
    }
    // it takes a fraction of a second; a look at all bytes each time would take minutes
    CHECK(double(std::clock() - begin) / CLOCKS_PER_SEC < 20);
  }
}

TEST_CASE("a connection has so many orders that end with it") {
  ProtocolLimits limits;
  limits.tied_orders_max = 3;
  LocalService service;
  LocalClient client(service, limits);
  const auto tied = [](const std::string& children) {
    return framed(R"(<transactions id="1" cancel-on-disconnect="true">)" + children +
                  "</transactions>");
  };
  const std::string order = R"(<order sym="S" amount="1" limit="2"/>)";
  const std::string full = results(
      R"(<error sym="S" amount="1" limit="2">too many orders of this connection end with it; )"
      "use another connection</error>");
  client.send(create + tied(order + order));
  client.send(buy + tied(order));
  client.replies();
  client.send(tied(order));
  CHECK(client.replies() == full);
  client.send(tied(R"(<cancel id="1"/>)"));
  client.replies();
  client.send(tied(order));
  CHECK(client.replies() == opened(5));
  client.send(tied(order));
  CHECK(client.replies() == full);
  client.send(buy);
  CHECK(client.replies() == opened(6));
  // A reply shows that an order is closed: the error of a cancel or replace, or its status.
  LocalClient other(service, limits);
  for (const char* const closed :
       {R"(<cancel id="2"/>)", R"(<query id="4"/>)", R"(<query id="5"/>)",
        R"(<replace id="7" amount="1" limit="3"/>)"}) {
    const std::string id(1, closed[std::string_view(closed).find('"') + 1]);
    other.send(framed("<transactions id=\"1\"><cancel id=\"" + id + "\"/></transactions>"));
    other.replies();
    client.send(framed("<transactions id=\"1\">" + std::string(closed) + "</transactions>"));
    client.replies();
    client.send(tied(order));
    CHECK_THAT(client.replies(), contains_text("<opened"));
    client.send(tied(order));
    CHECK(client.replies() == full);
  }
  client.end();
  CHECK(client.replies() == "");
  for (const auto& [id, open] : {std::pair(2, false),
                                 {3, true},
                                 {6, true},
                                 {7, false},
                                 {8, false},
                                 {9, false},
                                 {10, false}}) {
    other.send(
        framed("<transactions id=\"1\"><query id=\"" + std::to_string(id) + "\"/></transactions>"));
    CHECK_THAT(other.replies(), contains_text(open ? "<open shares" : "<canceled shares"));
  }
}

TEST_CASE("many orders end with one connection") {
  LocalService service;
  const ProtocolLimits limits;
  LocalClient client(service, limits);
  client.send(framed(R"(<create><account id="1" balance="10000"/></create>)"));
  std::string orders;
  for (int i = 0; i < 2'500; ++i) orders += R"(<order sym="S" amount="1" limit="2"/>)";
  client.send(
      framed(R"(<transactions id="1" cancel-on-disconnect="true">)" + orders + "</transactions>"));
  CHECK(service.exchange().depth(SymbolName("S"), Side::buy).size() == 1);
  client.end();
  CHECK(service.exchange().depth(SymbolName("S"), Side::buy).empty());
  CHECK(service.exchange().balance(AccountId("1")) == Cash::whole(10'000));
}

TEST_CASE("a status that lists not all executions says where the next begin") {
  Status part{
      7, Shares::whole(5), {}, {}, {{Shares::whole(200), Price::whole(127), {123'999'999}}}};
  part.next = 100'001;
  std::string out;
  append_outcome(out, {command_kind<QueryOrder>, {"7"}}, part);
  CHECK(out == R"(<status id="7" next="100001"><open shares="5"/>)"
               R"(<executed shares="200" price="127" time="123"/></status>)");
}
