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
  orders_ = orders;
  // Weights, about a hundred in total, by the index of the kind in Command; a kind that is missing
  // here has weight 1.
  constexpr unsigned weights[] = {4, 1, 7, 58, 8, 12, 1, 9, 1, 3, 1, 2, 1, 1};
  const auto weight = [&](std::size_t kind) {
    return kind < std::size(weights) ? weights[kind] : 1;
  };
  std::uint64_t choice = below(109 + command_kinds - std::size(weights));
  std::size_t kind = 0;
  for (; choice >= weight(kind); ++kind) choice -= weight(kind);

  constexpr std::size_t orders_kind = boost::mp11::mp_find<Command, PlaceOrder>::value;
  if (kind == orders_kind && referenced_ && below(20) == 0) return *referenced_;  // sent again
  Command command = draw_command(kind, *this);
  if (auto* const shares = std::get_if<PlaceShares>(&command))
    shares->shares = below(10) == 0 ? Shares() : Shares::from_units(fixed64_units(20));
  if (auto* const replace = std::get_if<ReplaceOrder>(&command)) aim(*replace);
  if (auto* const set = std::get_if<SetInstrument>(&command)) {
    const std::uint64_t rare = below(480);
    if (!set->symbol && rare % 16 != 0) set->symbol = symbol(rare % symbols);
    if (rare / 8 == 0) set->trading = Trading::halted;
    if (rare / 8 >= 50) set->trading = Trading::auction;
    if (rare / 8 >= 54) set->price_max = Price::whole(9);
    if (rare / 8 >= 44 && rare / 8 < 50) set->band = Price::whole(1);
    if (rare / 8 >= 47 && rare / 8 < 50) set->at_band = AtBand::auction;
    if (rare % 8 == 0) {
      set->price_min = Price::whole(2);
      set->price_max = Price::whole(1);
    }
  }
  if (auto* const set = std::get_if<SetAccount>(&command)) {
    const std::uint64_t rare = below(60);
    if (rare / 10 == 0) set->access = Access::frozen;
    if (rare / 10 == 1) set->orders_max = 1 + rare % 10;
    if (rare / 10 == 2) set->orders_per_second_max = 1 + rare % 3;
    if (!limits_rates) set->orders_per_second_max.reset();
    if (rare / 10 == 3) set->position_max = Shares::whole(std::int64_t(10 + rare));
    set->cancel_orders = rare % 8 == 7;
  }
  if (auto* const order = std::get_if<PlaceOrder>(&command)) {
    if (order->lifetime == Lifetime::immediate_or_cancel && below(2) == 0) order->limit = Price();
    if (order->is_market() && below(4) > 0) order->lifetime = Lifetime::until_canceled;
    make_whole(*order);
    note(*order);
  }
  return command;
}

// Remembers an order for later commands.
void RandomCommands::note(const PlaceOrder& order) {
  if (order.reference) referenced_ = order;
  if (!drawn_.empty() && drawn_.back().id == orders_ + 1) drawn_.pop_back();  // refused
  drawn_.push_back({orders_ + 1, order});
  if (drawn_.size() > 10) drawn_.pop_front();
}

// Aims mostly at one of the newest orders, in the name of its account, which a random account
// usually is not. Often the limit stays the same, so that the order may keep its place.
void RandomCommands::aim(ReplaceOrder& replace) {
  if (drawn_.empty() || below(8) == 0) return;
  const auto& [id, named] = drawn_[below(drawn_.size())];
  replace.account = named.account;
  replace.reference = below(2) == 0 ? named.reference : OptionalReference();
  replace.order = replace.reference ? 0 : id;
  if (below(8) != 0) replace.side = named.side;
  if (below(2) == 0 && !named.is_market()) replace.limit = named.limit;
  if (below(4) == 0) replace.shares = named.shares;
}

void RandomCommands::draw(AccountId& id, std::string_view) {
  id = account(below(50) == 0 ? accounts : below(accounts));
}
void RandomCommands::draw(SymbolName& name, std::string_view) {
  name = symbol(below(50) == 0 ? symbols : below(symbols));
}
void RandomCommands::draw(std::optional<SymbolName>& name, std::string_view) {
  if (below(2) == 0) draw(name.emplace(), "");
}
void RandomCommands::draw(Shares& shares, std::string_view) {
  shares = Shares::from_units(fixed64_units(5));
}
void RandomCommands::draw(Price& price, std::string_view) {
  price = Price::from_units(fixed64_units(7));
}
void RandomCommands::draw(std::uint64_t& number, std::string_view name) {
  if (name == "from")
    number = below(10) == 0 ? 1 + below(4) : 1;
  else if (name == "order")
    number = order();
  else
    number = below(1'000'000'000);
}
void RandomCommands::draw(bool& value, std::string_view name) {
  value = name == "post_only" ? below(10) == 0 : options_ && below(2) == 0;
}

// Draws from so few references that many are used again.
void RandomCommands::draw(OrderReference& reference, std::string_view) {
  const auto number = below(30);
  reference = OrderReference(number == 0 ? std::string(64, '-') : "R:" + std::to_string(number));
}
void RandomCommands::draw(OptionalReference& reference, std::string_view) {
  if (below(5) != 0) return;
  OrderReference drawn;
  draw(drawn, "");
  reference = drawn;
}
// Draws mostly nothing, or the end of a name.
void RandomCommands::draw(OptionalName& name, std::string_view) {
  if (below(3) != 0) return;
  const auto number = below(9);
  name = AccountName(number == 0 ? "" : "Zo\u00eb " + std::to_string(number));
}

Timestamp RandomCommands::next_time() {
  if (below(2) == 0) now_.microseconds += std::int64_t(below(3'000'000));
  return now_;
}

// Returns a positive number.
std::int64_t RandomCommands::fixed64_units(std::uint64_t whole_end) {
  constexpr std::int64_t most = 9'223'372'036'799'999'999, whole = 100'000'000;
  if (extreme_ && below(2) == 0)
    return below(4) == 0 ? most : 1 + std::int64_t((random_() >> (1 + below(63))) % most);
  const auto units = whole * std::int64_t(1 + below(whole_end));
  return below(4) == 0 ? units - whole / 4 : units;
}

void RandomCommands::draw(Cash& cash, std::string_view) {
  cash = Cash::whole(std::int64_t(below(150)));
  if (!extreme_) return;
  const Cash choices[] = {Cash(), Cash::from_units(1), Cash::from_units(int128_max / 4),
                          Cash::from_units(int128_max / 2), cash_total_max};
  cash = choices[below(5)];
}

// Returns mostly one of the newest orders, at times any order, an id that is not given yet, or 0.
OrderId RandomCommands::order() {
  const auto choice = below(50);
  if (choice == 0) return 0;
  if (choice == 1) return orders_ + 1 + below(2);
  if (choice == 2) return UINT64_MAX;
  if (orders_ == 0) return 1;
  return choice < 10 ? 1 + below(orders_) : orders_ - below(std::min<OrderId>(orders_, 12));
}

}  // namespace exchange
