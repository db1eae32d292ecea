#pragma once
// Reads and writes the messages of the WebSocket (docs/account-stream.md, docs/http-api.md). Pure;
// pauses if the thread works in bursts.

#include <optional>
#include <string>
#include <vector>

#include "gateway/account_events.hpp"
#include "json/json_input.hpp"
#include "json/view_json.hpp"

namespace exchange {

std::string snapshot_message(const MarketView::Symbol& symbol, std::size_t levels,
                             std::size_t trades);
std::string update_message(const MarketView::Symbol& symbol, const MarketView::Change& change);
// Writes a message to a follower of an account.
std::string write_update(const MarketView& view, const AccountEvents::Update& update,
                         const GatewayLimits& limits);
// `member` is "symbol" or "account".
std::string unsubscribed_message(std::string_view member, std::string_view value);
// `account` names the account whose subscription it refuses or ends; empty if there is none.
std::string error_message(std::string_view sentence, std::string_view code,
                          std::string_view account = {});

// The request of a subscriber: {"subscribe": "SYMBOL"} or {"unsubscribe": "SYMBOL"}. Instead of a
// symbol it may name an account: {"account": "1", "key": "...", "from": 7}; the last two members
// are optional.
struct SubscriberRequest {
  enum class Kind { unknown, subscribe, unsubscribe };
  Kind kind;
  bool of_account = false;
  std::string name = {};  // of the symbol, or the account; as the client sent it
  std::string key = {};
  std::optional<EventNumber> from = {};  // at least 1
};
SubscriberRequest read_subscriber_request(const JsonInput& json);

}  // namespace exchange
