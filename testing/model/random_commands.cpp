#include "model/random_commands.hpp"

#include <algorithm>
#include <string>

namespace exchange {

AccountId RandomCommands::account(std::uint64_t number) {
  return AccountId(std::to_string(number));
}
SymbolName RandomCommands::symbol(std::uint64_t number) {
  return SymbolName("S" + std::to_string(number));
}

Command RandomCommands::next(OrderId orders) {
  const AccountId account = RandomCommands::account(below(50) == 0 ? accounts : below(accounts));
  const SymbolName symbol = RandomCommands::symbol(below(50) == 0 ? symbols : below(symbols));
  const auto choice = below(100);
  if (choice < 4) return CreateAccount{account, cash()};
  if (choice < 5) return CreateSymbol{RandomCommands::symbol(below(symbols))};
  if (choice < 12) {
    const Shares shares = below(10) == 0 ? Shares() : Shares::from_units(fixed64_units(20));
    return PlaceShares{symbol, account, shares};
  }
  if (choice < 70) {
    if (referenced_ && below(20) == 0) return *referenced_;  // sent again
    PlaceOrder order{account,
                     symbol,
                     below(2) == 0 ? Side::buy : Side::sell,
                     Shares::from_units(fixed64_units(5)),
                     Price::from_units(fixed64_units(7)),
                     reference()};
    const auto terms = below(10);
    if (terms == 0) order.lifetime = Lifetime::immediate_or_cancel;
    if (terms == 1) order.lifetime = Lifetime::fill_or_kill;
    if (terms == 2) order.post_only = true;
    if (terms == 3) {
      order.limit = Price();
      order.lifetime = Lifetime::immediate_or_cancel;
    }
    const auto self_trade = below(10);
    if (self_trade == 0) order.self_trade = SelfTrade::cancel_resting;
    if (self_trade == 1) order.self_trade = SelfTrade::cancel_taking;
    order.symbol_must_exist = options_ && below(2) == 0;
    if (order.reference) referenced_ = order;
    if (!drawn_.empty() && drawn_.back().id == orders + 1) drawn_.pop_back();  // refused
    drawn_.push_back({orders + 1, order});
    if (drawn_.size() > 10) drawn_.pop_front();
    return order;
  }
  if (choice < 71) return CancelAll{account, below(2) == 0 ? std::optional(symbol) : std::nullopt};
  if (choice < 80) return replace(account, orders);
  const OptionalReference reference = RandomCommands::reference();
  const OrderId named = reference ? 0 : order(orders);
  if (choice < 88) return CancelOrder{account, named, reference};
  return QueryOrder{account, named, options_ && below(2) == 0, reference,
                    below(10) == 0 ? 1 + below(4) : 1};
}

// Mostly of one of the newest orders, by its account, which most accounts are not; at times with
// the same limit, so that it may keep its place.
ReplaceOrder RandomCommands::replace(const AccountId& account, OrderId orders) {
  ReplaceOrder replace{.account = account,
                       .side = below(2) == 0 ? Side::buy : Side::sell,
                       .shares = Shares::from_units(fixed64_units(5)),
                       .limit = Price::from_units(fixed64_units(7)),
                       .reference = reference()};
  if (!replace.reference) replace.order = order(orders);
  if (drawn_.empty() || below(8) == 0) return replace;
  const auto& [id, named] = drawn_[below(drawn_.size())];
  replace.account = named.account;
  replace.reference = below(2) == 0 ? named.reference : OptionalReference();
  replace.order = replace.reference ? 0 : id;
  if (below(8) != 0) replace.side = named.side;
  if (below(2) == 0 && !named.is_market()) replace.limit = named.limit;
  if (below(4) == 0) replace.shares = named.shares;
  return replace;
}

// Mostly none; else one of so few that many are used again.
OptionalReference RandomCommands::reference() {
  if (below(5) != 0) return {};
  const auto number = below(30);
  return OrderReference(number == 0 ? std::string(64, '-') : "R:" + std::to_string(number));
}

Timestamp RandomCommands::next_time() {
  if (below(2) == 0) now_.microseconds += std::int64_t(below(3'000'000));
  return now_;
}

// Positive.
std::int64_t RandomCommands::fixed64_units(std::uint64_t whole_end) {
  constexpr std::int64_t most = 9'223'372'036'799'999'999, whole = 100'000'000;
  if (extreme_ && below(2) == 0)
    return below(4) == 0 ? most : 1 + std::int64_t((random_() >> (1 + below(63))) % most);
  const auto units = whole * std::int64_t(1 + below(whole_end));
  return below(4) == 0 ? units - whole / 4 : units;
}

Cash RandomCommands::cash() {
  if (!extreme_) return Cash::whole(std::int64_t(below(150)));
  const Cash choices[] = {Cash(), Cash::from_units(1), Cash::from_units(int128_max / 4),
                          Cash::from_units(int128_max / 2), cash_total_max};
  return choices[below(5)];
}

// Mostly one of the newest, at times any, one not given yet, or none.
OrderId RandomCommands::order(OrderId orders) {
  const auto choice = below(50);
  if (choice == 0) return 0;
  if (choice == 1) return orders + 1 + below(2);
  if (choice == 2) return UINT64_MAX;
  if (orders == 0) return 1;
  return choice < 10 ? 1 + below(orders) : orders - below(std::min<OrderId>(orders, 12));
}

}  // namespace exchange
