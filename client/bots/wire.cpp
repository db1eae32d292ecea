#include "client/bots/wire.hpp"

#include "client/connection/keys.hpp"
#include "client/connection/results.hpp"

namespace exchange::bots {
namespace {

// Names are letters and digits, numbers plain decimals: nothing needs escaping.
std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + std::string(value) + '"';
}
std::string order_id(OrderId order) { return attribute("id", std::to_string(order)); }
std::string amount(Side side, Shares shares) {
  return attribute("amount", (side == Side::sell ? "-" : "") + to_string(shares));
}

std::string key_attribute(const std::string& key) {
  return key.empty() ? "" : attribute("key", key);
}

std::string text_of(const CreateAccount& create, const std::string& key = {}) {
  return "<account" + attribute("id", create.account.view()) +
         attribute("balance", to_string(create.balance)) + key_attribute(key) + "/>";
}
std::string text_of(const CreateSymbol& create) {
  return "<symbol" + attribute("sym", create.symbol.view()) + "/>";
}
std::string text_of(const PlaceShares& place) {
  return "<symbol" + attribute("sym", place.symbol.view()) + "><account" +
         attribute("id", place.account.view()) + ">" + to_string(place.shares) +
         "</account></symbol>";
}
std::string text_of(const PlaceOrder& place) {
  return "<order" + attribute("sym", place.symbol.view()) + amount(place.side, place.shares) +
         (place.is_market() ? attribute("type", "market")
                            : attribute("limit", to_string(place.limit))) +
         (place.reference ? attribute("ref", place.reference->view()) : "") +
         (place.lifetime == Lifetime::immediate_or_cancel ? attribute("tif", "ioc")
          : place.lifetime == Lifetime::fill_or_kill      ? attribute("tif", "fok")
                                                          : "") +
         (place.post_only ? attribute("post", "true") : "") +
         (place.self_trade == SelfTrade::cancel_resting  ? attribute("stp", "cancel-resting")
          : place.self_trade == SelfTrade::cancel_taking ? attribute("stp", "cancel-taking")
                                                         : "") +
         "/>";
}
std::string text_of(const CancelOrder& cancel) { return "<cancel" + order_id(cancel.order) + "/>"; }
std::string text_of(const CancelAll& cancel) {
  return "<cancel" +
         (cancel.symbol ? attribute("sym", cancel.symbol->view()) : attribute("all", "true")) +
         "/>";
}
std::string text_of(const ReplaceOrder& replace) {
  return "<replace" +
         (replace.reference ? attribute("ref", replace.reference->view())
                            : order_id(replace.order)) +
         amount(replace.side, replace.shares) + attribute("limit", to_string(replace.limit)) + "/>";
}
std::string text_of(const QueryOrder& query) { return "<query" + order_id(query.order) + "/>"; }

// The account of a transaction; null for creations.
const AccountId* trader_of(const Command& command) {
  return std::visit(
      [](const auto& one) -> const AccountId* {
        if constexpr (
            requires { one.order; } || requires { one.limit; } || requires { one.symbol->view(); })
          return &one.account;
        return nullptr;
      },
      command);
}

Answer answer_of(const client::Result& result, const Command& command) {
  if (const auto* error = std::get_if<client::Error>(&result))
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

std::string document_of(std::span<const Command> commands, const Keys& keys) {
  std::string elements;
  const AccountId* trader = nullptr;
  for (const Command& command : commands) {
    const auto* create = std::get_if<CreateAccount>(&command);
    elements += create != nullptr
                    ? text_of(*create, keys.of_accounts)
                    : std::visit([](const auto& one) { return text_of(one); }, command);
    trader = trader_of(command);
  }
  if (trader == nullptr) return client::create_tag(keys.of_operator) + elements + "</create>";
  return "<transactions" + attribute("id", trader->view()) + key_attribute(keys.of_accounts) + ">" +
         elements + "</transactions>";
}

std::vector<Answer> read_answers(std::string_view reply, std::span<const Command> commands) {
  const std::vector<client::Result> results = client::read_results(reply, commands.size());
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < commands.size(); ++i)
    answers.push_back(answer_of(results[i], commands[i]));
  return answers;
}

}  // namespace exchange::bots
