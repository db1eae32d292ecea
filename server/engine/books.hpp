#pragma once
// Books owns the orders in memory: the open ones in the books of their symbols, by price and place;
// closed ones until release_closed(), oldest first; and their executions. It manages places, not
// money: Orders decides what is executed, Settlement moves what is paid. Orders, levels and
// executions have indices, which stay the same while these are in memory; no_index means none.
// Invariants:
// 1. An open order is in exactly one level, of its symbol, side and limit.
// 2. In a level, orders follow each other by place.
// 3. A level's shares and orders are those of its list. The best level has orders.
// 4. At most one of open and canceled is above zero. A closed order is not in a level.
// 5. An execution is in the lists of both its orders, until these leave memory.
// Owner: ExchangeState. Thread: that of the Exchange.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "engine/commands.hpp"
#include "engine/ledger.hpp"
#include "engine/open_orders.hpp"
#include "engine/pool.hpp"
#include "engine/price_index.hpp"
#include "engine/rows.hpp"

namespace exchange {

// A fill-or-kill order reaches at most this number of prices, or this number of orders if it may
// not trade with its own account (E3, E16). Otherwise an order that cannot be filled would cost a
// walk through the whole book.
inline constexpr unsigned fill_or_kill_reach = 1'000;

// The number of orders that have closed since the start of the process.
using ClosedMark = std::uint64_t;

class Books {
 public:
  // All orders of one price on one side: a FIFO through Order::previous/next. A level stays in its
  // book after its last order has left it, for the next order of its price, unless it was the best
  // level.
  struct alignas(64) Level {
    Price price;  // 0: for market orders; below: in no book
    Int128 shares_units;
    // with orders: these; without: the levels of the side that became empty before and after this
    // one
    std::uint32_t first, last;
    std::uint32_t orders;
    SymbolNumber symbol;
    Side side;
  };
  static_assert(sizeof(Level) == 64);
  // A side keeps at most empty_levels_max levels without orders, and at most empty_levels_spare
  // more than it has with orders.
  static constexpr std::uint32_t empty_levels_max = 1'000, empty_levels_spare = 4;
  // One cache line has the fields that matching uses; a second pool has the others.
  struct alignas(64) Order {
    OrderId id;
    Shares open;
    Price limit;
    AccountNumber account;
    SymbolNumber symbol;
    std::uint32_t level;
    // neighbours in the level; once closed, `next` runs through the closed orders
    std::uint32_t previous, next;
    std::uint32_t first_execution, last_execution;
    Side side;
    std::uint8_t dirty;  // belongs to ChangeSet
    OrderId place;       // OrderRow::place
    std::uint64_t position_key() const { return Ledger::key(account, symbol); }
  };
  static_assert(sizeof(Order) == 64);
  struct History {
    Shares shares;  // OrderRow::shares
    Timestamp opened_at;
    Shares canceled;
    Timestamp canceled_at;
  };

  explicit Books(std::uint64_t hash_seed) : open_orders_(hash_seed) {}

  // Orders, levels and executions get their memory from `pages`, if it has any. It must outlive
  // this.
  void take_pages_from(PageSource& pages);

  Order& order(std::uint32_t index) { return orders_[index]; }
  const Order& order(std::uint32_t index) const { return orders_[index]; }
  History& history(std::uint32_t index) { return histories_[index]; }
  const History& history(std::uint32_t index) const { return histories_[index]; }
  Level& level(std::uint32_t index) { return levels_[index]; }
  const Level& level(std::uint32_t index) const { return levels_[index]; }
  // Its best level has orders; levels behind the best one may have none.
  const PriceIndex& side(SymbolNumber symbol, Side side) const {
    return symbols_[symbol].sides[int(side)].levels;
  }
  std::uint32_t find(OrderId id) const { return order_index_.find(id); }
  [[gnu::always_inline]] void prefetch(OrderId id) const { order_index_.prefetch(id); }
  // Both fill a new status. They list at most listed_executions_max executions, from number `from`
  // on.
  void list_executions(std::uint32_t index, Status& status, std::uint64_t from = 1) const;
  void read_status(std::uint32_t index, Status& status, std::uint64_t from) const;

  std::size_t open() const { return open_; }
  std::size_t in_memory() const { return orders_.used(); }
  std::size_t executions() const { return executions_.used(); }
  std::size_t bytes() const {  // of orders and levels
    return orders_.used() * (sizeof(Order) + sizeof(History)) + levels_.used() * sizeof(Level);
  }
  // Counts pages of the index of ids: each takes the memory of some 12 orders (resource_plan.cpp).
  std::size_t index_pages() const { return order_index_.pages(); }
  const OpenOrders& open_orders() const { return open_orders_; }
  // Builds the index of open orders if it is not in use yet.
  const OpenOrders& use_open_orders();

  // A rank orders prices: the best of a side has the highest. 0 stands for market orders, which
  // come before all others.
  static std::int64_t rank(Side side, Price price) {
    if (side == Side::sell) return -price.units();
    return price == Price() ? std::numeric_limits<std::int64_t>::max() : price.units();
  }
  // Returns the rank of the last level of makers that an order with this limit may reach.
  static std::int64_t worst_rank(Side maker_side, Price limit) {
    return limit == Price() ? std::numeric_limits<std::int64_t>::min() : rank(maker_side, limit);
  }

  void add_symbol() { symbols_.emplace_back(); }
  // Returns true if `missing` shares rest at the order's limit or better, within the reach of a
  // fill-or-kill order, in orders with which `self_trade` lets the account trade (E3, E5, E16).
  bool can_execute(const PlaceOrder& placed, AccountNumber account, SymbolNumber symbol,
                   Shares missing, SelfTrade self_trade) const;
  // Adds an order that is in no book yet, without executions. The id must be new.
  std::uint32_t add(OrderId id, AccountNumber account, SymbolNumber symbol,
                    const PlaceOrder& placed, Timestamp now) {
    return add({.id = id,
                .account = account,
                .symbol = symbol,
                .side = placed.side,
                .shares = placed.shares,
                .limit = placed.limit,
                .open = placed.shares,
                .opened_at = now,
                .place = id});
  }
  [[gnu::always_inline]] std::uint32_t add(const OrderRow& row) {
    const std::uint32_t index = orders_.allocate();
    Order& order = orders_[index];
    order.id = row.id;
    order.open = row.open;
    order.limit = row.limit;
    order.account = row.account;
    order.symbol = row.symbol;
    order.first_execution = order.last_execution = no_index;
    order.side = row.side;
    order.dirty = 0;
    order.place = row.place;
    History& history = histories_.grow_to(index);
    history.shares = row.shares;
    history.opened_at = row.opened_at;
    history.canceled = row.canceled;
    history.canceled_at = row.canceled_at;
    order_index_.insert(row.id, index);
    return index;
  }
  // Copies field by field: a copy of the row in wide loads would wait for the stores of its fields.
  void read_row(std::uint32_t index, OrderRow& row) const {
    const Order& order = orders_[index];
    const History& history = histories_[index];
    row.id = order.id;
    row.account = order.account;
    row.symbol = order.symbol;
    row.side = order.side;
    row.shares = history.shares;
    row.limit = order.limit;
    row.open = order.open;
    row.canceled = history.canceled;
    row.opened_at = history.opened_at;
    row.canceled_at = history.canceled_at;
    row.place = order.place;
  }
  // Puts the order behind the others of its price. `expected_level` is where its level is, or was;
  // or no_index.
  void rest(std::uint32_t index, std::uint32_t expected_level = no_index);
  // Takes a resting order out of its book, with all its open shares.
  void take_out(std::uint32_t index) {
    levels_[orders_[index].level].shares_units -= orders_[index].open.units();
    unlink(index);
  }
  // Does the same if nothing is open any more, and the level's shares no longer include it.
  void unlink(std::uint32_t index);
  // Closes an order that is in no book and has nothing open.
  void close(std::uint32_t index);
  ClosedMark closed() const { return closed_; }
  // Frees the orders that closed up to `mark`, at most `orders_max` of them. Returns true if these
  // were all. Calls on_release(account, number of its executions) for each.
  template <class OnRelease>
  bool release_closed(ClosedMark mark, std::size_t orders_max, OnRelease on_release) {
    ENSURE(mark <= closed_);
    for (; released_ < mark; ++released_) {
      if (orders_max-- == 0) return false;
      const AccountNumber account = orders_[closed_first_].account;
      on_release(account, release_first());
    }
    return true;
  }

  // Adds an execution to one order, or to the two orders of it.
  void add_execution(const Execution& execution, Order& order) {
    add_to(order, new_execution(execution, 1));
  }
  void add_execution(const Execution& execution, Order& buy, Order& sell) {
    const std::uint32_t record = new_execution(execution, 2);
    add_to(buy, record);
    add_to(sell, record);
  }

  // The holdings of the orders in memory, for check_invariants() (image.hpp) to compare with the
  // ledger.
  struct Held {
    explicit Held(const Ledger& ledger)
        : shares(ledger.symbols()), open_orders(ledger.accounts()), executions(ledger.accounts()) {}
    UInt128 cash = 0;             // reserved by buys
    bool too_much = false;        // forged rows can hold amounts whose sum wraps
    std::vector<UInt128> shares;  // reserved by sells, by symbol
    std::vector<std::uint32_t> open_orders, executions;  // by account
    void add_cash(Cash amount) {
      too_much |= __builtin_add_overflow(cash, UInt128(amount.units()), &cash);
    }
  };
  // Returns an empty text if every index, list and count agrees and no book of a symbol that trades
  // is crossed; else a sentence that names the first violation. Adds to `held`. Takes O(orders)
  // time.
  std::string check(const Ledger& ledger, Held& held) const;

 private:
  struct BookSide {
    PriceIndex levels;
    std::uint32_t with_orders = 0, empty = 0;                   // numbers of its levels
    std::uint32_t first_left = no_index, last_left = no_index;  // of the levels without orders
    std::uint32_t empty_max() const {
      return std::min(with_orders + empty_levels_spare, empty_levels_max);
    }
  };
  struct Symbol {
    BookSide sides[2];
  };
  // One record that is in the lists of both its orders.
  struct ExecutionRecord {
    Execution execution;
    std::uint32_t next[2];  // by side of the order whose list is walked
    std::uint32_t holders;
  };

  std::uint32_t new_execution(const Execution& execution, std::uint32_t holders) {
    const std::uint32_t record = executions_.allocate();
    ExecutionRecord& added = executions_[record];
    added.execution.shares = execution.shares;
    added.execution.price = execution.price;
    added.execution.time = execution.time;
    added.next[0] = added.next[1] = no_index;
    added.holders = holders;
    return record;
  }
  void add_to(Order& order, std::uint32_t execution) {
    if (order.first_execution == no_index)
      order.first_execution = execution;
    else
      executions_[order.last_execution].next[int(order.side)] = execution;
    order.last_execution = execution;
  }
  template <class Visit>
  void for_each_execution(const Order& order, Visit visit) const {
    for (std::uint32_t at = order.first_execution; at != no_index;
         at = executions_[at].next[int(order.side)])
      visit(at);
  }
  // Calls visit(index) for each resting order.
  template <class Visit>
  void for_each_resting(Visit visit) const {
    for (const Symbol& symbol : symbols_)
      for (const BookSide& side : symbol.sides)
        side.levels.for_each([&](std::uint32_t level) {
          if (levels_[level].orders == 0) return;
          for (std::uint32_t at = levels_[level].first; at != no_index; at = orders_[at].next)
            visit(at);
        });
  }
  std::uint32_t release_first();
  // Call it after the last order has left the level.
  void leave_empty(std::uint32_t level, BookSide& side);
  // Call it if the level gets an order or leaves its book.
  void take_from_empty(const Level& level, BookSide& side);
  void remove_empty(std::uint32_t level, BookSide& side);
  void release_level(std::uint32_t level);
  const char* check_side(SymbolNumber number, Side side, Price market_price, Held& held) const;
  const char* check_level(std::uint32_t index, SymbolNumber number, Side side, Price market_price,
                          Held& held) const;

  std::vector<Symbol> symbols_;  // by number
  OpenOrders open_orders_;
  IdIndex order_index_;
  Pool<Order> orders_;
  PageArray<History> histories_;  // by index of the order
  Pool<Level> levels_;
  Pool<ExecutionRecord> executions_;
  std::size_t open_ = 0;
  // Closed orders, oldest first, until released.
  std::uint32_t closed_first_ = no_index, closed_last_ = no_index;
  ClosedMark closed_ = 0, released_ = 0;
};

}  // namespace exchange
