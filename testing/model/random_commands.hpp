#pragma once
// RandomCommands draws commands from so few accounts, symbols and prices that matches, self-trades,
// refusals and cancels are all frequent. Called by random tests and simulations; the seed is
// theirs.

#include <deque>
#include <optional>
#include <random>

#include "engine/commands.hpp"

namespace exchange {

class RandomCommands {
 public:
  // `extreme` draws numbers from all magnitudes up to the ends of their ranges; `options`:
  // those of --open-queries and --refuse-unknown-symbols, in every other command.
  RandomCommands(std::uint64_t seed, bool extreme, bool options = false)
      : random_(seed), extreme_(extreme), options_(options) {}

  // `orders`: ids given so far, of orders and replaces.
  Command next(OrderId orders);
  // Stays, or goes on by up to three seconds.
  Timestamp next_time();
  // Uniform in [0, end).
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  static constexpr int accounts = 5, symbols = 3;  // of each, the last is rare or never created
  static AccountId account(std::uint64_t number);
  static SymbolName symbol(std::uint64_t number);

 private:
  std::int64_t fixed64_units(std::uint64_t whole_end);
  Cash cash();
  OrderId order(OrderId orders);
  OptionalReference reference();
  ReplaceOrder replace(const AccountId& account, OrderId orders);

  std::mt19937_64 random_;
  bool extreme_, options_;
  std::optional<PlaceOrder> referenced_;  // the newest
  struct Drawn {
    OrderId id;  // if it was accepted
    PlaceOrder order;
  };
  std::deque<Drawn> drawn_;  // the newest
  Timestamp now_{1'000'000'000'000};
};

}  // namespace exchange
