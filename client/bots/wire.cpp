#include "client/bots/wire.hpp"

#include "client/connection/reply.hpp"

namespace exchange::bots {
namespace {

using loadgen::ReplyElement;
using loadgen::ReplyElements;

// Names are letters and digits, numbers plain decimals: nothing of it needs escaping.
std::string text_of(const CreateAccount& create) {
  return "<account id=\"" + std::string(create.account.view()) + "\" balance=\"" +
         to_string(create.balance) + "\"/>";
}
std::string text_of(const CreateSymbol& create) {
  return "<symbol sym=\"" + std::string(create.symbol.view()) + "\"/>";
}
std::string text_of(const PlaceShares& place) {
  return "<symbol sym=\"" + std::string(place.symbol.view()) + "\"><account id=\"" +
         std::string(place.account.view()) + "\">" + to_string(place.shares) +
         "</account></symbol>";
}
std::string text_of(const PlaceOrder& place) {
  return "<order sym=\"" + std::string(place.symbol.view()) + "\" amount=\"" +
         (place.side == Side::sell ? "-" : "") + to_string(place.shares) + "\" limit=\"" +
         to_string(place.limit) + "\"/>";
}
std::string text_of(const CancelOrder& cancel) {
  return "<cancel id=\"" + std::to_string(cancel.order) + "\"/>";
}
std::string text_of(const QueryOrder& query) {
  return "<query id=\"" + std::to_string(query.order) + "\"/>";
}

// Whose transaction it is; null for creations.
template <class T>
const AccountId* trader_of(const T& command) {
  if constexpr (
      requires { command.order; } || requires { command.limit; })
    return &command.account;
  return nullptr;
}

std::optional<Answer> read_answer(const ReplyElement& element, const Command& command) {
  if (element.name == "error") return Answer{.refused = true};
  if (std::holds_alternative<PlaceOrder>(command)) {
    const std::optional<OrderId> order = parse_order_id(element.attribute("id"));
    if (element.name != "opened" || !order) return {};
    return Answer{.order = *order};
  }
  if (std::holds_alternative<CancelOrder>(command)) {
    if (element.name != "canceled") return {};
    ReplyElements parts = ReplyElements::within(element);
    for (ReplyElement part; parts.next(part);)
      if (part.name == "canceled")
        if (const Parsed<Shares> shares = parse_shares(part.attribute("shares")))
          return Answer{.canceled = shares.value};
    return {};
  }
  if (element.name != (std::holds_alternative<QueryOrder>(command) ? "status" : "created"))
    return {};
  return Answer{};
}

}  // namespace

std::string document_of(std::span<const Command> commands) {
  std::string elements;
  const AccountId* trader = nullptr;
  for (const Command& command : commands) {
    elements += std::visit([](const auto& one) { return text_of(one); }, command);
    trader = std::visit([](const auto& one) { return trader_of(one); }, command);
  }
  if (trader == nullptr) return "<create>" + elements + "</create>";
  return "<transactions id=\"" + std::string(trader->view()) + "\">" + elements + "</transactions>";
}

std::optional<std::vector<Answer>> read_answers(std::string_view reply,
                                                std::span<const Command> commands) {
  std::vector<Answer> answers;
  ReplyElements elements(reply);
  for (ReplyElement element; elements.next(element);) {
    if (answers.size() == commands.size()) return {};
    const std::optional<Answer> answer = read_answer(element, commands[answers.size()]);
    if (!answer) return {};
    answers.push_back(*answer);
  }
  if (!elements.complete() || answers.size() != commands.size()) return {};
  return answers;
}

}  // namespace exchange::bots
