#include "client/loadgen/recorder.hpp"

#include "client/loadgen/audit/order_ids.hpp"

namespace exchange::loadgen {
namespace {

// Whether the request was refused because the symbol was halted, or in an auction.
bool is_for_trading(std::string_view refusal) {
  for (const Reason reason : {Reason::trading_halted, Reason::not_in_auction, Reason::no_price_max})
    if (refusal.starts_with(describe(reason))) return true;
  return false;
}

}  // namespace

void Recorder::begin_reply() {
  opened_last_ = 0;
  first_replace_ = history_.replaces.size();
  first_cancel_of_all_ = history_.cancels_of_all.size();
}

std::string_view Recorder::record(const Context& context, const Action& action,
                                  const CheckedElement& reply, Deviations& deviations) {
  const bool rejected = reply.rejected;
  const bool places = action.kind == Action::Kind::order || action.kind == Action::Kind::replace;
  if (rejected && places && is_for_trading(reply.element.content))
    history_.halted.insert(action.symbol);
  switch (action.kind) {
    case Action::Kind::account:
      if (!rejected)
        history_.new_accounts.push_back({.number = action.id, .client = context.client});
      break;
    case Action::Kind::placement:  // follows the creation of its account
      if (!rejected && !history_.new_accounts.empty() &&
          history_.new_accounts.back().number == action.id)
        history_.new_accounts.back() = {.number = action.id,
                                        .client = context.client,
                                        .symbol = action.symbol,
                                        .shares = action.amount};
      break;
    case Action::Kind::order:
      if (!rejected) record_order(context, action, reply.opened);
      break;
    case Action::Kind::replace:
      if (!rejected) record_replace(context, action, reply.action);
      break;
    case Action::Kind::cancel_all: return record_cancel_of_all(context, action, reply, deviations);
    case Action::Kind::query:
      if (!rejected)
        return record_state(context, Observation::Kind::status, action.id, reply.element,
                            deviations);
      break;
    case Action::Kind::cancel:
      if (!rejected)
        return record_state(context, Observation::Kind::canceled, action.id, reply.element,
                            deviations);
      history_.observations.push_back(
          {Observation::Kind::cancel_refused, action.id, context.sent, context.answered, {}});
      break;
  }
  return {};
}

void Recorder::record_order(const Context& context, const Action& action, std::uint64_t id) {
  const auto place_before = [&](auto& records, std::size_t first) {
    for (std::size_t i = first; i < records.size(); ++i)
      records[i].place = {id, Place::Side::before, records[i].place.element};
  };
  if (opened_last_ == 0) {
    place_before(history_.replaces, first_replace_);
    place_before(history_.cancels_of_all, first_cancel_of_all_);
  }
  opened_last_ = id;
  history_.orders.push_back({id, context.account, action.symbol, action.terms, action.amount,
                             action.limit_cents, context.sent, context.answered});
}

void Recorder::record_replace(const Context& context, const Action& action, std::size_t element) {
  history_.replaces.push_back({.id = action.id,
                               .place = place_of(element),
                               .amount = action.amount,
                               .limit_cents = action.limit_cents,
                               .sent_ns = context.sent,
                               .answered_ns = context.answered});
}

std::string_view Recorder::record_cancel_of_all(const Context& context, const Action& action,
                                                const CheckedElement& reply,
                                                Deviations& deviations) {
  // Such a refusal (R13) does not say whether there was anything to cancel.
  if (reply.rejected && reply.element.content.starts_with("the reply would be too long")) return {};
  if (history_.cancels_of_all.size() == first_cancel_of_all_)
    history_.cancels_of_all.push_back({.account = context.account,
                                       .symbol = action.symbol,
                                       .place = place_of(reply.action),
                                       .sent_ns = context.sent,
                                       .answered_ns = context.answered});
  if (reply.rejected) return {};
  CancelAllRecord& record = history_.cancels_of_all.back();
  record.canceled.push_back(number_of_id(reply.element.attribute("id")));
  const std::string_view problem = record_state(context, Observation::Kind::canceled,
                                                record.canceled.back(), reply.element, deviations);
  record.executions += status_.executions.size();
  return problem;
}

std::string_view Recorder::record_state(const Context& context, Observation::Kind kind,
                                        std::uint64_t id, const client::ReplyElement& element,
                                        Deviations& deviations) {
  if (const std::string_view problem = read_state(element, status_, deviations); !problem.empty())
    return problem;
  const std::optional<OrderDigest> digest = digest_of(status_);
  if (!digest) return "parts of a share, of an order for whole ones";
  history_.observations.push_back({kind, id, context.sent, context.answered, *digest});
  return {};
}

}  // namespace exchange::loadgen
