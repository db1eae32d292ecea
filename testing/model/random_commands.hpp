#pragma once
// RandomCommands draws commands from so few accounts, symbols and prices that matches, self-trades,
// refusals and cancels are all frequent. Called by random tests and simulations, which choose the
// seed. state_of() prints what became of them, in lines to compare.

#include <deque>
#include <optional>
#include <random>
#include <string_view>

#include "engine/exchange.hpp"
#include "model/draw.hpp"
#include "model/print.hpp"

namespace exchange {

class RandomCommands {
 public:
  // `extreme` draws numbers of all magnitudes up to the ends of their ranges; `options` draws the
  // options of --open-queries and --refuse-unknown-symbols in every other command.
  RandomCommands(std::uint64_t seed, bool extreme, bool options = false)
      : random_(seed), extreme_(extreme), options_(options) {}

  // `orders`: the number of ids given so far, of orders and replaces.
  Command next(OrderId orders);
  // The time stays the same, or advances by up to three seconds.
  Timestamp next_time();
  // Uniform in [0, end).
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  static constexpr int accounts = 5, symbols = 3;  // the last of each is rare or never created
  // Whether accounts get limits of orders in a second; stores and audits do not know about these
  // limits.
  bool limits_rates = false;

  static AccountId account(std::uint64_t number);
  static SymbolName symbol(std::uint64_t number);

 private:
  template <class Struct, class Source>
  friend Struct exchange::draw(Source& source);
  void draw(AccountId& id, std::string_view);
  void draw(SymbolName& name, std::string_view);
  void draw(std::optional<SymbolName>& name, std::string_view);
  // Draws a rule of SetInstrument: mostly unset, or removed, so that most orders keep to the rules.
  template <class Optional>
  requires requires(Optional optional) { optional.emplace(); }
  void draw(Optional& value, std::string_view name) {
    if (below(3) != 0) return;
    auto& given = value.emplace();
    if (below(12) == 0) draw(given, name);
  }
  void draw(OrderReference& reference, std::string_view);
  void draw(OptionalReference& reference, std::string_view);
  void draw(OptionalName& name, std::string_view);
  void draw(Shares& shares, std::string_view);
  void draw(Price& price, std::string_view);
  void draw(Cash& cash, std::string_view);
  void draw(std::uint64_t& number, std::string_view name);
  void draw(bool& value, std::string_view name);
  void draw(KeyHash&, std::string_view) {}
  void draw(Side& side, std::string_view) { side = Side(below(2)); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void draw(Enum& value, std::string_view) {  // mostly the first
    if (const auto number = below(10); number < enumerators<Enum>) value = Enum(number);
  }
  void note(const PlaceOrder& order);
  void aim(ReplaceOrder& replace);
  std::int64_t fixed64_units(std::uint64_t whole_end);
  OrderId order();

  std::mt19937_64 random_;
  bool extreme_, options_;
  OrderId orders_ = 0;
  std::optional<PlaceOrder> referenced_;  // the newest
  struct Drawn {
    OrderId id;  // if it was accepted
    PlaceOrder order;
  };
  std::deque<Drawn> drawn_;  // the newest
  Timestamp now_{1'000'000'000'000};
};

inline std::string print(const Exchange::Depth& depth) {
  return units_text(depth.shares_units) + " units @" + to_string(depth.price) + " in " +
         std::to_string(depth.orders);
}

// Prints the complete state of some accounts, and the books of some symbols, of an Exchange or a
// NaiveExchange. `Names` has these accounts and symbols.
template <class Names = RandomCommands, class AnyExchange>
std::vector<std::string> state_of(const AnyExchange& exchange) {
  std::vector<std::string> state;
  for (unsigned account = 0; account <= Names::accounts; ++account) {
    const AccountId id = Names::account(account);
    std::string& line =
        state.emplace_back("account " + print(id) + " " + to_string(exchange.balance(id)));
    for (unsigned symbol = 0; symbol <= Names::symbols; ++symbol)
      line += " " + to_string(exchange.position(id, Names::symbol(symbol)));
  }
  for (unsigned symbol = 0; symbol <= Names::symbols; ++symbol)
    for (const Side side : {Side::buy, Side::sell}) {
      std::string& line = state.emplace_back((side == Side::buy ? "bids " : "asks ") +
                                             print(Names::symbol(symbol)));
      for (const auto& depth : exchange.depth(Names::symbol(symbol), side))
        line += " | " + print(depth);
    }
  return state;
}

}  // namespace exchange
