#pragma once
// The JSON documents of docs/http-api.md, from the market view. Pure; rests where the thread works
// in bursts. Thread: that of the view.

#include <optional>
#include <string>
#include <vector>

#include "json/view_json.hpp"
#include "store/tables.hpp"

namespace exchange {

// The symbols from number `first` on, `count` at most.
std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count);
std::string book_json(const MarketView::Symbol& symbol, std::size_t levels);
std::string trades_json(const MarketView::Symbol& symbol, std::size_t count);
ShownAccount shown_account(const MarketView& view, AccountNumber number, bool with_ids);
// `round` 0: of all; the first `count` of `standings`, which are of it.
std::string leaderboard_json(const MarketView& view, std::uint64_t round,
                             std::span<const Leaderboard::Standing> standings, bool with_ids);
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

}  // namespace exchange
