#include "client/loadgen/reply_check.hpp"

#include <algorithm>

#include "client/loadgen/audit/order_ids.hpp"

namespace exchange::loadgen {
namespace {

// Large enough for any attribute that a request writes.
using TextBuffer = char[128];

std::string_view between(const char* begin, const char* end) {
  return {begin, std::size_t(end - begin)};
}

// Whether the attribute is missing and this is allowed.
bool may_be_missing(const client::ReplyElement& reply, std::string_view name, ReplyCheck& check) {
  if (!check.lenient || reply.attribute(name).data() != nullptr) return false;
  check.deviations.add(Deviation::not_repeated, name);
  return true;
}

bool repeats_text(const client::ReplyElement& reply, std::string_view name,
                  std::string_view written, ReplyCheck& check) {
  return reply.attribute(name) == written || may_be_missing(reply, name, check);
}

// Whether the reply repeats the number as written, or in another form. `units`: the number in units
// of 1e-8.
bool repeats_number(const client::ReplyElement& reply, std::string_view name,
                    std::string_view written, std::int64_t units, ReplyCheck& check) {
  const std::string_view repeated = reply.attribute(name);
  if (repeated == written || may_be_missing(reply, name, check)) return true;
  if (lenient_units(repeated) != units) return false;
  check.deviations.add(Deviation::echo, repeated);
  return true;
}

bool repeats_symbol(const client::ReplyElement& reply, const Workload& workload,
                    const Action& action, ReplyCheck& check) {
  TextBuffer text;
  char* const number = write_text(text, workload.options().symbol_prefix);
  return repeats_text(reply, "sym", between(text, write_number(number, action.symbol)), check);
}

// A market order has no limit.
bool repeats_limit(const client::ReplyElement& reply, const Action& action, ReplyCheck& check) {
  if (action.terms == Terms::market) return reply.attribute("limit").empty();
  TextBuffer text;
  return repeats_number(reply, "limit", between(text, write_cents(text, action.limit_cents)),
                        action.limit_cents * 1'000'000LL, check);
}

bool repeats_terms(const client::ReplyElement& reply, const Action& action) {
  const auto [name, value] = attribute_of(action.terms);
  return name.empty() || reply.attribute(name) == value;
}

bool repeats_order(const client::ReplyElement& reply, const Workload& workload, unsigned client,
                   const Action& action, ReplyCheck& check) {
  TextBuffer text;
  if (workload.options().references &&
      reply.attribute("ref") != between(text, write_reference(text, client, action.id)))
    return false;
  return repeats_symbol(reply, workload, action, check) &&
         repeats_number(reply, "amount", between(text, write_number(text, action.amount)),
                        Shares::whole(action.amount).units(), check) &&
         repeats_limit(reply, action, check) && repeats_terms(reply, action);
}

bool repeats_new_account(const client::ReplyElement& reply, const Workload& workload,
                         unsigned client, const Action& action, ReplyCheck& check) {
  TextBuffer text;
  return repeats_text(reply, "id",
                      between(text, write_new_account(text, workload, client, action.id)), check);
}

bool repeats_id(const client::ReplyElement& reply, std::uint64_t id, ReplyCheck& check) {
  TextBuffer text;
  return repeats_text(reply, "id", between(text, write_id(text, id)), check);
}

bool repeats_replace(const client::ReplyElement& reply, const Action& action, ReplyCheck& check) {
  TextBuffer text;
  return repeats_id(reply, action.id, check) &&
         repeats_number(reply, "amount", between(text, write_number(text, action.amount)),
                        Shares::whole(action.amount).units(), check) &&
         repeats_limit(reply, action, check);
}

// The reply names the canceled orders by their ids alone.
bool fits_cancel_all(const client::ReplyElement& reply, const Workload& workload,
                     const Action& action, ReplyCheck& check) {
  if (reply.name != "error") return number_of_id(reply.attribute("id")) != 0;
  return action.symbol == 0 ? reply.attributes.empty()
                            : repeats_symbol(reply, workload, action, check);
}

// Whether the reply repeats the attributes as they were sent.
bool repeats(const client::ReplyElement& reply, const Workload& workload, unsigned client,
             const Action& action, ReplyCheck& check) {
  switch (action.kind) {
    case Action::Kind::account: return repeats_new_account(reply, workload, client, action, check);
    case Action::Kind::placement:
      return repeats_new_account(reply, workload, client, action, check) &&
             repeats_symbol(reply, workload, action, check);
    case Action::Kind::order: return repeats_order(reply, workload, client, action, check);
    case Action::Kind::query:
    case Action::Kind::cancel: return repeats_id(reply, action.id, check);
    case Action::Kind::replace: return repeats_replace(reply, action, check);
    case Action::Kind::cancel_all: return fits_cancel_all(reply, workload, action, check);
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

// The error of a cancel of all orders does not repeat an attribute, so that its text identifies it
// (E19, R13).
bool refuses_cancel_all(const client::ReplyElement& error, const Action& action) {
  return action.kind == Action::Kind::cancel_all && action.symbol == 0 &&
         (error.content.starts_with("no open orders") ||
          error.content.starts_with("the reply would be too long"));
}

// Returns why this is not a right reply to the action; empty if it is one.
std::string_view problem_of(CheckedElement& checked, const Workload& workload, unsigned client,
                            const Action& action, ReplyCheck& check) {
  const client::ReplyElement& reply = checked.element;
  if (reply.name == "error") {
    if (reply.attributes.empty() && !check.lenient && !refuses_cancel_all(reply, action))
      return "an error for all of the request, or for the connection";
    checked.rejected = true;
  } else if (reply.name != name_expected(action.kind)) {
    return "a reply element of another kind";
  } else if (action.kind == Action::Kind::order &&
             (checked.opened = number_of_id(reply.attribute("id"))) == 0) {
    return "an order opened without a transaction id";
  }
  if (checked.opened >= text_ids_begin) check.deviations.add(Deviation::id, reply.attribute("id"));
  return repeats(reply, workload, client, action, check)
             ? std::string_view()
             : "the reply does not repeat the request's attributes";
}

// Returns how many elements the reply has beyond those that were asked for.
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
    check.problem = problem_of(checked, workload, client, action, check);
    if (at == cancel_all && additional > 0 && checked.rejected)
      check.problem = "an error and something canceled, of one cancel";
    if (!check.problem.empty()) return;
    if (at != cancel_all || check.elements.size() > cancel_all + additional) ++at;
  }
  const bool other_root = elements.root() != "results";
  if (!elements.complete() || (other_root && at == 0)) {
    check.malformed = true;
    check.problem = "not a <results> document";
  } else if (at < asked) {
    check.problem = "fewer reply elements than request elements";
  } else if (other_root) {
    check.deviations.add(Deviation::root, elements.root());
  } else if (const std::string_view value = client::first_bare_value(document);
             value.data() != nullptr) {
    check.deviations.add(Deviation::quotes, value);
  }
}

}  // namespace exchange::loadgen
