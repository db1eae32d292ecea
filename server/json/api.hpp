#pragma once
// Writes the JSON documents of docs/http-api.md from the market view. Pure; pauses if the thread
// works in bursts. Thread: that of the view.

#include <optional>
#include <string>
#include <vector>

#include "json/view_json.hpp"
#include "store/tables.hpp"

namespace exchange {

// Writes at most `count` symbols, from number `first` on.
std::string symbols_json(const MarketView& view, std::size_t first, std::size_t count);
std::string book_json(const MarketView::Symbol& symbol, std::size_t levels);
std::string trades_json(const MarketView::Symbol& symbol, std::size_t count);
ShownAccount shown_account(const MarketView& view, AccountNumber number, bool with_ids);
// `standings` belong to `round`; 0 stands for all rounds.
std::string leaderboard_json(const MarketView& view, std::uint64_t round,
                             std::span<const Leaderboard::Standing> standings, bool with_ids);
std::string account_json(const MarketView& view, const AccountId& id,
                         const MarketView::Account& account, const AccountPage& page);
// `order` was read with the executions of `range`. The view must know its account and symbol.
std::string order_json(const MarketView& view, const StoredOrder& order,
                       const ExecutionRange& range);

// Writes fills of the account `id`; the view must know their symbols. `newest` is the newest
// execution of the exchange that was searched. `next` is where the next page begins; empty if this
// page is the last.
std::string fills_json(const MarketView& view, const AccountId& id, const std::vector<Fill>& fills,
                       ExecutionId newest, std::optional<ExecutionId> next);

}  // namespace exchange
