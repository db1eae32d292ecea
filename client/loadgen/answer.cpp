#include "client/loadgen/answer.hpp"

#include <charconv>

namespace exchange::loadgen {
namespace {

// Room for the text of any one attribute that a request writes.
using TextBuffer = char[128];

std::string_view between(const char* begin, const char* end) {
  return {begin, std::size_t(end - begin)};
}

bool repeats_symbol(const ReplyElement& element, const Workload& workload, const Leaf& leaf) {
  TextBuffer text;
  return element.attribute("sym") ==
         between(text,
                 write_number(write_text(text, workload.options().symbol_prefix), leaf.symbol));
}

bool repeats_order(const ReplyElement& element, const Workload& workload, const Leaf& leaf) {
  TextBuffer text;
  return repeats_symbol(element, workload, leaf) &&
         element.attribute("amount") == between(text, write_number(text, leaf.amount)) &&
         element.attribute("limit") == between(text, write_cents(text, leaf.limit_cents));
}

bool repeats_new_account(const ReplyElement& element, const Workload& workload, unsigned client,
                         const Leaf& leaf) {
  TextBuffer text;
  return element.attribute("id") ==
         between(text, write_new_account(text, workload, client, leaf.id));
}

bool repeats_id(const ReplyElement& element, std::uint64_t id) {
  TextBuffer text;
  return element.attribute("id") == between(text, std::to_chars(text, text + sizeof text, id).ptr);
}

// Whether the attributes come back as they were sent.
bool repeats(const ReplyElement& element, const Workload& workload, unsigned client,
             const Leaf& leaf) {
  switch (leaf.kind) {
    case Leaf::Kind::account: return repeats_new_account(element, workload, client, leaf);
    case Leaf::Kind::placement:
      return repeats_new_account(element, workload, client, leaf) &&
             repeats_symbol(element, workload, leaf);
    case Leaf::Kind::order: return repeats_order(element, workload, leaf);
    case Leaf::Kind::query:
    case Leaf::Kind::cancel: return repeats_id(element, leaf.id);
  }
  return false;
}

std::string_view name_wanted(Leaf::Kind kind) {
  switch (kind) {
    case Leaf::Kind::account:
    case Leaf::Kind::placement: return "created";
    case Leaf::Kind::order: return "opened";
    case Leaf::Kind::query: return "status";
    case Leaf::Kind::cancel: return "canceled";
  }
  return "";
}

std::uint64_t order_id(const ReplyElement& element) {
  const std::string_view text = element.attribute("id");
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc() && end == text.data() + text.size() ? id : 0;
}

// The problem of an answer to this leaf; empty where it is right.
std::string_view problem_of(LeafAnswer& answer, const Workload& workload, unsigned client,
                            const Leaf& leaf) {
  const ReplyElement& element = answer.element;
  if (element.name == "error") {
    if (element.attributes.empty()) return "an error for all of the request, or for the connection";
    answer.rejected = true;
  } else if (element.name != name_wanted(leaf.kind)) {
    return "a reply element of another kind";
  } else if (leaf.kind == Leaf::Kind::order && (answer.opened = order_id(element)) == 0) {
    return "an order opened without a transaction id";
  }
  return repeats(element, workload, client, leaf)
             ? std::string_view()
             : "the reply does not repeat the request's attributes";
}

}  // namespace

void check_reply(const Workload& workload, unsigned client, const Request& request,
                 std::string_view document, Answer& answer) {
  answer.problem = {};
  answer.malformed = false;
  answer.leaves.clear();
  ReplyElements elements(document);
  for (ReplyElement element; elements.next(element);) {
    if (answer.leaves.size() == request.leaves.size()) {
      answer.problem = "more reply elements than elements asked";
      return;
    }
    const Leaf& leaf = request.leaves[answer.leaves.size()];
    answer.problem = problem_of(answer.leaves.emplace_back(LeafAnswer{.element = element}),
                                workload, client, leaf);
    if (!answer.problem.empty()) return;
  }
  if (!elements.complete()) {
    answer.malformed = true;
    answer.problem = "not a <results> document";
  } else if (answer.leaves.size() < request.leaves.size()) {
    answer.problem = "fewer reply elements than elements asked";
  }
}

}  // namespace exchange::loadgen
