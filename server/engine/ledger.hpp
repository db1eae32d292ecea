#pragma once
// Ledger owns accounts, symbols and positions: their names, the free cash and the free shares of
// each account, and the number of existing shares of each symbol. It does not contain what open
// orders reserve; Orders and Settlement move that in and out. It marks every change in the given
// ChangeSet.
// Owner: ExchangeState. Thread: that of the Exchange.

#include <unordered_map>
#include <vector>

#include "engine/change_set.hpp"
#include "engine/decimal.hpp"
#include "engine/flat_map.hpp"
#include "engine/ids.hpp"

namespace exchange {

class Ledger {
 public:
  struct Account {
    Cash balance;
    std::uint32_t open_orders = 0;
    std::uint32_t executions = 0;  // executions of its orders in memory
    // AccountRow::events, then two bits: the account has rules (account_rules()), and it changed
    // since a hand-over began. In one word, so that two accounts fill a line
    std::uint64_t events_and_marks = 0;
    EventNumber events() const { return events_and_marks >> 2; }
    void add_event() { events_and_marks += 4; }
    bool has_rules() const { return events_and_marks & 2; }
    bool dirty() const { return events_and_marks & 1; }
    void set_dirty(bool dirty) {
      events_and_marks = (events_and_marks & ~std::uint64_t(1)) | dirty;
    }
  };
  static_assert(sizeof(Account) == 32);
  struct RulesOfAccount {
    AccountRules rules;
    // orders and replaces in the current second so far; not part of the state
    std::int64_t second = 0;
    std::uint64_t orders = 0;
  };
  struct Symbol {
    bool changed = false;
    bool restricted = false;  // its instrument has a rule
    Instrument instrument = {};
    // as in SymbolRow
    Shares shares_total = {};
    Timestamp trading_since = {};
    Price last_price = {};
    bool dirty() const { return changed; }
    void set_dirty(bool dirty) { changed = dirty; }
  };
  // A position is one word, so that four with their keys fill a cache line.
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

  explicit Ledger(std::uint64_t hash_seed)
      : account_ids_(hash_seed), symbol_names_(hash_seed), positions_(hash_seed) {}

  static std::uint64_t key(AccountNumber account, SymbolNumber symbol) {
    return std::uint64_t(account) << 32 | symbol;
  }
  static AccountNumber account_of(std::uint64_t key) { return AccountNumber(key >> 32); }
  static SymbolNumber symbol_of(std::uint64_t key) { return SymbolNumber(key); }

  // These return no_index, or null, if nothing matches.
  AccountNumber find(const AccountId& id) const { return account_ids_.find(id); }
  SymbolNumber find(const SymbolName& name) const { return symbol_names_.find(name); }
  const Position* find_position(std::uint64_t key) const { return positions_.find(key); }
  Position* find_position(std::uint64_t key) { return positions_.find(key); }

  std::size_t accounts() const { return accounts_.size(); }
  std::size_t symbols() const { return symbols_.size(); }
  std::size_t positions() const { return positions_.size(); }
  const AccountId& id(AccountNumber number) const { return account_ids_.text(number); }
  const SymbolName& name(SymbolNumber number) const { return symbol_names_.text(number); }
  // The caller maintains its counts; only add_cash() changes its balance.
  Account& account(AccountNumber number) { return accounts_[number]; }
  const Account& account(AccountNumber number) const { return accounts_[number]; }
  const Symbol& symbol(SymbolNumber number) const { return symbols_[number]; }
  template <class Visit>
  void for_each_position(Visit visit) const {
    positions_.for_each(visit);
  }

  // Requires: the id, or name, is new.
  AccountNumber add_account(const AccountId& id, Cash balance, EventNumber events = 0) {
    accounts_.push_back({.balance = balance, .events_and_marks = events << 2});
    return account_ids_.add(id);
  }
  SymbolNumber add_symbol(const SymbolName& name) {
    symbols_.emplace_back();
    return symbol_names_.add(name);
  }
  SymbolNumber add_symbol(const SymbolRow& row);
  // Adds a position of no shares. Requires: it is new.
  Position& add_position(std::uint64_t key) { return positions_.insert(key, {}); }

  // `cash` may be negative.
  void add_cash(AccountNumber number, Cash cash, ChangeSet& changes) {
    accounts_[number].balance += cash;
    mark(number, changes);
  }
  void add_shares(AccountNumber account, SymbolNumber symbol, Shares shares, ChangeSet& changes) {
    const std::uint64_t position_key = key(account, symbol);
    Position* position = positions_.find(position_key);
    if (position == nullptr) position = &add_position(position_key);
    set_shares(*position, position_key, position->shares() + shares, changes);
  }
  void set_shares(Position& position, std::uint64_t key, Shares shares, ChangeSet& changes) {
    position.set_shares(shares);
    changes.mark_position(position, key);
  }
  void add_to_total(SymbolNumber number, Shares shares, ChangeSet& changes) {
    symbols_[number].shares_total += shares;
    mark_symbol(number, changes);
  }
  // Requires: the account has_rules().
  RulesOfAccount& account_rules(AccountNumber number) { return account_rules_.at(number); }
  AccountRules rules_of(AccountNumber number) const {
    return accounts_[number].has_rules() ? account_rules_.at(number).rules : AccountRules();
  }
  void set_rules(AccountNumber number, const AccountRules& rules) {
    std::uint64_t& marks = accounts_[number].events_and_marks;
    const bool has_rules = rules != AccountRules();
    marks = (marks & ~std::uint64_t(2)) | std::uint64_t(has_rules) << 1;
    if (has_rules) account_rules_[number].rules = rules;
  }
  AccountName display_name(AccountNumber number) const {
    const auto found = account_names_.find(number);
    return found == account_names_.end() ? AccountName() : found->second;
  }
  void set_name(AccountNumber number, const AccountName& name) {
    if (name == AccountName())
      account_names_.erase(number);
    else
      account_names_[number] = name;
  }
  void set_instrument(SymbolNumber number, const Instrument& instrument, Timestamp now,
                      ChangeSet& changes) {
    Symbol& symbol = symbols_[number];
    if (symbol.instrument.trading != instrument.trading) symbol.trading_since = now;
    symbol.instrument = instrument;
    symbol.restricted = instrument != Instrument();
    mark_symbol(number, changes);
  }
  void set_last_price(SymbolNumber number, Price price, ChangeSet& changes) {
    symbols_[number].last_price = price;
    mark_symbol(number, changes);
  }
  // Marks the account as changed, even if nothing changed.
  void mark(AccountNumber number, ChangeSet& changes) {
    changes.mark_account(accounts_[number], number);
  }
  void mark_symbol(SymbolNumber number, ChangeSet& changes) {
    changes.mark_symbol(symbols_[number], number);
  }

  SymbolRow row(SymbolNumber number) const;  // with the current values
  // Overwrites the accounts, symbols and positions of `rows` with those that are marked, with their
  // current values. The next begin_hand_over() of the ChangeSet clears the marked lists.
  void hand_over(const ChangeSet& changes, Rows& rows);
  void restore(const Rows& rows, ChangeSet& changes);

  [[gnu::always_inline]] void prefetch(const AccountId& id) const { account_ids_.prefetch(id); }
  [[gnu::always_inline]] void prefetch_position(std::uint64_t key) const {
    positions_.prefetch(key);
  }

 private:
  Interner<AccountId> account_ids_;
  std::vector<Account> accounts_;
  std::unordered_map<AccountNumber, RulesOfAccount> account_rules_;
  std::unordered_map<AccountNumber, AccountName> account_names_;  // orders do not need them
  Interner<SymbolName> symbol_names_;
  std::vector<Symbol> symbols_;
  FlatMap<Position> positions_;  // by key()
};
// The fields that a row copies unchanged.
BOOST_DESCRIBE_STRUCT(Ledger::Symbol, (), (shares_total, trading_since, last_price))

}  // namespace exchange
