#pragma once
// The rules of docs/protocol.md once more, as a model that forgets nothing: after any number of
// commands it can still say what a command would have been answered after fewer. Written from the
// rules; shares value types with the engine, and no logic. Indexed, so that a million commands are
// no matter; unit tests compare it with NaiveExchange, which scans. Thread: one at a time.

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/commands.hpp"

namespace exchange::history {

// So many commands of the journal have been applied.
using Version = std::size_t;
inline constexpr Version never = SIZE_MAX;

class VersionedExchange {
 public:
  // Applies the next command of the journal. A command that the rules refuse changes nothing; an
  // order then has an id all the same.
  Outcome apply(const Command& command, Timestamp now);

  // What the command would be answered at this version, at most version(): for a command that would
  // change something there, Created, Opened{0}, or Canceled with an empty status.
  Outcome outcome(const Command& command, Version at) const;
  // The first version after `at` at which outcome() may be another one; never where there is none.
  Version next_change(const Command& command, Version at) const;

  Version version() const { return version_; }
  OrderId orders() const { return orders_.size(); }
  std::uint64_t executions() const { return executions_; }

 private:
  // The values of something, by the version from which each holds.
  template <class Value>
  class Timeline {
   public:
    void set(Version from, Value value) {
      if (!values_.empty() && values_.back().first == from)
        values_.back().second = value;
      else
        values_.emplace_back(from, value);
    }
    Value at(Version version) const;  // Value() before the first
    Value latest() const { return values_.empty() ? Value() : values_.back().second; }
    Version next_change(Version after) const;

   private:
    std::vector<std::pair<Version, Value>> values_;
  };
  struct Account {
    Version created = never;
    Timeline<Cash> free;
    std::unordered_map<std::string, Timeline<Shares>> free_shares;  // by symbol
  };
  struct Executed {
    Version from;
    Execution execution;
  };
  struct Order {
    PlaceOrder placed;
    Version opened = never;  // never: the journal holds it, the rules refuse it
    Shares open;             // now
    std::vector<Executed> executions;
    Version canceled = never;
    Shares canceled_shares;
    Timestamp canceled_at;
  };
  struct Symbol {
    Version created = never;
    Timeline<Shares> total;
    // Open orders by price, those of one price in the order of arrival; canceled ones are skipped
    // when they are met.
    std::map<Price, std::deque<OrderId>> buys, sells;
  };

  Outcome at(const CreateAccount& command, Version version) const;
  Outcome at(const CreateSymbol& command, Version version) const;
  Outcome at(const PlaceShares& command, Version version) const;
  Outcome at(const PlaceOrder& command, Version version) const;
  Outcome at(const CancelOrder& command, Version version) const;
  Outcome at(const QueryOrder& command, Version version) const;
  Outcome execute(const CreateAccount& command, Timestamp now);
  Outcome execute(const CreateSymbol& command, Timestamp now);
  Outcome execute(const PlaceShares& command, Timestamp now);
  Outcome execute(const PlaceOrder& command, Timestamp now);
  Outcome execute(const CancelOrder& command, Timestamp now);
  Outcome execute(const QueryOrder& command, Timestamp now);
  template <class Book>
  void match(OrderId taker, Book& makers, Timestamp now);
  void trade(Order& taker, Order& maker, Timestamp now);
  void pay(const AccountId& account, Cash amount);
  void give(const AccountId& account, const SymbolName& symbol, Shares shares);
  const Account* account(const AccountId& id, Version version) const;
  const Symbol* symbol(const SymbolName& name, Version version) const;
  // The order, where this account placed it, or any; else null.
  const Order* order(const AccountId& account, OrderId id, Version version,
                     bool of_any_account = false) const;
  static Shares open(const Order& order, Version version);
  static Status status(OrderId id, const Order& order, Version version);

  std::unordered_map<std::string, Account> accounts_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::vector<Order> orders_;  // order n at n - 1
  Timeline<Cash> cash_;        // all that was ever created
  Version version_ = 0;
  std::uint64_t executions_ = 0;
};

}  // namespace exchange::history
