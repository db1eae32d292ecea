#include "client/loadgen/recorder.hpp"

#include "client/loadgen/audit/order_digest.hpp"

namespace exchange::loadgen {

std::string_view Recorder::record(const Context& context, const Action& action,
                                  const CheckedElement& reply, Deviations& deviations) {
  const bool rejected = reply.rejected;
  switch (action.kind) {
    case Action::Kind::account:
      if (!rejected)
        history_.new_accounts.push_back({.number = action.id, .client = context.client});
      break;
    case Action::Kind::placement:  // comes after its account
      if (!rejected && !history_.new_accounts.empty() &&
          history_.new_accounts.back().number == action.id)
        history_.new_accounts.back() = {.number = action.id,
                                        .client = context.client,
                                        .symbol = action.symbol,
                                        .shares = action.amount};
      break;
    case Action::Kind::order:
      if (!rejected)
        history_.orders.push_back({reply.opened, context.account, action.symbol, action.terms,
                                   action.amount, action.limit_cents, context.sent,
                                   context.answered});
      break;
    case Action::Kind::query:
      if (!rejected) return record_state(context, action, reply.element, deviations);
      break;
    case Action::Kind::cancel:
      if (!rejected) return record_state(context, action, reply.element, deviations);
      history_.observations.push_back(
          {Observation::Kind::cancel_refused, action.id, context.sent, context.answered, {}});
      break;
  }
  return {};
}

std::string_view Recorder::record_state(const Context& context, const Action& action,
                                        const client::ReplyElement& element,
                                        Deviations& deviations) {
  if (const std::string_view problem = read_state(element, status_, deviations); !problem.empty())
    return problem;
  const std::optional<OrderDigest> digest = digest_of(status_);
  if (!digest) return "parts of a share, of an order for whole ones";
  const auto kind =
      action.kind == Action::Kind::query ? Observation::Kind::status : Observation::Kind::canceled;
  history_.observations.push_back({kind, action.id, context.sent, context.answered, *digest});
  return {};
}

}  // namespace exchange::loadgen
