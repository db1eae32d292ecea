#pragma once
// The JSON documents of docs/http-api.md, from the market view. Pure; rests where the thread works
// in bursts. Thread: that of the view.

#include <optional>
#include <string>
#include <vector>

#include "days/day_summary.hpp"
#include "json/json_requests.hpp"
#include "market_data/market_view.hpp"
#include "store/store.hpp"
#include "web/limits.hpp"

namespace exchange {

// `code`: for programs (docs/protocol.md, R14, or the name of an HTTP status).
std::string error_json(std::string_view sentence, std::string_view code);
// The symbols from number `first` on, `count` at most.
std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count);
std::string book_json(const MarketView::Symbol& symbol, std::size_t levels);
std::string trades_json(const MarketView::Symbol& symbol, std::size_t count);
ShownAccount shown_account(const MarketView& view, AccountNumber number, bool with_ids);
// `round` 0: of all; the first `count` of `standings`, which are of it.
std::string leaderboard_json(const MarketView& view, std::uint64_t round,
                             std::span<const Leaderboard::Standing> standings, bool with_ids);
struct AccountPage {
  std::size_t positions_max, orders_max;
  std::size_t first_position = 0;       // index
  std::optional<OrderId> orders_after;  // an open order of the account
  std::size_t levels_max = 0;           // a side, of a moment
};
std::string account_json(const MarketView& view, const AccountId& id,
                         const MarketView::Account& account, const AccountPage& page);
// `order` was read with the executions of `range`. Its account and symbol must be known to the
// view.
std::string order_json(const MarketView& view, const StoredOrder& order,
                       const ExecutionRange& range);

// Of the account `id`, whose symbols the view knows. `newest`: the newest execution of the exchange
// that was looked through. `next`: where the next page begins; nothing if there is none.
std::string fills_json(const MarketView& view, const AccountId& id, const std::vector<Fill>& fills,
                       ExecutionId newest, std::optional<ExecutionId> next);

// Messages of the WebSocket.
std::string snapshot_message(const MarketView::Symbol& symbol, std::size_t levels,
                             std::size_t trades);
std::string update_message(const MarketView::Symbol& symbol, const MarketView::Change& change);
// The whole account with the number of its newest event.
std::string account_message(const MarketView& view, const AccountId& id,
                            const MarketView::Account& account, const AccountPage& page);
std::string subscribed_message(const MarketView& view, const AccountId& id,
                               const MarketView::Account& account, EventNumber from);
// What the operator lets the account do.
std::string rules_message(const MarketView& view, const AccountId& id,
                          const MarketView::Account& account);
std::string events_message(const MarketView& view, const AccountId& account,
                           const std::vector<EventRow>& events);
// `member`: symbol or account.
std::string unsubscribed_message(std::string_view member, std::string_view value);
// `account`: which subscription it refuses or ends; empty: none of an account.
std::string error_message(std::string_view sentence, std::string_view code,
                          std::string_view account = {});

// Of closed days (docs/http-api.md, "Replays of closed days").
struct KeptDay {
  std::string name;
  std::optional<Timestamp> first_time, last_time;
  std::string problem;  // why it cannot be replayed; empty: it can
};
std::string days_json(std::span<const KeptDay> days);
// `symbol`: whose trading is shown in detail; null: of none.
std::string day_json(std::string_view day, const DaySummary& summary,
                     const DaySummary::Symbol* symbol);
// A moment of a closed day.
struct Moment {
  std::uint64_t position;
  Timestamp time;
};
// The state of a symbol, and of an account if one is asked for, as the view has it.
std::string moment_state_json(const MarketView& view, const Moment& at, const SymbolName& symbol,
                              const std::optional<AccountId>& account, const AccountPage& page);
// What one command changed of a symbol (null: nothing), and of an account, as these rows have it.
std::string moment_change_json(const MarketView& view, const Moment& at,
                               const MarketView::Change* change, const MarketView::Account* account,
                               const Rows& rows);
// `state` and `changes` are such texts; `until`: the changes up to there are all among them.
std::string moments_json(std::string_view day, const SymbolName& symbol, std::string_view state,
                         const std::vector<std::string>& changes, const Moment& until, bool is_end);

// What a subscriber sends: {"subscribe": "SYMBOL"} or {"unsubscribe": "SYMBOL"}; or instead of the
// symbol an account: {"account": "1", "key": "...", "from": 7}, of which the last two are optional.
struct SubscriberRequest {
  enum class Kind { unknown, subscribe, unsubscribe };
  Kind kind;
  bool of_account = false;
  std::string name = {};  // of the symbol, or the account; as it was sent
  std::string key = {};
  std::optional<EventNumber> from = {};  // at least 1
};
SubscriberRequest read_subscriber_request(const JsonInput& json);

}  // namespace exchange
