#include "client/loadgen/reply_check.hpp"

#include <algorithm>
#include <charconv>

namespace exchange::loadgen {
namespace {

// Large enough for any one attribute that a request writes.
using TextBuffer = char[128];

std::string_view between(const char* begin, const char* end) {
  return {begin, std::size_t(end - begin)};
}

// As written, or as another form of the same number. `units`: in units of 1e-8.
bool repeats_number(const client::ReplyElement& reply, std::string_view name,
                    std::string_view written, std::int64_t units, Deviations& deviations) {
  const std::string_view repeated = reply.attribute(name);
  if (repeated == written) return true;
  if (lenient_units(repeated) != units) return false;
  deviations.add(Deviation::echo, repeated);
  return true;
}

bool repeats_symbol(const client::ReplyElement& reply, const Workload& workload,
                    const Action& action) {
  TextBuffer text;
  char* const number = write_text(text, workload.options().symbol_prefix);
  return reply.attribute("sym") == between(text, write_number(number, action.symbol));
}

// A market order has no limit.
bool repeats_limit(const client::ReplyElement& reply, const Action& action,
                   Deviations& deviations) {
  if (action.terms == Terms::market) return reply.attribute("limit").empty();
  TextBuffer text;
  return repeats_number(reply, "limit", between(text, write_cents(text, action.limit_cents)),
                        action.limit_cents * 1'000'000LL, deviations);
}

bool repeats_terms(const client::ReplyElement& reply, const Action& action) {
  const auto [name, value] = attribute_of(action.terms);
  return name.empty() || reply.attribute(name) == value;
}

bool repeats_order(const client::ReplyElement& reply, const Workload& workload, unsigned client,
                   const Action& action, Deviations& deviations) {
  TextBuffer text;
  if (workload.options().references &&
      reply.attribute("ref") != between(text, write_reference(text, client, action.id)))
    return false;
  return repeats_symbol(reply, workload, action) &&
         repeats_number(reply, "amount", between(text, write_number(text, action.amount)),
                        Shares::whole(action.amount).units(), deviations) &&
         repeats_limit(reply, action, deviations) && repeats_terms(reply, action);
}

bool repeats_new_account(const client::ReplyElement& reply, const Workload& workload,
                         unsigned client, const Action& action) {
  TextBuffer text;
  return reply.attribute("id") ==
         between(text, write_new_account(text, workload, client, action.id));
}

bool repeats_id(const client::ReplyElement& reply, std::uint64_t id) {
  TextBuffer text;
  return reply.attribute("id") == between(text, std::to_chars(text, text + sizeof text, id).ptr);
}

bool repeats_replace(const client::ReplyElement& reply, const Action& action,
                     Deviations& deviations) {
  TextBuffer text;
  return repeats_id(reply, action.id) &&
         repeats_number(reply, "amount", between(text, write_number(text, action.amount)),
                        Shares::whole(action.amount).units(), deviations) &&
         repeats_limit(reply, action, deviations);
}

// What is canceled is named by its id alone.
bool fits_cancel_all(const client::ReplyElement& reply, const Workload& workload,
                     const Action& action) {
  if (reply.name != "error") return parse_order_id(reply.attribute("id")).value_or(0) != 0;
  return action.symbol == 0 ? reply.attributes.empty() : repeats_symbol(reply, workload, action);
}

// Whether the attributes come back as they were sent.
bool repeats(const client::ReplyElement& reply, const Workload& workload, unsigned client,
             const Action& action, Deviations& deviations) {
  switch (action.kind) {
    case Action::Kind::account: return repeats_new_account(reply, workload, client, action);
    case Action::Kind::placement:
      return repeats_new_account(reply, workload, client, action) &&
             repeats_symbol(reply, workload, action);
    case Action::Kind::order: return repeats_order(reply, workload, client, action, deviations);
    case Action::Kind::query:
    case Action::Kind::cancel: return repeats_id(reply, action.id);
    case Action::Kind::replace: return repeats_replace(reply, action, deviations);
    case Action::Kind::cancel_all: return fits_cancel_all(reply, workload, action);
  }
  return false;
}

std::string_view name_expected(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::account:
    case Action::Kind::placement: return "created";
    case Action::Kind::order: return "opened";
    case Action::Kind::query: return "status";
    case Action::Kind::cancel:
    case Action::Kind::cancel_all: return "canceled";
    case Action::Kind::replace: return "replaced";
  }
  return "";
}

// <cancel/> has no attributes that its error could repeat, so that its sentence tells (E19, R13).
bool refuses_cancel_all(const client::ReplyElement& error, const Action& action) {
  return action.kind == Action::Kind::cancel_all && action.symbol == 0 &&
         (error.content.starts_with("no open orders") ||
          error.content.starts_with("the reply would be too long"));
}

// Why this is no right reply to the action; empty if it is one.
std::string_view problem_of(CheckedElement& checked, const Workload& workload, unsigned client,
                            const Action& action, Deviations& deviations) {
  const client::ReplyElement& reply = checked.element;
  if (reply.name == "error") {
    if (reply.attributes.empty() && !refuses_cancel_all(reply, action))
      return "an error for all of the request, or for the connection";
    checked.rejected = true;
  } else if (reply.name != name_expected(action.kind)) {
    return "a reply element of another kind";
  } else if (action.kind == Action::Kind::order &&
             (checked.opened = parse_order_id(reply.attribute("id")).value_or(0)) == 0) {
    return "an order opened without a transaction id";
  }
  return repeats(reply, workload, client, action, deviations)
             ? std::string_view()
             : "the reply does not repeat the request's attributes";
}

// How many elements the reply has beyond those that were asked for.
std::size_t additional_elements(std::string_view document, std::size_t asked) {
  client::ReplyElements elements(document);
  std::size_t count = 0;
  for (client::ReplyElement element; elements.next(element);) ++count;
  return count - std::min(count, asked);
}

}  // namespace

void check_reply(const Workload& workload, unsigned client, const ScriptedRequest& request,
                 std::string_view document, ReplyCheck& check) {
  check.problem = {};
  check.malformed = false;
  check.elements.clear();
  const std::size_t asked = request.actions.size();
  const auto is_cancel_all = [](const Action& action) {
    return action.kind == Action::Kind::cancel_all;
  };
  const auto cancel_all =
      std::size_t(std::find_if(request.actions.begin(), request.actions.end(), is_cancel_all) -
                  request.actions.begin());
  const std::size_t additional = cancel_all < asked ? additional_elements(document, asked) : 0;
  std::size_t at = 0;
  client::ReplyElements elements(document);
  for (client::ReplyElement element; elements.next(element);) {
    if (at == asked) {
      check.problem = "more reply elements than request elements";
      return;
    }
    const Action& action = request.actions[at];
    CheckedElement& checked =
        check.elements.emplace_back(CheckedElement{.element = element, .action = at});
    check.problem = problem_of(checked, workload, client, action, check.deviations);
    if (at == cancel_all && additional > 0 && checked.rejected)
      check.problem = "an error and something canceled, of one cancel";
    if (!check.problem.empty()) return;
    if (at != cancel_all || check.elements.size() > cancel_all + additional) ++at;
  }
  if (!elements.complete()) {
    check.malformed = true;
    check.problem = "not a <results> document";
  } else if (at < asked) {
    check.problem = "fewer reply elements than request elements";
  }
}

}  // namespace exchange::loadgen
