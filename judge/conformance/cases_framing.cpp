#include <chrono>
#include <thread>

#include "client/connection/framing.hpp"
#include "judge/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

std::string create_account(const std::string& id, const std::string& inside = "") {
  return "<create>" + inside + "<account id=\"" + id + "\" balance=\"10\"/></create>";
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

// Bytes on a connection of their own; the reply must be <created> for each of `ids`.
void expect_created(Talk& talk, const std::vector<std::string>& pieces,
                    const std::vector<std::string>& ids) {
  talk.reconnect();
  for (const std::string& piece : pieces) {
    if (&piece != &pieces.front()) pause();
    talk.send(piece);
  }
  if (talk.target().style().wants_newline) talk.link().send("\n");
  if (talk.target().style().wants_end) talk.link().end_sending();
  for (const std::string& id : ids) {
    const std::vector<Element> answers = talk.receive();
    // R8 is tested on its own
    expect(answers.size() == 1 && answers[0].name == "created" &&
               (!answers[0].find("id") || answers[0].attribute("id") == id),
           "the account " + id + " should have been created");
  }
  talk.reconnect();
}

void request_in_pieces(Talk& talk) {
  const std::string id = talk.source().account(), frame = talk.target().framed(create_account(id));
  const std::size_t line = frame.find('\n') + 1;
  const auto middle =
      std::size_t(talk.between(std::int64_t(line) + 9, std::int64_t(frame.size()) - 9));
  expect_created(
      talk, {frame.substr(0, line), frame.substr(line, middle - line), frame.substr(middle)}, {id});
}

void length_in_pieces(Talk& talk) {
  const std::string id = talk.source().account(), frame = talk.target().framed(create_account(id));
  expect_created(talk, {frame.substr(0, 1), frame.substr(1)}, {id});
}

void carriage_return(Talk& talk) {
  const std::string id = talk.source().account(), document = create_account(id);
  expect_created(talk, {std::to_string(document.size()) + "\r\n" + document}, {id});
}

void zeros_before_length(Talk& talk) {
  const std::string id = talk.source().account(), document = create_account(id);
  expect_created(talk, {"000" + talk.target().framed(document)}, {id});
}

void white_space_between(Talk& talk) {
  talk.need_persistent();
  const std::string a = talk.source().account(), b = talk.source().account();
  expect_created(talk,
                 {talk.target().framed(create_account(a)) + " \r\n\t\n" +
                  talk.target().framed(create_account(b))},
                 {a, b});
}

void byte_order_mark_before(Talk& talk) {
  const std::string id = talk.source().account();
  expect_created(talk, {"\xEF\xBB\xBF" + talk.target().framed(create_account(id))}, {id});
}

void pipelined_requests(Talk& talk) {
  talk.need_persistent();
  std::string bytes;
  std::vector<std::string> ids;
  for (std::int64_t i = talk.between(3, 20); i > 0; --i) {
    ids.push_back(talk.source().account());
    bytes += talk.target().framed(create_account(ids.back()));
  }
  expect_created(talk, {bytes}, ids);
}

void half_closed(Talk& talk) {
  const std::string id = talk.source().account();
  talk.reconnect();
  talk.send(talk.target().framed(create_account(id)));
  talk.link().end_sending();
  const std::vector<Element> answers = talk.receive();
  expect(answers.size() == 1 && answers[0].name == "created", "<created> was expected");
}

// The bytes get one error, and then the end of the stream.
void expect_framing_error(Talk& talk, const std::string& bytes) {
  talk.reconnect();
  talk.send(bytes);
  const std::vector<Element> answers = talk.receive();
  expect(answers.size() == 1 && answers[0].name == "error", "one <error> was expected");
  expect(talk.link().closed_in_time(), "the server should close the connection after the error");
  talk.reconnect();
}

void executed_before_bad_framing(Talk& talk) {
  const std::string id = talk.source().account(), other = talk.source().account();
  talk.reconnect();
  talk.send(talk.target().framed(create_account(id)) + "x" +
            talk.target().framed(create_account(other)));
  const std::vector<Element> answers = talk.receive();
  expect(answers.size() == 1 && answers[0].name == "created",
         "the request before the bad one should be answered");
  talk.receive();
  expect(talk.link().closed_in_time(), "the server should close the connection after the error");
  talk.reconnect();
  expect(talk.ask_one(create_account(other)).name == "created",
         "nothing behind bad framing should be executed");
}

void cut_off(Talk& talk) {
  const std::string id = talk.source().account(), document = create_account(id);
  talk.reconnect();
  talk.send(std::to_string(document.size() + 2) + "\n" + document);
  talk.link().end_sending();
  const std::vector<Element> answers = talk.receive();
  expect(answers.size() == 1 && answers[0].name == "error", "one <error> was expected");
  const std::string& sentence = answers[0].text;
  expect(sentence.find(std::to_string(document.size() + 2)) != std::string::npos &&
             sentence.find(std::to_string(document.size())) != std::string::npos,
         "the error should name the bytes announced and the bytes that came");
  talk.reconnect();
  expect(talk.ask_one(create_account(id)).name == "created",
         "a request that was cut off should not be executed");
}

void too_long_length_is_answered(Talk& talk) {
  const std::string document = create_account(talk.source().account());
  talk.reconnect();
  talk.send(std::to_string(document.size() + 2) + "\n" + document);
  const std::vector<Element> answers = talk.receive();
  expect(answers.size() == 1 && answers[0].name == "error", "one <error> was expected");
  talk.reconnect();
}

}  // namespace

Cases framing_cases() {
  const auto refused = [](const char* rule, const char* name, const std::string& bytes) {
    return Case{rule, name, [bytes](Talk& talk) { expect_framing_error(talk, bytes); }};
  };
  const std::string document = create_account("1");
  return {
      {"F1", "a request arrives in pieces", request_in_pieces},
      {"F1", "a length line arrives in pieces", length_in_pieces},
      {"F3", "a carriage return behind the length", carriage_return},
      {"F4", "zeros before the length", zeros_before_length},
      refused("F5", "a length over the limit", "1048577\n"),
      refused("F6", "a length line that does not end", std::string(35, '0')),
      {"F7", "white space between requests", white_space_between},
      {"F10", "several requests at once", pipelined_requests},
      {"F11", "the client closes its sending side", half_closed},
      refused("F12", "a length of 0", "0\n"),
      refused("F12", "a length line that is no number", "12x\n" + document),
      refused("F13", "no length line", document),
      {"F14", "a request before a bad one", executed_before_bad_framing},
      {"F16", "the stream ends inside a request", cut_off},
      {"F18", "a length that is too long", too_long_length_is_answered, true},
      {"F22", "a byte order mark before a length line", byte_order_mark_before},
  };
}

}  // namespace exchange::conformance
