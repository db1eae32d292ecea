#pragma once
// Writes the JSON documents of closed days (docs/http-api.md, "Replays of closed days"). Pure.

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
  std::string problem;  // why the day cannot be replayed; empty if it can
};
std::string days_json(std::span<const KeptDay> days);
// Shows the trading of `symbol` in detail; if null, shows no details.
std::string day_json(std::string_view day, const DaySummary& summary,
                     const DaySummary::Symbol* symbol);
// A moment of a closed day.
struct Moment {
  std::uint64_t position;
  Timestamp time;
};
// Writes the state of a symbol, and of an account if one is given, from the view.
std::string moment_state_json(const MarketView& view, const Moment& at, const SymbolName& symbol,
                              const std::optional<AccountId>& account, const AccountPage& page);
// Writes what one command changed of a symbol and of an account (null: nothing changed); `rows` are
// the changed rows.
std::string moment_change_json(const MarketView& view, const Moment& at,
                               const MarketView::Change* change, const MarketView::Account* account,
                               const Rows& rows);
// `state` and `changes` are texts of the two functions above. `changes` contains all changes up to
// `until`.
std::string moments_json(std::string_view day, const SymbolName& symbol, std::string_view state,
                         const std::vector<std::string>& changes, const Moment& until, bool is_end);

}  // namespace exchange
