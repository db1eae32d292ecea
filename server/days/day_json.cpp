#include "days/day_json.hpp"

#include <set>

#include "protocol/words.hpp"

namespace exchange {

std::string days_json(std::span<const KeptDay> days) {
  Document document;
  document.add_list("days", [&](auto add) {
    for (const KeptDay& day : days) {
      Json json{{"day", day.name},
                {"first_time_us", time_json(day.first_time.value_or(Timestamp()))},
                {"last_time_us", time_json(day.last_time.value_or(Timestamp()))},
                {"whole", day.problem.empty()}};
      if (!day.problem.empty()) json["problem"] = day.problem;
      add(json);
    }
  });
  return document.text();
}

std::string day_json(std::string_view day, const DaySummary& summary,
                     const DaySummary::Symbol* symbol) {
  Document document;
  document.add("day", day)
      .add("commands", summary.commands)
      .add("first_time_us", time_json(summary.first_time))
      .add("last_time_us", time_json(summary.last_time));
  document.add_list("symbols", [&](auto add) {
    for (const DaySummary::Symbol& one : summary.symbols)
      add({{"symbol", one.name.view()}, {"trades", one.trades}});
  });
  if (symbol == nullptr) return document.text();
  document.add("symbol", symbol->name.view()).add("bins", DaySummary::bins);
  document.add("trades_of_bin", symbol->trades_of_bin);
  document.add_list("marks", [&](auto add) {
    for (const DaySummary::Mark& mark : symbol->marks)
      add({{"position", mark.position},
           {"time_us", mark.time.microseconds},
           {"trading", word_of(mark.trading)}});
  });
  return document.text();
}

std::string moment_state_json(const MarketView& view, const Moment& at, const SymbolName& name,
                              const std::optional<AccountId>& id, const AccountPage& page) {
  // a symbol that does not exist yet has an empty book
  const MarketView::Symbol none{}, *const found = view.find_symbol(name),
                                          &symbol = found == nullptr ? none : *found;
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  add_sides(document, symbol, symbol.levels, page.levels_max);
  add_newest_trades(document, symbol, symbol.trades.size());
  if (!id) return document.nested();
  const MarketView::Account* const account = view.find_account(*id);
  Document of_account;
  if (account != nullptr) add_account(of_account, view, *id, *account, page);
  return document.add_text("account", account == nullptr ? "null" : of_account.nested()).nested();
}

std::string moment_change_json(const MarketView& view, const Moment& at,
                               const MarketView::Change* change, const MarketView::Account* account,
                               const Rows& rows) {
  Document document;
  document.add("position", at.position).add("time_us", at.time.microseconds);
  if (change != nullptr) {
    add_sides(document, view.symbols()[change->symbol], change->levels, SIZE_MAX);
    add_trades(document, change->trades);
  }
  if (account == nullptr) return document.nested();
  const AccountNumber number = view.number_of(*account);
  Json now{{"balance", to_string(account->balance)},
           {"reserved", to_string(account->reserved)},
           {"open_orders", account->open_orders},
           {"positions", Json::array()},
           {"orders", Json::array()}};
  std::set<SymbolNumber> symbols;  // also of orders: position rows lack the reserved shares
  for (const PositionRow& row : rows.positions)
    if (row.account == number) symbols.insert(row.symbol);
  for (const OrderRow& row : rows.orders) {
    if (row.account != number) continue;
    symbols.insert(row.symbol);
    now["orders"].push_back(own_order_json(view, row));
    now["orders"].back()["canceled"] = to_string(row.canceled);
  }
  for (const SymbolNumber symbol : symbols)
    if (const auto position = view.find_position(*account, symbol))
      now["positions"].push_back(position_json(view, account->positions[*position]));
  return document.add("account", now).nested();
}

std::string moments_json(std::string_view day, const SymbolName& symbol, std::string_view state,
                         const std::vector<std::string>& changes, const Moment& until,
                         bool is_end) {
  Document document;
  document.add("day", day)
      .add("symbol", symbol.view())
      .add_text("state", state)
      .add_texts("changes", changes)
      .add("until", until.position)
      .add("until_us", until.time.microseconds)
      .add("end", is_end);
  return document.text();
}

}  // namespace exchange
