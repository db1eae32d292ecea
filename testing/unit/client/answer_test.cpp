// Right and wrong answers.
#include "client/answer.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "client/id_set.hpp"

using namespace exchange::loadgen;

namespace {

// A script that has just asked for something of this kind.
Script asked(const WorkloadOptions& options, RequestKind kind) {
  Script script(options, 0);
  FrameBuffer buffer;
  do {
    script.next(buffer);
    if (script.request().kind == RequestKind::order) script.opened(41);
  } while (script.request().kind != kind);
  return script;
}

std::string text(char* (*write)(char*, std::int32_t), std::int32_t value) {
  char bytes[32];
  return std::string(bytes, write(bytes, value));
}

std::string order_attributes(const Request& request) {
  return "sym=\"SYM" + std::to_string(request.symbol) + "\" amount=\"" + std::to_string(request.amount) + "\" limit=\"" +
         text(write_cents, request.limit_cents) + "\"";
}

}  // namespace

TEST_CASE("an order is answered by its own attributes and an id, or refused with them") {
  const WorkloadOptions options{.kind = WorkloadKind::transactions, .seed = test_seed()};
  const Script script = asked(options, RequestKind::order);
  const std::string attributes = order_attributes(script.request());

  const Answer opened = check_reply(script, "<results><opened " + attributes + " id=\"12\"/></results>");
  CHECK(opened.problem == "");
  CHECK(!opened.refused);
  CHECK(opened.opened == 12);
  const std::string refusal = "<results><error " + attributes + ">not enough cash</error></results>";
  const Answer refused = check_reply(script, refusal);
  CHECK(refused.problem == "");
  CHECK(refused.refused);
  CHECK(refused.refusal == "not enough cash");

  for (const std::string& wrong : std::vector<std::string>
       {"<results><opened " + attributes + "/></results>", "<results><opened " + attributes + " id=\"0\"/></results>",
        "<results><opened sym=\"SYM1\" amount=\"1000\" limit=\"1\" id=\"12\"/></results>", "<results><status id=\"12\"/></results>",
        "<results></results>", "<results><error>no</error></results>", "<results><opened " + attributes + " id=\"12\"/>",
        "<results><opened " + attributes + " id=\"12\"/><opened " + attributes + " id=\"13\"/></results>"})
    CHECK(check_reply(script, wrong).problem != "");
}

TEST_CASE("an account with shares is answered by two elements in order") {
  const WorkloadOptions options{.kind = WorkloadKind::create, .seed = test_seed(), .account_prefix = "9"};
  const Script script = asked(options, RequestKind::account_with_shares);
  char bytes[64];
  const std::string id(bytes, script.write_new_account(bytes)), symbol = "SYM" + std::to_string(script.request().symbol);
  const std::string account = "<created id=\"" + id + "\"/>", shares = "<created sym=\"" + symbol + "\" id=\"" + id + "\"/>";
  CHECK(check_reply(script, "<results>" + account + shares + "</results>").problem == "");
  CHECK(check_reply(script, "<results>" + account + "</results>").problem != "");
  CHECK(check_reply(script, "<results>" + account + account + "</results>").problem != "");
}

TEST_CASE("queries and cancels are answered under their own names and ids") {
  const WorkloadOptions options{.kind = WorkloadKind::mix, .seed = test_seed()};
  const Script query = asked(options, RequestKind::query), cancel = asked(options, RequestKind::cancel);
  CHECK(check_reply(query, "<results><status id=\"41\"><open shares=\"1\"/></status></results>").problem == "");
  CHECK(check_reply(query, "<results><status id=\"42\"><open shares=\"1\"/></status></results>").problem != "");
  CHECK(check_reply(cancel, "<results><canceled id=\"41\"><canceled shares=\"1\" time=\"5\"/></canceled></results>").problem == "");
  CHECK(check_reply(cancel, "<results><status id=\"41\"/></results>").problem != "");
  CHECK(check_reply(cancel, "<results><error id=\"41\">order is closed</error></results>").refused);
}

TEST_CASE("an id that comes twice is noticed, near or far") {
  IdSet ids;
  for (const std::uint64_t id : {1ull, 2ull, 511ull, 512ull, 1ull << 40, ~0ull}) CHECK(ids.insert(id));
  for (const std::uint64_t id : {1ull, 2ull, 511ull, 512ull, 1ull << 40, ~0ull}) CHECK(!ids.insert(id));
}
