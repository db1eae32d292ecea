#include "client/answer.hpp"

#include <charconv>

#include "client/reply.hpp"

namespace exchange::loadgen {
namespace {

// Room for the text of any one attribute that a request writes.
using TextBuffer = char[128];

std::string_view between(const char* begin, const char* end) { return {begin, std::size_t(end - begin)}; }

bool repeats_symbol(const ReplyElement& element, const Request& request) {
  TextBuffer text;
  return element.attribute("sym") == between(text, write_number(write_text(text, "SYM"), request.symbol));
}

bool repeats_order(const ReplyElement& element, const Request& request) {
  TextBuffer text;
  return repeats_symbol(element, request) && element.attribute("amount") == between(text, write_number(text, request.amount)) &&
         element.attribute("limit") == between(text, write_cents(text, request.limit_cents));
}

bool repeats_new_account(const ReplyElement& element, const Script& script) {
  TextBuffer text;
  return element.attribute("id") == between(text, script.write_new_account(text));
}

bool repeats_id(const ReplyElement& element, std::uint64_t id) {
  TextBuffer text;
  return element.attribute("id") == between(text, std::to_chars(text, text + sizeof text, id).ptr);
}

// Whether the attributes of leaf number `leaf` of the request come back as they were sent.
bool repeats_request(const ReplyElement& element, const Script& script, std::size_t leaf) {
  const Request& request = script.request();
  switch (request.kind) {
    case RequestKind::account:
    case RequestKind::account_with_shares:
      return repeats_new_account(element, script) && (leaf == 0 || repeats_symbol(element, request));
    case RequestKind::order: return repeats_order(element, request);
    case RequestKind::query:
    case RequestKind::cancel: return repeats_id(element, request.id);
  }
  return false;
}

std::string_view name_wanted(RequestKind kind) {
  switch (kind) {
    case RequestKind::account:
    case RequestKind::account_with_shares: return "created";
    case RequestKind::order: return "opened";
    case RequestKind::query: return "status";
    case RequestKind::cancel: return "canceled";
  }
  return "";
}

std::uint64_t order_id(const ReplyElement& element) {
  const std::string_view text = element.attribute("id");
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && end == text.data() + text.size() ? id : 0;
}

}  // namespace

Answer check_reply(const Script& script, std::string_view document) {
  const Request& request = script.request();
  const std::size_t leaves = request.kind == RequestKind::account_with_shares ? 2 : 1;
  Answer answer;
  ReplyElements elements(document);
  ReplyElement element;
  std::size_t count = 0;
  for (; elements.next(element); ++count) {
    if (count == leaves) return {.problem = "more reply elements than elements asked"};
    if (element.name == "error") {
      if (element.attributes.empty()) return {.problem = "an error for all of the request, or for the connection"};
      answer.refused = true;
      answer.refusal = element.content;
    } else if (element.name != name_wanted(request.kind)) {
      return {.problem = "a reply element of another kind"};
    } else if (request.kind == RequestKind::order && (answer.opened = order_id(element)) == 0) {
      return {.problem = "an order opened without a transaction id"};
    }
    if (!repeats_request(element, script, count)) return {.problem = "the reply does not repeat the request's attributes"};
  }
  if (!elements.complete()) return {.problem = "not a <results> document"};
  if (count < leaves) return {.problem = "fewer reply elements than elements asked"};
  return answer;
}

}  // namespace exchange::loadgen
