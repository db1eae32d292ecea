#pragma once
// Exchange applies one command at a time: it checks it, matches, and settles what is executed. Its
// parts own the state: Ledger accounts, symbols and positions; Books the orders; References the
// names of orders; ChangeSet what changed since the last hand-over of rows.
// Invariants (check_invariants() tests 2 to 4):
// 1. The same commands and times give the same state, outcomes, changes and digest (digest.hpp).
//    Recovery, standby, audit and simulation depend on that.
// 2. Cash of accounts and cash reserved by open buys are together the cash that was created; shares
//    likewise. No balance is negative.
// 3. No book is crossed while its symbol is open: the best bid is below the best ask.
// 4. Every index agrees with what it is an index of.
// 5. A command that is refused changes nothing.
// Memory: accounts, positions, open orders, and closed orders until release_closed(), which the
// server calls once its tables have them. A program without tables uses StandaloneExchange
// (standalone_exchange.hpp), which does so by itself.
// Thread: one at a time (the core thread). No I/O, no clock, no threads.

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/books.hpp"
#include "engine/change_set.hpp"
#include "engine/commands.hpp"
#include "engine/digest.hpp"
#include "engine/ledger.hpp"
#include "engine/limits.hpp"
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

// What a command names, as far as locate() of the same Exchange found it; apply() looks up the
// rest. Accounts and symbols have their numbers for ever; an order's index is valid until
// release_closed(); a level may be outdated.
struct Located {
  AccountNumber account = no_index;
  SymbolNumber symbol = no_index;
  std::uint32_t order = no_index;
  // where an order to place would rest now, or the first level that it would be executed against
  std::uint32_t level = no_index;
  bool executes = false;
};

class Exchange {
 public:
  // `hash_seed` seeds the hash tables and changes no outcome; a server draws it at random.
  explicit Exchange(std::uint64_t hash_seed = 0)
      : ledger_(hash_seed), books_(hash_seed), references_(hash_seed) {}
  // Restores the state from its rows: open orders in order of place; their executions, and the
  // newest references of each account, in order of id; accounts and symbols in order of number.
  // Throws std::runtime_error, which names the row, if the rows contradict each other.
  explicit Exchange(const Rows& image, std::uint64_t hash_seed = 0);
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  // What follows belongs to this batch of the journal; events name it.
  void begin_batch(BatchNumber batch) { batch_ = batch; }
  // From now on, refuses what would pass them. Without: none.
  void set_limits(const StateLimits& limits) { limits_ = limits; }

  // Each returns Rejected with a reason if the command is refused; a refusal changes nothing.
  // `now` must not decrease. What creates something, opens an order or executes one is also refused
  // at a limit of the state: too_many_...

  // Created. Refused: account_exists; cash_total_overflow, so that no balance can ever overflow.
  Outcome apply(const CreateAccount& command, Timestamp now);
  // Created, also if the symbol exists.
  Outcome apply(const CreateSymbol& command, Timestamp now);
  // Created; Uncrossed where one symbol became open and its auction executed orders (A4). Refused:
  // unknown_symbol, inverted_prices, in_auction. Orders that rest stay as they are.
  Outcome apply(const SetInstrument& command, Timestamp now);
  // Created, also if they are recorded already. Refused: unknown_account.
  Outcome apply(const RecordEvents& command, Timestamp now);
  // Created. Refused: unknown_account.
  Outcome apply(const SetKey& command, Timestamp now);
  Outcome apply(const SetAccount& command, Timestamp now);
  // Created. Refused: unknown_account; insufficient_funds, of what is free; cash_total_overflow.
  Outcome apply(const AdjustCash& command, Timestamp now);
  // Created. Refused: unknown_account, unknown_symbol; insufficient_shares, of what is free;
  // shares_total_overflow; too_many_positions.
  Outcome apply(const AdjustShares& command, Timestamp now);
  // Created.
  Outcome apply(const BeginRound& command, Timestamp now);
  // Created; 0 shares as CreateSymbol. Refused: unknown_account; shares_total_overflow (2^63 units
  // of one symbol in all).
  Outcome apply(const PlaceShares& command, Timestamp now);
  // Reserves funds or shares, matches, then rests the remainder (docs/protocol.md, M1 to M11).
  // A buy of a symbol that does not exist creates it, without shares, unless the policy refuses. A
  // market buy reserves nothing and pays as it executes (E11), but in an auction (A3).
  // Opened; OpenedBefore. Refused: unknown_account, reference_used, unknown_symbol,
  // insufficient_funds, insufficient_shares, cannot_fill, would_execute,
  // and those of SetInstrument and StateLimits.
  Outcome apply(const PlaceOrder& command, Timestamp now, const Located& located = {},
                DoorPolicy policy = {});
  // Releases what is reserved for the open part. Canceled. Refused: unknown_account, unknown_order
  // (also for another account's order), nothing_open. NotInMemory if the order may be in the
  // tables.
  Outcome apply(const CancelOrder& command, Timestamp now, const Located& located = {});
  // Reserves for the new open part and releases the old one. An order that loses its place is
  // matched as if it arrived (E26 to E32). Replaced. Refused: as CancelOrder; other_side,
  // executed_more, insufficient_funds, insufficient_shares, and those of SetInstrument. NotInMemory
  // as above.
  Outcome apply(const ReplaceOrder& command, Timestamp now, const Located& located = {});
  // As if each were canceled alone, the oldest first, as many as fit one outcome
  // (canceled_orders_max, canceled_executions_max). CanceledAll. Refused: unknown_account,
  // no_open_orders.
  Outcome apply(const CancelAll& command, Timestamp now);
  // Status. Refused: unknown_account, unknown_order (another account's, unless queries are open).
  // NotInMemory as above. Changes nothing.
  Outcome apply(const QueryOrder& command, Timestamp now, DoorPolicy policy = {});
  Outcome apply(const Command& command, Timestamp now, const Located& located = {},
                DoorPolicy policy = {});

  // Bytes that commands may touch, roughly.
  std::size_t working_set() const {
    return books_.bytes() + ledger_.accounts() * sizeof(Ledger::Account) +
           ledger_.positions() * 2 * sizeof(std::uint64_t[2]);
  }
  // The steps of LookAhead, which overlap the cache misses of a batch; none changes anything.
  void prefetch_lookups(const Command& command) const;          // what locate() reads first
  void locate(const Command& command, Located& located) const;  // prefetches what it finds
  void prefetch_neighbours(const Located& located) const;
  void prefetch_maker(const Located& located) const;

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
  std::size_t changed_rows() const { return changes_.size(); }
  // Whether there are events of accounts among them.
  bool has_new_events() const { return !changes_.events.empty(); }
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
  std::size_t accounts() const { return ledger_.accounts(); }
  std::size_t symbols() const { return ledger_.symbols(); }
  std::size_t open_orders() const { return books_.open(); }
  std::size_t orders_in_memory() const { return books_.in_memory(); }

  // Orders, levels and executions get their memory there, if it has any. `pages` outlives it.
  void take_pages_from(PageSource& pages) { books_.take_pages_from(pages); }
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
  // As it is now. None if it is not in memory: it never existed, or it was released.
  std::optional<OrderRow> order(OrderId id) const;
  // The level of this price; 0 orders if none rests there.
  Depth depth_at(const SymbolName& symbol, Side side, Price price) const;
  // None if nothing rests on that side.
  std::optional<Price> best_price(const SymbolName& symbol, Side side) const;
  // The executions behind this one, oldest first: those of one command, if `id` was
  // totals().executions before it (at most the present one). Valid until the next command; a
  // hand-over takes them away.
  std::span<const ExecutionRow> executions_after(ExecutionId id) const;
  std::vector<SymbolRow> symbol_rows() const;  // as they are now, by number
  // The free part, without reservations; zero if the account or symbol is unknown.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;

 private:
  using Order = Books::Order;
  using Level = Books::Level;

  SymbolNumber add_symbol(const SymbolName& name);
  AccountNumber find_account(const AccountId& id, const Located& located) const {
    return located.account != no_index ? located.account : ledger_.find(id);
  }
  // The order's index; or no_index, and the refusal that query, cancel and replace share.
  template <class OfOrder>
  std::uint32_t find_order(const OfOrder& command, const Located& located, bool of_any_account,
                           Outcome& refusal) const;

  // --- what the operator sets of accounts (exchange_operator.cpp)
  // Whether the rules of the account refuse an order of so many shares, or a replace that makes
  // another one of `replaced`. Counts it.
  std::optional<Rejected> check_account(AccountNumber account, SymbolNumber symbol, Side side,
                                        Shares shares, Timestamp now,
                                        std::uint32_t replaced = no_index) {
    if (!ledger_.account(account).has_rules()) [[likely]]
      return {};
    return check_account_rules(account, symbol, side, shares, now, replaced);
  }
  void set_key(AccountNumber account, const KeyHash& key, Timestamp now);
  std::optional<Rejected> check_account_rules(AccountNumber account, SymbolNumber symbol, Side side,
                                              Shares shares, Timestamp now, std::uint32_t replaced);

  // --- instruments and auctions (exchange_trading_day.cpp)
  // Whether the instrument refuses an order, or what a replace would make of one.
  template <class OfOrder>
  std::optional<Rejected> check_instrument(SymbolNumber symbol, const OfOrder& order) const {
    if (symbol == no_index || !ledger_.symbol(symbol).restricted) [[likely]]
      return {};
    return check_rules(ledger_.symbol(symbol), order);
  }
  template <class OfOrder>  // PlaceOrder or ReplaceOrder
  static std::optional<Rejected> check_rules(const Ledger::Symbol& symbol, const OfOrder& order);
  // The price up to, or down to, which an order of that side may go; 0: any.
  static Price band_limit(const Ledger::Symbol& symbol, Side side);
  static bool is_beyond_band(const Ledger::Symbol& symbol, Side side, Price limit);
  // Whether an order that the instrument does not refuse is collected for an auction: one that is
  // there, or that it starts.
  bool would_collect(SymbolNumber symbol, Side side, Price limit) const {
    const Ledger::Symbol& of = ledger_.symbol(symbol);
    if (!of.restricted) [[likely]]
      return false;
    return collects(of.instrument.trading) || is_beyond_band(of, side, limit);
  }
  // Such an order: starts the auction, unless it is there.
  void collect(SymbolNumber symbol, Timestamp now);
  // Of an order that rests: what a buy reserves for each share.
  Price reserved_price(const Order& order) const {
    if (order.limit != Price()) [[likely]]
      return order.limit;
    const Instrument& rules = ledger_.symbol(order.symbol).instrument;
    return collects(rules.trading) ? rules.price_max : Price();  // no market order rests otherwise
  }
  std::optional<Rejected> check_change(SymbolNumber symbol, const SetInstrument& command) const;
  Outcome set_instrument(SymbolNumber symbol, const SetInstrument& command, Timestamp now);
  // Executes what crosses at one price (A4 to A6).
  std::optional<Uncrossed> uncross(SymbolNumber symbol, Timestamp now);
  // The last price, if an order may have it as its limit; else 0.
  static Price auction_reference(const Ledger::Symbol& symbol);
  void cancel_market_orders(SymbolNumber symbol, Timestamp now);

  // --- limits of the state (exchange_limits.cpp)
  std::optional<Rejected> check_new_symbol(SymbolNumber symbol) const {
    if (symbol != no_index || ledger_.symbols() < limits_.symbols_max) [[likely]]
      return {};
    return Rejected{Reason::too_many_symbols, limits_.symbols_max};
  }
  std::optional<Rejected> check_new_position(AccountNumber account, SymbolNumber symbol) const {
    if (ledger_.positions() < limits_.positions_max &&
        books_.open_orders().keys() < limits_.positions_max) [[likely]]
      return {};
    if (has_position(account, symbol)) return {};
    return Rejected{Reason::too_many_positions, limits_.positions_max};
  }
  bool has_position(AccountNumber account, SymbolNumber symbol) const;
  std::optional<Rejected> check_limits(const PlaceOrder& command, AccountNumber account,
                                       SymbolNumber symbol, bool is_collected) const;
  // What would be executed at once is refused at a limit of executions.
  std::optional<Rejected> check_executions(Side side, Price limit, SymbolNumber symbol) const;

  // Whether so many shares rest at the order's limit or better, as far as a fill-or-kill order
  // reaches, and where `self_trade` lets it trade (E3, E5, E16).
  bool can_execute(const PlaceOrder& command, AccountNumber account, SymbolNumber symbol,
                   Shares missing, SelfTrade self_trade) const;
  // What matching of the order leaves open may rest, unless false is returned.
  bool match(std::uint32_t taker_index, SelfTrade self_trade, Timestamp now);
  // At the price of the auction; or at the maker's.
  void execute(Order& taker, Order& maker, Shares shares, std::optional<Price> of_auction,
               Timestamp now);
  // What of it was executed is no part of its level any more.
  void close_if_executed(std::uint32_t index);
  void rest(std::uint32_t index, std::uint32_t expected_level = no_index) {
    ++ledger_.account(books_.order(index).account).open_orders;
    books_.rest(index, expected_level);
  }
  void cancel_resting(std::uint32_t index, Timestamp now, EventKind kind);
  void cancel_resting(std::uint32_t index, Timestamp now, EventKind kind,
                      Status& status);  // as it is then
  void cancel_by_terms(std::uint32_t index, const PlaceOrder& command, Timestamp now);
  // What is open of an order that is in no book becomes canceled, and its reservation is given
  // back.
  void cancel_open(std::uint32_t index, Timestamp now, EventKind kind);
  void leave_book(const Order& order) { --ledger_.account(order.account).open_orders; }

  // If the events of the account are recorded. `event` has what depends on its kind.
  void record(AccountNumber account, SymbolNumber symbol, Timestamp now, const EventRow& event) {
    if (ledger_.account(account).events() != 0) [[unlikely]]
      add_event(account, symbol, now, event);
  }
  void record(const Order& order, Timestamp now, EventKind kind, Shares shares, Price price,
              ExecutionId execution = 0) {
    if (ledger_.account(order.account).events() != 0) [[unlikely]]
      add_event(order.account, order.symbol, now,
                {.kind = kind,
                 .order = order.id,
                 .side = order.side,
                 .shares = shares,
                 .price = price,
                 .open = order.open,
                 .execution = execution});
  }
  void add_event(AccountNumber account, SymbolNumber symbol, Timestamp now, EventRow event);

  auto read_row(std::uint32_t index) const {
    return [this, index](OrderRow& row) { books_.read_row(index, row); };
  }
  void mark_order(std::uint32_t index) {  // before it changes
    changes_.mark_order(books_.order(index), index, read_row(index));
  }
  void update_digest(Timestamp now, Digested what, std::uint64_t a, std::uint64_t b) {
    totals_.last_time = now;
    const std::uint64_t mixed =
        (totals_.digest ^ a) * 0x9e3779b97f4a7c15u ^ (b + std::uint64_t(what));
    totals_.digest = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u ^ std::uint64_t(now.microseconds);
  }

  Ledger ledger_;
  Books books_;
  References references_;
  ChangeSet changes_;
  Totals totals_;
  std::uint64_t rounds_ = 0;  // begun so far
  StateLimits limits_;
  TermCancels term_cancels_;
  BatchNumber batch_ = 0;
};

}  // namespace exchange
