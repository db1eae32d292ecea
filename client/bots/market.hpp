#pragma once
// The bots of one symbol: two traders take turns. One makes the market and the other takes from it.
// The maker keeps a ladder of quotes on both sides of a price that walks at random around an
// anchor; the taker sometimes crosses the spread. Chooses the next request and updates its state
// from the replies. Does no I/O and reads no clock: the same seed and replies always give the same
// requests.
//
// Why it can run without end:
// - The number of open orders is bounded: a quote is replaced, not added, and the rest of a taker's
//   order is canceled at once. Orders that may have executed are queried first, so that few cancels
//   find nothing open: only those of orders that another client has executed.
// - The price is pulled back to its anchor, and never leaves anchor ± 10 %.
// - The two trade with each other, so together they lose nothing. A trader that has bought much
//   sells next as taker, and quotes lower as maker; taking turns balances the profit from the
//   spread.
// - If anything of a trader is refused (other clients took its money or its shares, or the store is
//   a new one), it cancels its open orders and continues as a new account. The same happens if a
//   lost reply leaves open whether its order was placed; if such an order rests in the book, it
//   trades when the price reaches it.

#include <array>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/commands.hpp"

namespace exchange::bots {

// Returns the number with leading zeros, at least `least` digits.
std::string digits(std::uint64_t number, std::size_t least);

struct MarketOptions {
  SymbolName symbol;
  Price anchor;                // from Market::anchor_min to anchor_max
  std::string account_prefix;  // digits; an account id is this and 6 more
  std::uint64_t seed = 0, stream = 0;
  bool references = false;  // orders have a reference
};

// The result of one command.
struct Answer {
  bool refused = false;
  std::string why = {};  // the server's error message
  OrderId order = 0;     // of a placed order
  Shares open;           // of a queried order
  Shares canceled;       // of a queried or canceled order
};

class Market {
 public:
  static constexpr Price anchor_min = Price::from_units(10'000),
                         anchor_max = Price::whole(1'000'000'000);
  static constexpr unsigned levels = 5;                        // quotes a side
  static constexpr unsigned open_orders_max = 2 * levels + 1;  // and one of the taker
  // granted to each account, and their worth in cash
  static constexpr std::int64_t shares_granted = 10'000;

  explicit Market(MarketOptions options);
  Market(const Market&) = delete;

  // Returns the commands of the next request: all creations, or all of one account. Never empty.
  // Call answered() or lost() next.
  const std::vector<Command>& next();
  // `answers`: one for each command of the last request.
  void answered(std::span<const Answer> answers);
  // Call it if the reply to the last request was lost, so that it is not known what the request
  // did. Returns whether the same commands may be sent again, because orders have references. If
  // not, or if that fails, call lost().
  bool may_be_asked_again();
  void lost();
  // Call it in place of next(): cancels the open orders of one trader; empty once there are none.
  const std::vector<Command>& wind_up();

  // Accounts and orders refused since the last order was accepted. After many, the caller should
  // wait.
  unsigned refusals() const { return refusals_; }

  const SymbolName& symbol() const { return options_.symbol; }
  // As far as the replies show it.
  std::size_t open_orders() const { return traders_[0].open.size() + traders_[1].open.size(); }
  std::uint64_t shares_taken() const { return shares_taken_; }
  std::uint64_t accounts_used() const { return accounts_used_; }
  Price price() const { return price_of(price_); }
  Price tick() const { return tick_; }

 private:
  using Ticks = std::int64_t;
  struct Order {
    OrderId id = 0;
    Side side = Side::buy;
    Ticks limit = 0;
    std::int64_t shares = 0;
    unsigned level = 0;  // its place in the ladder; `levels`: an order of the taker
    // the open shares are not known: a taker's order, a quote that it may have met, or a lost
    // cancel
    bool doubtful = false;
  };
  struct Trader {
    AccountId account;
    bool exists = false;
    bool spent = false;          // to be replaced by a new account
    std::int64_t inventory = 0;  // shares bought beyond those granted
    std::vector<Order> open;
  };
  // The subject of one command of the last request.
  struct Intent {
    Trader* trader = nullptr;
    Order order;
  };

  Trader& maker() { return traders_[maker_]; }
  Trader& taker() { return traders_[1 - maker_]; }
  Price price_of(Ticks ticks) const { return Price::from_units(tick_.units() * ticks); }
  void walk();
  bool ask_for_doubtful();
  bool create_accounts();
  bool tidy_up();
  bool change_places();
  std::uint32_t below(std::uint32_t bound) {
    return std::uint32_t(((random_() >> 32) * bound) >> 32);
  }
  void take();
  void quote();

  struct Place {
    Side side;
    unsigned level;
    bool operator==(const Place&) const = default;
  };
  Place choose_place();
  Ticks target(Place place) const;
  const Order* quote_at(Place place) const;
  void place(Trader& trader, Order order);
  void cancel(Trader& trader, const Order& order);
  void cancel_all(Trader& trader);
  void doubt(std::size_t at);
  void doubt_best(Side side, std::int64_t shares);
  void update(Trader& trader, const Order& order, const Answer& answer);

  const MarketOptions options_;
  const Price tick_;
  const Ticks anchor_;
  std::mt19937_64 random_;
  Ticks price_;
  std::array<Trader, 2> traders_;
  unsigned maker_ = 0;  // of traders_
  unsigned requests_until_change_;
  // the side of the ladder that a taker's order met: its best quote is replaced first
  std::optional<Side> hit_;
  std::uint64_t accounts_used_ = 0, shares_taken_ = 0, referenced_ = 0;
  unsigned refusals_ = 0;
  std::vector<Command> request_;
  std::vector<Intent> intents_;
};

}  // namespace exchange::bots
