#include "client/bots/market.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace exchange::bots {
namespace {

using Ticks = std::int64_t;

constexpr std::int64_t units_per_share = Shares::whole(1).units();

// Returns a tick of about a ten-thousandth of the price, as in real markets: 0.01 for prices from
// 100 to 1000.
Price tick_for(Price anchor) {
  std::int64_t units = 1;
  while (units * 10 <= anchor.units() / 10'000) units *= 10;
  return Price::from_units(units);
}

constexpr Ticks half_spread = 2, level_step = 2;
// how far a maker's quotes move if its inventory equals all the shares granted
constexpr Ticks skew_max = 20;
constexpr Ticks taker_reach = 8;  // how far a limit crosses the price: some levels deep
constexpr Ticks step_max = 3;     // of the price, in one step
constexpr unsigned take_percent = 30;
constexpr unsigned requests_between_changes = 200;

}  // namespace

std::string digits(std::uint64_t number, std::size_t least) {
  const std::string text = std::to_string(number);
  return std::string(least - std::min(least, text.size()), '0') + text;
}

Market::Market(MarketOptions options)
    : options_(std::move(options)),
      tick_(tick_for(options_.anchor)),
      anchor_(options_.anchor.units() / tick_.units()),
      random_(options_.seed + 0x9e3779b97f4a7c15u * (options_.stream + 1)),
      price_(anchor_),
      requests_until_change_(requests_between_changes) {
  ENSURE(options_.anchor >= anchor_min && options_.anchor <= anchor_max);
}

const std::vector<Command>& Market::next() {
  request_.clear();
  intents_.clear();
  walk();
  if (create_accounts() || ask_for_doubtful() || tidy_up() || change_places()) return request_;
  if (!maker().open.empty() && below(100) < take_percent)
    take();
  else
    quote();
  return request_;
}

const std::vector<Command>& Market::wind_up() {
  request_.clear();
  intents_.clear();
  if (ask_for_doubtful()) return request_;
  for (Trader& trader : traders_)
    if (request_.empty()) cancel_all(trader);
  return request_;
}

// Half of the time the price steps to either side. In addition a pull moves it to the anchor; the
// pull grows with the distance.
void Market::walk() {
  if (below(2) == 0) price_ += Ticks(below(2 * step_max + 1)) - step_max;
  const Ticks range = anchor_ / 10, away = price_ - anchor_;
  if (Ticks(below(std::uint32_t(range))) < std::abs(away)) price_ -= away > 0 ? 1 : -1;
  price_ = std::clamp(price_, anchor_ - range, anchor_ + range);
}

bool Market::create_accounts() {
  for (Trader& trader : traders_) {
    if (trader.exists) continue;
    trader.account = AccountId(options_.account_prefix + digits(accounts_used_++, 6));
    const Shares shares = Shares::whole(shares_granted);
    request_ = {CreateAccount{trader.account, cost(shares, options_.anchor)},
                PlaceShares{options_.symbol, trader.account, shares}};
    intents_ = {Intent{&trader, {}}, Intent{&trader, {}}};
    // The two traders take turns as maker, so a name cannot show which one is the maker.
    const std::string name =
        std::string(options_.symbol.view()) + " bot " + std::to_string(accounts_used_);
    if (const std::optional<AccountName> shown_as = parse_account_name(name)) {
      request_.push_back(SetAccount{.account = trader.account, .name = *shown_as});
      intents_.push_back({&trader, {}});
    }
    return true;
  }
  return false;
}

bool Market::ask_for_doubtful() {
  for (Trader& trader : traders_) {
    for (const Order& order : trader.open) {
      if (!order.doubtful) continue;
      request_.push_back(QueryOrder{trader.account, order.id});
      intents_.push_back({&trader, order});
    }
    if (!request_.empty()) return true;
  }
  return false;
}

// Cancels the orders that must be canceled before any other command.
bool Market::tidy_up() {
  for (Trader& trader : traders_) {
    if (!trader.spent) continue;
    if (trader.open.empty()) {
      trader = {};
      return create_accounts();
    }
    cancel_all(trader);
    return true;
  }
  cancel_all(taker());
  return !request_.empty();
}

bool Market::change_places() {
  if (requests_until_change_ > 0) {
    --requests_until_change_;
    return false;
  }
  if (maker().open.empty()) {
    maker_ = 1 - maker_;
    requests_until_change_ = requests_between_changes;
    return false;
  }
  cancel_all(maker());
  return true;
}

// Buys as often as it sells while its inventory is even. From a quarter of the shares granted on,
// it only reduces its inventory.
void Market::take() {
  const std::int64_t bias = std::clamp(4 * taker().inventory, -shares_granted, shares_granted);
  const Side side = Ticks(below(std::uint32_t(2 * shares_granted))) < shares_granted - bias
                        ? Side::buy
                        : Side::sell;
  place(taker(), {.side = side,
                  .limit = side == Side::buy ? price_ + taker_reach : price_ - taker_reach,
                  .shares = 5 + std::int64_t(below(116)),
                  .level = levels,
                  .doubtful = true});
  hit_ = opposite(side);
}

// Replaces one quote, and adds those that are missing.
void Market::quote() {
  std::vector<Place> places{choose_place()};
  for (unsigned level = 0; level < levels; ++level)
    for (const Side side : {Side::buy, Side::sell})
      if (const Place place{side, level}; place != places.front() && quote_at(place) == nullptr)
        places.push_back(place);
  const auto is_in_the_way = [&](const Order& own) {
    return std::any_of(places.begin(), places.end(), [&](Place place) {
      if (own.side == place.side) return own.level == place.level;
      return place.side == Side::buy ? own.limit <= target(place) : own.limit >= target(place);
    });
  };
  for (const Order& own : maker().open)
    if (is_in_the_way(own)) cancel(maker(), own);
  for (const Place place : places)
    this->place(maker(), {.side = place.side,
                          .limit = target(place),
                          .shares = 10 + std::int64_t(below(91)),
                          .level = place.level});
}

// Returns the best quote of a side that was just hit, else the quote that is farthest from its
// target, or any quote: only a command on a quote shows a trade with another client.
Market::Place Market::choose_place() {
  if (hit_) return {*std::exchange(hit_, {}), 0};
  const Place any{below(2) == 0 ? Side::buy : Side::sell, below(levels)};
  if (below(2) == 0) return any;
  Place worst = any;
  Ticks worst_off = 0;
  for (unsigned level = 0; level < levels; ++level)
    for (const Side side : {Side::buy, Side::sell}) {
      const Place place{side, level};
      const Order* const order = quote_at(place);
      if (order == nullptr) continue;
      const Ticks off = std::abs(order->limit - target(place));
      if (off > worst_off) worst_off = off, worst = place;
    }
  return worst;
}

Ticks Market::target(Place place) const {
  const std::int64_t inventory =
      std::clamp(traders_[maker_].inventory, -shares_granted, shares_granted);
  const Ticks middle = price_ - inventory * skew_max / shares_granted;
  const Ticks away = half_spread + Ticks(place.level) * level_step;
  return place.side == Side::buy ? middle - away : middle + away;
}

const Market::Order* Market::quote_at(Place place) const {
  for (const Order& order : traders_[maker_].open)
    if (order.side == place.side && order.level == place.level) return &order;
  return nullptr;
}

void Market::place(Trader& trader, Order order) {
  OptionalReference reference;
  if (options_.references) reference = OrderReference(std::to_string(++referenced_));
  request_.push_back(PlaceOrder{trader.account, options_.symbol, order.side,
                                Shares::whole(order.shares), price_of(order.limit), reference});
  intents_.push_back({&trader, order});
}

void Market::cancel(Trader& trader, const Order& order) {
  request_.push_back(CancelOrder{trader.account, order.id});
  intents_.push_back({&trader, order});
}

void Market::cancel_all(Trader& trader) {
  for (const Order& order : trader.open) cancel(trader, order);
}

void Market::answered(std::span<const Answer> answers) {
  ENSURE(answers.size() == request_.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    auto& [trader, order] = intents_[i];
    if (std::holds_alternative<CancelOrder>(request_[i]) ||
        std::holds_alternative<QueryOrder>(request_[i])) {
      update(*trader, order, answer);
    } else if (std::holds_alternative<SetAccount>(request_[i])) {
      continue;  // the account also trades without a name
    } else if (answer.refused) {
      ++refusals_;
      if (std::holds_alternative<PlaceOrder>(request_[i])) trader->spent = true;
    } else if (std::holds_alternative<PlaceOrder>(request_[i])) {
      refusals_ = 0;
      order.id = answer.order;
      trader->open.push_back(order);
    }
  }
  if (std::holds_alternative<CreateAccount>(request_.front()))
    intents_.front().trader->exists = !answers[0].refused && !answers[1].refused;
}

bool Market::may_be_asked_again() {
  for (std::size_t i = 0; i < request_.size(); ++i) {
    if (const auto* order = std::get_if<PlaceOrder>(&request_[i]); order && order->reference)
      continue;
    if (std::holds_alternative<QueryOrder>(request_[i])) continue;
    if (!std::holds_alternative<CancelOrder>(request_[i])) return false;
    doubt(i);
  }
  return true;
}

void Market::doubt(std::size_t at) {
  intents_[at].order.doubtful = true;
  for (Order& order : intents_[at].trader->open)
    if (order.id == intents_[at].order.id) order.doubtful = true;
}

void Market::lost() {
  for (std::size_t i = 0; i < request_.size(); ++i) {
    if (std::holds_alternative<PlaceOrder>(request_[i])) intents_[i].trader->spent = true;
    doubt(i);
  }
}

// Marks the best quotes of a side as doubtful: the taken `shares` may have executed against them.
void Market::doubt_best(Side side, std::int64_t shares) {
  std::vector<Order*> quotes;
  for (Order& order : maker().open)
    if (order.side == side) quotes.push_back(&order);
  std::sort(quotes.begin(), quotes.end(), [&](const Order* one, const Order* other) {
    return side == Side::buy ? one->limit > other->limit : one->limit < other->limit;
  });
  for (Order* const quote : quotes) {
    if (shares <= 0) break;
    shares -= quote->shares;
    quote->doubtful = true;
  }
}

// Updates the inventory with what was executed of an order that was canceled or queried. A refusal
// means that nothing was open any more, so the order was executed, unless a request whose reply was
// lost had canceled it.
void Market::update(Trader& trader, const Order& order, const Answer& answer) {
  const std::int64_t open = answer.open.units() / units_per_share;
  const std::int64_t left = answer.refused ? (order.doubtful ? order.shares : 0)
                                           : open + answer.canceled.units() / units_per_share;
  const std::int64_t executed = order.shares - left;
  trader.inventory += order.side == Side::buy ? executed : -executed;
  if (order.level == levels) {
    shares_taken_ += std::uint64_t(executed);
    doubt_best(opposite(order.side), executed);
  }
  if (open == 0) std::erase_if(trader.open, [&](const Order& one) { return one.id == order.id; });
  for (Order& one : trader.open)
    if (one.id == order.id) one.shares = open, one.doubtful = false;
}

}  // namespace exchange::bots
