// Where replies end, in whatever pieces they come, and what is in them.
#include "client/connection/reply.hpp"

#include <random>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace exchange::loadgen;

namespace {

const std::string opened =
    "<results><opened sym=\"SYM1\" amount=\"-7\" limit=\"99.50\" id=\"12\"/></results>\n";
const std::string status =
    "<results><status id=\"12\"><open shares=\"3\"/><executed shares=\"4\" price=\"99.5\" time=\"1700000000\"/></status></results>\n";

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
  REQUIRE(without_end(buffer) == "");
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

TEST_CASE("what cannot be the beginning of a reply is bad") {
  for (const std::string text :
       {"hello", "x<results></results>", "0\n<results/>", "12x\n", "99999999999999999999999\n"}) {
    std::size_t scanned = 0;
    CHECK(find_reply(text, scanned).state == ReplyEnd::State::bad);
  }
}

TEST_CASE("elements directly inside <results> are told apart from what they contain") {
  CHECK(elements_of(opened) == "opened(12);end");
  CHECK(
      elements_of("<?xml version=\"1.0\"?>\n" + status) ==
      "status(12)<open shares=\"3\"/><executed shares=\"4\" price=\"99.5\" time=\"1700000000\"/>;end");
  CHECK(elements_of("<results>\n  <created id='1'/>\n  <error id=\"2\">no</error>\n</results>") ==
        "created(1);error(2)no;end");
  CHECK(elements_of("<results/>") == "end");
  CHECK(elements_of("<results></results>") == "end");
}

TEST_CASE("documents that are no results are bad, however they are cut") {
  for (const std::string text : {"", "<result></result>", "<results>", "<results><a></results>",
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
