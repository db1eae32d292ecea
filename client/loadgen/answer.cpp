#include "client/loadgen/answer.hpp"

#include <charconv>

namespace exchange::loadgen {
namespace {

// Room for the text of any one attribute that a request writes.
using TextBuffer = char[128];

std::string_view between(const char* begin, const char* end) {
  return {begin, std::size_t(end - begin)};
}

bool repeats_symbol(const ReplyElement& reply, const Workload& workload,
                    const RequestElement& element) {
  TextBuffer text;
  return reply.attribute("sym") ==
         between(text,
                 write_number(write_text(text, workload.options().symbol_prefix), element.symbol));
}

bool repeats_order(const ReplyElement& reply, const Workload& workload,
                   const RequestElement& element) {
  TextBuffer text;
  return repeats_symbol(reply, workload, element) &&
         reply.attribute("amount") == between(text, write_number(text, element.amount)) &&
         reply.attribute("limit") == between(text, write_cents(text, element.limit_cents));
}

bool repeats_new_account(const ReplyElement& reply, const Workload& workload, unsigned client,
                         const RequestElement& element) {
  TextBuffer text;
  return reply.attribute("id") ==
         between(text, write_new_account(text, workload, client, element.id));
}

bool repeats_id(const ReplyElement& reply, std::uint64_t id) {
  TextBuffer text;
  return reply.attribute("id") == between(text, std::to_chars(text, text + sizeof text, id).ptr);
}

// Whether the attributes come back as they were sent.
bool repeats(const ReplyElement& reply, const Workload& workload, unsigned client,
             const RequestElement& element) {
  switch (element.kind) {
    case RequestElement::Kind::account:
      return repeats_new_account(reply, workload, client, element);
    case RequestElement::Kind::placement:
      return repeats_new_account(reply, workload, client, element) &&
             repeats_symbol(reply, workload, element);
    case RequestElement::Kind::order: return repeats_order(reply, workload, element);
    case RequestElement::Kind::query:
    case RequestElement::Kind::cancel: return repeats_id(reply, element.id);
  }
  return false;
}

std::string_view name_wanted(RequestElement::Kind kind) {
  switch (kind) {
    case RequestElement::Kind::account:
    case RequestElement::Kind::placement: return "created";
    case RequestElement::Kind::order: return "opened";
    case RequestElement::Kind::query: return "status";
    case RequestElement::Kind::cancel: return "canceled";
  }
  return "";
}

std::uint64_t order_id(const ReplyElement& reply) {
  const std::string_view text = reply.attribute("id");
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && end == text.data() + text.size() ? id : 0;
}

// The problem of an answer to this element; empty where it is right.
std::string_view problem_of(ElementAnswer& answer, const Workload& workload, unsigned client,
                            const RequestElement& element) {
  const ReplyElement& reply = answer.element;
  if (reply.name == "error") {
    if (reply.attributes.empty()) return "an error for all of the request, or for the connection";
    answer.rejected = true;
  } else if (reply.name != name_wanted(element.kind)) {
    return "a reply element of another kind";
  } else if (element.kind == RequestElement::Kind::order &&
             (answer.opened = order_id(reply)) == 0) {
    return "an order opened without a transaction id";
  }
  return repeats(reply, workload, client, element)
             ? std::string_view()
             : "the reply does not repeat the request's attributes";
}

}  // namespace

void check_reply(const Workload& workload, unsigned client, const Request& request,
                 std::string_view document, Answer& answer) {
  answer.problem = {};
  answer.malformed = false;
  answer.elements.clear();
  ReplyElements elements(document);
  for (ReplyElement reply; elements.next(reply);) {
    if (answer.elements.size() == request.elements.size()) {
      answer.problem = "more reply elements than elements asked";
      return;
    }
    const RequestElement& element = request.elements[answer.elements.size()];
    answer.problem = problem_of(answer.elements.emplace_back(ElementAnswer{.element = reply}),
                                workload, client, element);
    if (!answer.problem.empty()) return;
  }
  if (!elements.complete()) {
    answer.malformed = true;
    answer.problem = "not a <results> document";
  } else if (answer.elements.size() < request.elements.size()) {
    answer.problem = "fewer reply elements than elements asked";
  }
}

}  // namespace exchange::loadgen
