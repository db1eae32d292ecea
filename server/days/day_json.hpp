#pragma once
// The JSON documents of closed days (docs/http-api.md, "Replays of closed days"). Pure.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "days/day_summary.hpp"
#include "json/view_json.hpp"

namespace exchange {

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

}  // namespace exchange
