#include "client/bots/wire.hpp"

#include "client/connection/results.hpp"
#include "protocol/request_writer.hpp"

namespace exchange::bots {
namespace {

// Returns the account of a transaction; null for creations.
const AccountId* trader_of(const Command& command) {
  return std::visit(
      [](const auto& one) -> const AccountId* {
        constexpr bool cancels_all = std::is_same_v<decltype(one), const CancelAll&>;
        if constexpr (
            requires { one.order; } || requires { one.limit; } || cancels_all)
          return &one.account;
        return nullptr;
      },
      command);
}

Answer answer_of(const client::ReplyOutcome& result, const Command& command) {
  if (const auto* error = std::get_if<client::ErrorElement>(&result))
    return {.refused = true, .why = error->message};
  if (const auto* opened = std::get_if<Opened>(&result);
      opened && std::holds_alternative<PlaceOrder>(command))
    return {.order = opened->order};
  if (const auto* canceled = std::get_if<Canceled>(&result);
      canceled && canceled->status.canceled > Shares() &&
      std::holds_alternative<CancelOrder>(command))
    return {.canceled = canceled->status.canceled};
  if (const auto* status = std::get_if<Status>(&result);
      status && std::holds_alternative<QueryOrder>(command))
    return {.open = status->open, .canceled = status->canceled};
  if (std::holds_alternative<Replaced>(result) && std::holds_alternative<ReplaceOrder>(command))
    return {};
  if (std::holds_alternative<Created>(result) && trader_of(command) == nullptr) return {};
  throw client::BadReply("an element of another kind than was asked for");
}

}  // namespace

std::string write_document(std::span<const Command> commands, const Keys& keys) {
  std::string elements;
  const AccountId* trader = nullptr;
  for (const Command& command : commands) {
    elements += write_element(command, keys.of_accounts);
    trader = trader_of(command);
  }
  return trader == nullptr ? write_creations(elements, keys.of_operator)
                           : write_transactions(trader->view(), elements, keys.of_accounts);
}

std::vector<Answer> read_answers(std::string_view reply, std::span<const Command> commands) {
  const std::vector<client::ReplyOutcome> results = client::read_outcomes(reply, commands.size());
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < commands.size(); ++i)
    answers.push_back(answer_of(results[i], commands[i]));
  return answers;
}

}  // namespace exchange::bots
