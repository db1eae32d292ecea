#pragma once
// Exchange owns all accounts, positions and books and applies one command at a time.
// Deterministic: the same commands and times give the same state, outcomes and changes. Recovery,
// audit and simulation depend on that.
// Memory: accounts, positions, open orders, and closed orders until release_closed().
// Thread: one at a time (the core thread). No I/O, no clock, no threads.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/commands.hpp"
#include "engine/flat_map.hpp"
#include "engine/limits.hpp"
#include "engine/open_orders.hpp"
#include "engine/pool.hpp"
#include "engine/price_index.hpp"
#include "engine/references.hpp"
#include "engine/rows.hpp"

namespace exchange {

// More orders than a year gives at a hundred thousand a second. Larger ids in tables mean that the
// store is damaged.
inline constexpr OrderId order_ids_max = OrderId(1) << 42;

// A fill-or-kill order reaches so many prices, or orders where it may not trade with its own
// account (E3, E16): else one that cannot be filled would cost a walk through the whole book.
inline constexpr unsigned fill_or_kill_reach = 1'000;

// One CancelAll cancels so many orders at most, and none after so many executions were listed
// (E18).
inline constexpr std::size_t canceled_orders_max = 1'000, canceled_executions_max = 100'000;

// The number of orders that have closed since the start of the process.
using ClosedMark = std::uint64_t;

class Exchange {
 public:
  // `hash_seed` seeds the hash tables and changes no outcome; a server draws it at random.
  explicit Exchange(std::uint64_t hash_seed = 0)
      : account_ids_(hash_seed),
        symbol_names_(hash_seed),
        positions_(hash_seed),
        references_(hash_seed),
        open_orders_(hash_seed) {}
  // Restores the state from its rows: open orders in order of place; their executions, and the
  // newest references of each account, in order of id; accounts and symbols in order of number.
  // Throws std::runtime_error, which names the row, if the rows contradict each other.
  explicit Exchange(const Rows& image, std::uint64_t hash_seed = 0);
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  // From now on, refuses what would pass them. Without: none.
  void set_limits(const StateLimits& limits) { limits_ = limits; }

  // Each returns Rejected with a reason if the command is refused; a refusal changes nothing.
  // `now` must not decrease. What creates something, opens an order or executes one is also refused
  // at a limit of the state: too_many_...

  // Created. Refused: account_exists; cash_total_overflow, so that no balance can ever overflow.
  Outcome apply(const CreateAccount& command, Timestamp now);
  // Created, also if the symbol exists.
  Outcome apply(const CreateSymbol& command, Timestamp now);
  // Created; 0 shares as CreateSymbol. Refused: unknown_account; shares_total_overflow (2^63 units
  // of one symbol in all).
  Outcome apply(const PlaceShares& command, Timestamp now);
  // Reserves funds or shares, matches, then rests the remainder (docs/protocol.md, M1 to M11).
  // A buy of a symbol that does not exist creates it, without shares, unless symbol_must_exist. A
  // market buy reserves nothing and pays as it executes (E11).
  // Opened; OpenedBefore. Refused: unknown_account, reference_used, unknown_symbol,
  // insufficient_funds, insufficient_shares.
  Outcome apply(const PlaceOrder& command, Timestamp now) { return place(command, now, {}); }
  // Releases what is reserved for the open part. Canceled. Refused: unknown_account, unknown_order
  // (also for another account's order), nothing_open. NotInMemory if the order may be in the
  // tables.
  Outcome apply(const CancelOrder& command, Timestamp now) { return cancel(command, now, {}); }
  // Reserves for the new open part and releases the old one. An order that loses its place is
  // matched as if it arrived (E26 to E32). Replaced. Refused: as CancelOrder; other_side,
  // executed_more, insufficient_funds, insufficient_shares. NotInMemory as above.
  Outcome apply(const ReplaceOrder& command, Timestamp now);
  // As if each were canceled alone, the oldest first, as many as fit one outcome
  // (canceled_orders_max, canceled_executions_max). CanceledAll. Refused: unknown_account,
  // no_open_orders.
  Outcome apply(const CancelAll& command, Timestamp now);
  // Status. Refused: unknown_account, unknown_order (another account's, unless of_any_account).
  // NotInMemory as above. Changes nothing.
  Outcome apply(const QueryOrder& command, Timestamp now);
  Outcome apply(const Command& command, Timestamp now) { return apply(command, now, Located{}); }

  // The steps of LookAhead, which overlap the cache misses of a batch; none changes anything.
  // What locate() found is valid until release_closed(), but for its level, which may be outdated;
  // apply() looks up whatever locate() did not find.
  struct Located {
    AccountNumber account = no_index;
    SymbolNumber symbol = no_index;
    std::uint32_t order = no_index;
    // where an order to place would rest now, or the first level that it would be executed against
    std::uint32_t level = no_index;
    bool executes = false;
  };
  void prefetch_lookups(const Command& command) const;          // what locate() reads first
  void locate(const Command& command, Located& located) const;  // prefetches what it finds
  void prefetch_neighbours(const Located& located) const;
  void prefetch_maker(const Located& located) const;
  Outcome apply(const Command& command, Timestamp now, const Located& located);

  // Copies every row that changed since the last call into `rows` (overwritten), with its present
  // values. Returns the mark to pass to release_closed() once these rows are in the tables.
  ClosedMark take_changes(Rows& rows);
  // The same in steps, so that commands between them need not wait long: all but orders first, then
  // in each step up to `orders_max` orders, as they were at the beginning. Returns true once all
  // are in `rows`, which must be those of the beginning. The next hand-over begins after that.
  ClosedMark begin_hand_over(Rows& rows);
  bool continue_hand_over(Rows& rows, std::size_t orders_max);
  // Marks rows that take_changes() returned, and that are not in the tables, as changed again.
  void restore_changes(const Rows& rows);
  // Number of rows that take_changes() would copy now, or those that changed since a hand-over
  // began.
  std::size_t changed_rows() const;
  // Frees the orders that closed up to `mark`, at most `orders_max` of them, and returns whether
  // these were all.
  bool release_closed(ClosedMark mark,
                      std::size_t orders_max = std::numeric_limits<std::size_t>::max());

  const Totals& totals() const { return totals_; }
  // Orders canceled by the terms of an order since this object was made; no part of the state.
  struct TermCancels {
    std::uint64_t immediate = 0;   // what was left of ioc and market orders
    std::uint64_t self_trade = 0;  // resting and arriving orders, by stp
  };
  const TermCancels& term_cancels() const { return term_cancels_; }
  std::size_t accounts() const { return accounts_.size(); }
  std::size_t symbols() const { return symbols_.size(); }
  std::size_t open_orders() const { return open_order_count_; }
  std::size_t orders_in_memory() const { return orders_.used(); }

  // Orders, levels and executions get their memory there, if it has any. `pages` outlives it.
  void take_pages_from(PageSource& pages);
  // Empty if cash + reserved cash = cash created, shares + reserved shares = shares created, no
  // book is crossed and every index agrees; else a sentence that names the first violation. Takes
  // time in O(state).
  std::string check_invariants() const;

  struct Depth {
    Price price;
    Int128 shares_units;  // wide: many orders at a tiny price may pass 2^63 units
    std::uint32_t orders;
    bool operator==(const Depth&) const = default;
  };
  // Levels of one side, best first; empty if the symbol is unknown.
  std::vector<Depth> depth(const SymbolName& symbol, Side side) const;
  // The free part, without reservations; zero if the account or symbol is unknown.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;

 private:
  struct Account {
    Cash balance;
    std::uint32_t open_orders = 0;
    std::uint32_t executions = 0;  // of its orders in memory
    bool dirty = false;
  };
  // One word, so that four with their keys fill a cache line.
  class Position {
   public:
    Shares shares() const { return Shares::from_units(std::int64_t(word_ >> 1)); }
    bool dirty() const { return word_ & 1; }
    void set_shares(Shares shares) {
      ENSURE(shares >= Shares());
      word_ = std::uint64_t(shares.units()) << 1 | (word_ & 1);
    }
    void set_dirty(bool dirty) { word_ = (word_ & ~std::uint64_t(1)) | dirty; }

   private:
    std::uint64_t word_ = 0;  // units of shares, then one bit: changed since a hand-over began
  };
  struct Symbol {
    PriceIndex sides[2];
    Shares shares_total;
    bool dirty = false;
  };
  // All orders of one price on one side: a FIFO through Order::previous/next.
  struct alignas(64) Level {
    Price price;
    Int128 shares_units;
    std::uint32_t first, last;
    std::uint32_t orders;  // 0: in no book
    SymbolNumber symbol;
  };
  static_assert(sizeof(Level) == 64);
  // One cache line for what matching touches, a second pool for the rest.
  struct alignas(64) Order {
    OrderId id;
    Shares open;
    Price limit;
    AccountNumber account;
    SymbolNumber symbol;
    std::uint32_t level;
    // in the level; once closed, `next` runs through the closed orders
    std::uint32_t previous, next;
    std::uint32_t first_execution, last_execution;
    Side side;
    std::uint8_t dirty;  // 0, or dirty_mark_ when it changed
    OrderId place;       // OrderRow::place
  };
  static_assert(sizeof(Order) == 64);
  struct OrderHistory {
    Shares shares;  // OrderRow::shares
    Timestamp opened_at;
    Shares canceled;
    Timestamp canceled_at;
  };
  // One record in the lists of both its orders.
  struct ExecutionRecord {
    Execution execution;
    std::uint32_t next[2];  // by side of the order whose list is walked
    std::uint32_t holders;
  };

  static std::int64_t rank(Side side, Price price) {
    return side == Side::buy ? price.units() : -price.units();
  }
  static std::uint64_t position_key(AccountNumber account, SymbolNumber symbol) {
    return std::uint64_t(account) << 32 | symbol;
  }
  static AccountNumber account_of(std::uint64_t key) { return AccountNumber(key >> 32); }
  static SymbolNumber symbol_of(std::uint64_t key) { return SymbolNumber(key); }
  // Adds to a position; makes it if there is none.
  void add_to_position(AccountNumber account, SymbolNumber symbol, Shares shares);
  void set_position(Position& position, std::uint64_t key, Shares shares);
  SymbolNumber add_symbol(const SymbolName& name);
  AccountNumber find_account(const AccountId& id, const Located& located) const {
    return located.account != no_index ? located.account : account_ids_.find(id);
  }
  // The order's index; or no_index, and the refusal that query, cancel and replace share.
  template <class OfOrder>
  std::uint32_t find_order(const OfOrder& command, const Located& located, bool of_any_account,
                           Outcome& refusal) const;

  bool has_place_for_symbol() const { return symbols_.size() < limits_.symbols_max; }
  bool has_place_for_position(AccountNumber account, SymbolNumber symbol) const;
  // Open orders among ids that are given long since take a page of the index each. A page has the
  // memory of some 12 orders (memory_plan.cpp).
  bool index_is_sparse() const {
    return order_index_.pages() > 64 && order_index_.pages() > limits_.open_orders_max / 12;
  }
  std::optional<Rejected> check_limits(const PlaceOrder& command, AccountNumber account,
                                       SymbolNumber symbol) const;
  // What would be executed at once is refused at a limit of executions.
  std::optional<Rejected> check_executions(Side side, Price limit, SymbolNumber symbol) const;
  Outcome place(const PlaceOrder& command, Timestamp now, const Located& located);
  Outcome cancel(const CancelOrder& command, Timestamp now, const Located& located);
  // Whether so many shares rest at the order's limit or better, as far as a fill-or-kill order
  // reaches, and where `self_trade` lets it trade (E3, E5, E16).
  bool can_execute(const PlaceOrder& command, AccountNumber account, SymbolNumber symbol,
                   Shares missing, SelfTrade self_trade) const;
  // What matching of the order leaves open may rest, unless false is returned.
  bool match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now);
  // The rank of the last level on the other side that the order may reach.
  static std::int64_t worst_rank(Side maker_side, Price limit) {
    return limit == Price() ? std::numeric_limits<std::int64_t>::min() : rank(maker_side, limit);
  }
  void execute(Order& taker, Order& maker, Shares shares, Timestamp now);
  void record_execution(Order& order, std::uint32_t execution);
  std::uint32_t add_order(const Order& order, const OrderHistory& history);
  // `expected_level`: what locate() found, if it did; it may be outdated.
  void rest(std::uint32_t index, std::uint32_t expected_level = no_index);
  // Takes an order with open shares out of its book.
  void take_out(std::uint32_t index);
  void cancel_resting(std::uint32_t index, Timestamp now);
  void cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now);
  // What is open of an order that is in no book becomes canceled, and its reservation is given
  // back.
  void cancel_open(std::uint32_t index, Timestamp now);
  void unlink(std::uint32_t index);
  void start_use_of_open_orders();
  void close(std::uint32_t index);
  Status status(std::uint32_t index, std::uint64_t from = 1) const;

  template <class Entity>
  static void mark(Entity& entity, std::uint32_t index, std::vector<std::uint32_t>& dirty) {
    if (entity.dirty) return;
    entity.dirty = true;
    dirty.push_back(index);
  }
  void mark_dirty(AccountNumber account) { mark(accounts_[account], account, dirty_accounts_); }
  void mark_symbol_dirty(SymbolNumber symbol) { mark(symbols_[symbol], symbol, dirty_symbols_); }
  void mark_order_dirty(std::uint32_t index) {  // before it changes
    Order& order = orders_[index];
    if (order.dirty == dirty_mark_) return;
    if (order.dirty != 0) copy_order(index);
    order.dirty = dirty_mark_;
    dirty_orders_.push_back(index);
  }
  void copy_order(std::uint32_t index);
  void update_digest(Timestamp now, std::uint64_t what, std::uint64_t a, std::uint64_t b) {
    totals_.last_time = now;
    const std::uint64_t mixed = (totals_.digest ^ a) * 0x9e3779b97f4a7c15u ^ (b + what);
    totals_.digest = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u ^ std::uint64_t(now.microseconds);
  }

  Interner<AccountId> account_ids_;
  std::vector<Account> accounts_;
  Interner<SymbolName> symbol_names_;
  std::vector<Symbol> symbols_;
  FlatMap<Position> positions_;  // by position_key()
  References references_;
  OpenOrders open_orders_;
  IdIndex order_index_;
  Pool<Order> orders_;
  Chunks<OrderHistory> histories_;  // by index of the order
  Pool<Level> levels_;
  Pool<ExecutionRecord> executions_;
  Totals totals_;
  StateLimits limits_;
  std::size_t open_order_count_ = 0;
  TermCancels term_cancels_;

  // Closed orders, oldest first, until released.
  std::uint32_t closed_first_ = no_index, closed_last_ = no_index;
  ClosedMark closed_ = 0, released_ = 0;

  // Changed since a hand-over began: numbers, indices and keys, each once; executions are always
  // new.
  std::vector<std::uint32_t> dirty_accounts_, dirty_symbols_, dirty_orders_;
  // The orders of a hand-over, those copied so far, and the next one to copy. dirty_mark_ is 1 or
  // 2, the other one in the next hand-over.
  std::vector<std::uint32_t> handed_orders_;
  std::vector<OrderRow> copied_orders_;
  std::size_t next_handed_ = 0;
  std::uint8_t dirty_mark_ = 1;
  std::vector<std::uint64_t> dirty_positions_;
  std::vector<ExecutionRow> new_executions_;
  std::vector<AccountKeyRow> new_account_keys_;  // as they came; the engine keeps none
  std::vector<ReferenceRow> new_references_;
  std::vector<ReplacementRow> new_replacements_;
};

}  // namespace exchange
