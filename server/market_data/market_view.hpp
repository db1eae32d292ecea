#pragma once
// MarketView is a replica of books, trades, balances and open orders for readers. It is built from
// the rows that the projector has written to the tables, and is never ahead of them. It also
// returns the changes of each symbol, for subscribers. Owner: HttpServer. Thread: that of answers.

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/auction.hpp"
#include "engine/flat_map.hpp"
#include "engine/leaderboard.hpp"
#include "engine/pool.hpp"
#include "engine/rows.hpp"

namespace exchange {

class MarketView {
 public:
  static constexpr std::int64_t market_rank = std::numeric_limits<std::int64_t>::min();
  struct Level {
    Int128 shares_units = 0;  // wide, as Exchange::Depth
    std::uint32_t orders = 0;
  };
  struct Trade {
    ExecutionId id;
    Price price;
    Shares shares;
    Side taker;  // side of the order that arrived, or was replaced, last
    bool of_auction;
    OrderId buy_order, sell_order;
    Timestamp time;
  };
  struct Symbol {
    SymbolName name;
    Shares shares_total;
    Instrument instrument;
    Timestamp trading_since;                  // of the last change of trading; 0: none
    std::map<std::int64_t, Level> levels[2];  // by side; by rank, so that the best comes first
    std::deque<Trade> trades;                 // newest last, at most trades_kept_max
    std::uint32_t open_orders = 0;
    std::uint64_t trades_seen = 0;  // since the view began
    UInt128 traded_units = 0;       // since the view began; shares, in units of 1e-8
    std::uint64_t sequence = 0;     // of the last change returned
    Price last_price;               // 0: none

    // best() returns the best level with a limit; market_shares_units() counts the market orders.
    // An auction has both.
    using Levels = std::map<std::int64_t, Level>;
    Levels::const_iterator best(Side side) const {
      return levels[int(side)].upper_bound(market_rank);
    }
    Int128 market_shares_units(Side side) const {
      const Levels& of = levels[int(side)];
      return best(side) == of.begin() ? 0 : of.begin()->second.shares_units;
    }
    // Returns what an auction would execute if it ended now. Takes O(levels) time.
    std::optional<AuctionPrice> indicative() const;
  };
  // rank() returns the key of a level in Symbol::levels, and price_of() the price of a key. Price 0
  // is the level of the market orders that an auction collects; it comes before all others.
  static std::int64_t rank(Side side, Price price) {
    if (price == Price()) return market_rank;
    return side == Side::buy ? -price.units() : price.units();
  }
  static Price price_of(Side side, std::int64_t rank) {
    if (rank == market_rank) return {};
    return Price::from_units(side == Side::buy ? -rank : rank);
  }

  struct Position {
    SymbolNumber symbol;
    Shares shares;              // free
    Int128 reserved_units = 0;  // by open sells
  };
  struct Account {
    Cash balance;   // free
    Cash reserved;  // by open buys
    std::vector<Position> positions;
    std::uint32_t open_orders = 0;
    EventNumber events = 0;  // AccountRow::events
    // indexes in the order pool of the first and last open order, in the order of their places
    std::uint32_t first_order = no_index, last_order = no_index;
  };

  // The changes of one symbol by apply(): levels by rank, each once with its current state (a level
  // without orders was removed), and all new trades.
  struct Change {
    SymbolNumber symbol;
    std::uint64_t sequence;
    std::map<std::int64_t, Level> levels[2];
    std::vector<Trade> trades;  // oldest first
  };

  // `hash_seed`: see Exchange. Keeps the `trades_kept_max` (at least 1) newest trades of each
  // symbol that are among the `trades_in_all_max` newest of all symbols.
  MarketView(std::size_t trades_kept_max, std::size_t trades_in_all_max, std::uint64_t hash_seed);

  // Takes the memory of open orders from `pages` if it has any. `pages` must outlive the view.
  void take_pages_from(PageSource& pages) { orders_.take_pages_from(pages); }

  // Loads the initial state, as of `batch`; `trades`, oldest first, happened before it. Records no
  // changes.
  void load(const Rows& tables, std::uint64_t batch, std::span<const ExecutionRow> trades);
  // Add the trades of the tables that the leaderboard counts before the first apply().
  Leaderboard& leaderboard() { return leaderboard_; }
  const Leaderboard& leaderboard() const { return leaderboard_; }
  // Brings the view to `batch`. Returns the changes of the symbols that have any; valid until the
  // next call.
  const std::vector<Change>& apply(const Rows& rows, std::uint64_t batch);

  std::uint64_t batch() const { return batch_; }
  ExecutionId newest_execution() const { return newest_execution_; }  // 0: none
  // The newest batch that may have changed a leaderboard.
  std::uint64_t board_batch() const { return board_batch_; }
  const std::deque<Symbol>& symbols() const { return symbols_; }  // by number
  const Symbol* find_symbol(const SymbolName& name) const;
  std::optional<SymbolNumber> symbol_number(const SymbolName& name) const;
  const Account* find_account(const AccountId& id) const;
  const AccountId& account_id(AccountNumber number) const { return account_ids_.text(number); }
  const Account& account(AccountNumber number) const { return accounts_[number]; }
  AccountNumber number_of(const Account& account) const {
    return AccountNumber(&account - accounts_.data());
  }
  // Returns the rules that the operator set for the account.
  AccountRules rules_of(const Account& account) const {
    const auto found = account_rules_.find(number_of(account));
    return found == account_rules_.end() ? AccountRules() : found->second;
  }
  // Returns the display name of the account; empty if it has no name.
  std::string_view display_name(AccountNumber number) const {
    const auto found = account_names_.find(number);
    return found == account_names_.end() ? std::string_view() : found->second.view();
  }
  std::size_t accounts() const { return accounts_.size(); }
  // Returns the index in `positions` of the account's position in this symbol, if it has one.
  std::optional<std::size_t> find_position(const Account& account, SymbolNumber symbol) const;
  bool has_open_order(const Account& account, OrderId order) const;
  // Returns the reference that the client gave an open order; null if it has no reference.
  const OrderReference* reference_of(OrderId order) const {
    const auto found = references_.find(order);
    return found == references_.end() ? nullptr : &found->second;
  }
  // Whether a null from reference_of() means that an open order has no reference. load() gets only
  // the newest references.
  bool knows_reference_of(OrderId order) const {
    return order > loaded_orders_ || reference_of(order) != nullptr;
  }
  // Calls visit(const OrderRow&) for at most `count` open orders of the account, in the order of
  // their places: from the first one on, or from the one after `after`, which must be one of them.
  // Returns whether there are more.
  template <class Visit>
  bool visit_open_orders(const Account& account, std::size_t count, Visit visit,
                         std::optional<OrderId> after = {}) const {
    std::uint32_t at = after ? orders_[order_index_.find(*after)].next : account.first_order;
    for (; at != no_index && count > 0; at = orders_[at].next, --count) visit(orders_[at].row);
    return at != no_index;
  }

 private:
  struct Order {
    OrderRow row;
    Price reserved;                // what a buy reserves for each share
    std::uint32_t previous, next;  // of the account's open orders
  };

  void put_rows(const Rows& rows);
  void put_account(const AccountRow& row);
  void put_symbol(const SymbolRow& row);
  // Adds a row that opens an order, or gives it another place, to `entering_`.
  void put_order(const OrderRow& row);
  void open(const OrderRow& row);
  void close(std::uint32_t index);
  // Adds `change`, in units of shares, of an open order to its level and to its owner's reserves,
  // and `orders` to the level.
  void change_open(const Order& order, std::int64_t change, int orders);
  void add_trade(const ExecutionRow& row);
  static std::uint64_t position_key(AccountNumber account, SymbolNumber symbol) {
    return std::uint64_t(account) << 32 | symbol;
  }
  Position& position(AccountNumber account, SymbolNumber symbol);
  Change& change_of(SymbolNumber symbol);

  const std::size_t trades_kept_max_, trades_in_all_max_;
  std::uint64_t batch_ = 0, board_batch_ = 0;
  ExecutionId newest_execution_ = 0;
  OrderId loaded_orders_ = 0;  // ids given before load()
  Interner<AccountId> account_ids_;
  std::vector<Account> accounts_;
  std::unordered_map<AccountNumber, AccountRules> account_rules_;  // of accounts that have any
  std::unordered_map<AccountNumber, AccountName> account_names_;   // may be empty
  Leaderboard leaderboard_;
  Interner<SymbolName> symbol_names_;
  std::deque<Symbol> symbols_;             // moving one would copy its book
  FlatMap<std::uint32_t> position_index_;  // in Account::positions
  Pool<Order> orders_;
  IdIndex order_index_;
  std::unordered_map<OrderId, OrderReference> references_;  // of open orders
  std::vector<const OrderRow*> entering_;                   // rows of the current call
  struct TradeOfSymbol {
    SymbolNumber symbol;
    ExecutionId id;
  };
  std::deque<TradeOfSymbol> newest_trades_;  // newest last, at most trades_in_all_max_
  bool returns_changes_ = true;
  std::vector<Change> changes_;
  std::vector<std::uint32_t> change_index_;  // by symbol: in changes_, or no_index
};

}  // namespace exchange
