#pragma once
// Exchange applies one command at a time. It hands the command to the type that knows its rules:
//   Orders      places, matches, replaces, cancels and finds orders
//   TradingDay  rules of symbols, halts, auctions
//   Accounts    creations, and what the operator changes; rounds
// They check the command (LimitChecks), then move cash and shares (Settlement). ExchangeState is
// the state that they share: Ledger has accounts, symbols and positions; Books the orders;
// References the clients' references of orders; ChangeSet the changes since the last hand-over of
// rows. Invariants (check_invariants() tests 2 to 4):
// 1. The same commands and times give the same state, outcomes, changes and digest (digest.hpp).
//    Recovery, standby, audit and simulation depend on that.
// 2. Cash of accounts and cash reserved by open buys add up to the cash that was created; the same
//    holds for shares. No balance is negative.
// 3. No book is crossed while its symbol is open: the best bid is below the best ask.
// 4. Every index agrees with the data that it indexes.
// 5. A command that is refused changes nothing.
// Memory: accounts, positions, open orders, and closed orders until release_closed(), which the
// server calls once its tables have them. A program without tables uses StandaloneExchange
// (standalone_exchange.hpp), which calls it itself.
// Thread: one at a time (the core thread). No I/O, no clock, no threads.

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/exchange_state.hpp"
#include "engine/image.hpp"

namespace exchange {

class Exchange {
 public:
  // `hash_seed` seeds the hash tables and changes no outcome; a server draws it at random.
  explicit Exchange(std::uint64_t hash_seed = 0) : state_(hash_seed) {}
  // Restores the state from its rows, as load_image() does.
  explicit Exchange(const Rows& image, std::uint64_t hash_seed = 0) : state_(hash_seed) {
    load_image(image, state_);
  }
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  // Later commands belong to this batch of the journal; events name it.
  void begin_batch(BatchNumber batch) { state_.batch = batch; }
  // After this call, commands that would exceed the limits are refused. By default there are no
  // limits.
  void set_limits(const StateLimits& limits) { state_.limits = limits; }

  // Returns Rejected with a reason if the command is refused; a refusal changes nothing. The types
  // that apply commands (above) document the other outcomes. `now` must not decrease.
  Outcome apply(const Command& command, Timestamp now, const Located& located = {},
                DoorPolicy policy = {});

  // Returns the approximate number of bytes that commands may touch.
  std::size_t working_set() const {
    return state_.books.bytes() + state_.ledger.accounts() * sizeof(Ledger::Account) +
           state_.ledger.positions() * 2 * sizeof(std::uint64_t[2]);
  }

  // Copies every row that changed since the last call into `rows` (overwritten), with its current
  // values. Returns the mark to pass to release_closed() once these rows are in the tables.
  ClosedMark take_changes(Rows& rows);
  // Does the same in steps, so that commands between them need not wait long: all rows but orders
  // first, then in each step up to `orders_max` orders, as they were at the beginning. Returns true
  // once all are in `rows`, which must be the object passed at the beginning. The next hand-over
  // begins after that.
  ClosedMark begin_hand_over(Rows& rows);
  bool continue_hand_over(Rows& rows, std::size_t orders_max);
  // Marks rows that take_changes() returned, and that are not in the tables, as changed again.
  void restore_changes(const Rows& rows);
  // Returns the number of rows that take_changes() would copy now, or of those that changed since a
  // hand-over began.
  std::size_t changed_rows() const { return state_.changes.size(); }
  // Return the rows of these kinds among them, oldest first. Valid until the next command; a
  // hand-over removes them.
  std::span<const EventRow> new_events() const { return state_.changes.events; }
  std::span<const ReferenceRow> new_references() const { return state_.changes.references; }
  // Frees the orders that closed up to `mark`, at most `orders_max` of them. Returns true if these
  // were all.
  bool release_closed(ClosedMark mark,
                      std::size_t orders_max = std::numeric_limits<std::size_t>::max());

  // For code that looks ahead of a command.
  const ExchangeState& state() const { return state_; }
  const Totals& totals() const { return state_.totals; }
  const TermCancels& term_cancels() const { return state_.term_cancels; }
  std::size_t accounts() const { return state_.ledger.accounts(); }
  std::size_t symbols() const { return state_.ledger.symbols(); }
  std::size_t open_orders() const { return state_.books.open(); }
  std::size_t orders_in_memory() const { return state_.books.in_memory(); }

  // Orders, levels and executions get their memory from `pages`, if it has any. It must outlive
  // this.
  void take_pages_from(PageSource& pages) { state_.books.take_pages_from(pages); }
  // Returns what check_invariants() of image.hpp returns: empty, or the first violation.
  std::string check_invariants() const { return exchange::check_invariants(state_); }

  struct Depth {
    Price price;
    Int128 shares_units;  // wide: many orders at a tiny price may pass 2^63 units
    std::uint32_t orders;
    bool operator==(const Depth&) const = default;
  };
  // Returns the levels of one side, best first; empty if the symbol is unknown.
  std::vector<Depth> depth(const SymbolName& symbol, Side side) const;
  // Returns the order as it is now; nothing if it is not in memory: it never existed, or was
  // released.
  std::optional<OrderRow> order(OrderId id) const;
  // Returns the level of this price; it has 0 orders if none rests there.
  Depth depth_at(const SymbolName& symbol, Side side, Price price) const;
  // Returns nothing if no order rests on that side.
  std::optional<Price> best_price(const SymbolName& symbol, Side side) const;
  // Returns the executions after `id`, oldest first. These are those of one command if `id` was
  // totals().executions before it. `id` must be at most the current value. Valid until the next
  // command; a hand-over removes them.
  std::span<const ExecutionRow> executions_after(ExecutionId id) const;
  std::vector<SymbolRow> symbol_rows() const;  // as they are now, by number
  // Return the free part, without reservations; zero if the account or symbol is unknown.
  Cash balance(const AccountId& account) const;
  Shares position(const AccountId& account, const SymbolName& symbol) const;

 private:
  ExchangeState state_;
};

}  // namespace exchange
