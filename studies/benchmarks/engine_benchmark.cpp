// The engine alone: nanoseconds per command on a fixed stream, accounts and reservations included.
// 60 % limit orders round a random-walk mid, 35 % cancels of open orders, 5 % marketable orders.
//   engine_benchmark [commands=3000000] [symbols=100] [accounts=200] [seed=1] [repeats=5]
//                    [open=0]
// If `open` is above 0, it bounds the open orders: the book stays steady, since a cancel replaces
// each order above the bound. The stream is made beforehand; rows are handed over and closed orders
// released every 1,000 commands, as the core does. Prints the median and the spread of the repeats,
// which alternate between the engine, the engine without LookAhead, and a plain book (std::map of
// lists, no accounts) that matches the same stream.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <random>
#include <span>

#include "engine/look_ahead.hpp"

using namespace exchange;

namespace {

constexpr std::size_t batch = 1'000;

// One command in the form that the plain book takes.
struct PlainCommand {
  bool cancel;
  Side side;
  unsigned symbol;
  std::int64_t price, shares;
  OrderId id;
};

struct Stream {
  std::vector<Command> setup, commands;
  std::vector<PlainCommand> plain;
};

// A textbook order book: a map of price levels for each side, a list of orders in each level.
class PlainBooks {
 public:
  explicit PlainBooks(unsigned symbols) : books_(symbols) {}
  void apply(const PlainCommand& command) {
    if (command.cancel) {
      const auto [side, level, order] = places_[command.id];
      if (side != nullptr) remove(*side, level, order);
      return;
    }
    Book& book = books_[command.symbol];
    Levels& makers = command.side == Side::buy ? book.asks : book.bids;
    const std::int64_t sign = command.side == Side::buy ? 1 : -1;
    std::int64_t open = command.shares;
    while (open > 0 && !makers.empty() && makers.begin()->first <= sign * command.price) {
      std::list<Order>& level = makers.begin()->second;
      const std::int64_t shares = std::min(open, level.front().open);
      open -= shares;
      ++executions;
      if ((level.front().open -= shares) == 0) remove(makers, makers.begin(), level.begin());
    }
    if (places_.size() <= command.id) places_.resize(command.id + 1);
    if (open == 0) return;
    Levels& own = command.side == Side::buy ? book.bids : book.asks;
    const auto level = own.try_emplace(-sign * command.price).first;
    level->second.push_back({command.id, open});
    places_[command.id] = {&own, level, std::prev(level->second.end())};
    ++resting;
  }
  std::uint64_t executions = 0;
  std::size_t resting = 0;

 private:
  struct Order {
    OrderId id;
    std::int64_t open;
  };
  // best first: by price for asks, by minus price for bids
  using Levels = std::map<std::int64_t, std::list<Order>>;
  struct Book {
    Levels bids, asks;
  };
  struct Place {
    Levels* side = nullptr;
    Levels::iterator level;
    std::list<Order>::iterator order;
  };
  void remove(Levels& side, Levels::iterator level, std::list<Order>::iterator order) {
    places_[order->id].side = nullptr;
    --resting;
    level->second.erase(order);
    if (level->second.empty()) side.erase(level);
  }
  std::vector<Book> books_;
  std::vector<Place> places_;  // by id of the order
};

struct Counts {
  std::uint64_t opened = 0, canceled = 0, rejected = 0;
  void add(const Outcome& outcome) {
    opened += std::holds_alternative<Opened>(outcome);
    canceled += std::holds_alternative<Canceled>(outcome);
    rejected += std::holds_alternative<Rejected>(outcome);
  }
};

AccountId account_id(unsigned n) { return AccountId(std::to_string(n + 1)); }
SymbolName symbol_name(unsigned n) { return SymbolName("SYM" + std::to_string(n)); }

// Runs the stream through a separate engine while making it, so that cancels name open orders.
Stream make_stream(unsigned commands, unsigned symbols, unsigned accounts, unsigned seed,
                   unsigned open_max) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return std::uint64_t((UInt128(random()) * n) >> 64); };
  Stream stream;
  for (unsigned a = 0; a < accounts; ++a)
    stream.setup.push_back(CreateAccount{account_id(a), Cash::whole(1'000'000'000'000)});
  for (unsigned s = 0; s < symbols; ++s)
    for (unsigned a = 0; a < accounts; ++a)
      stream.setup.push_back(PlaceShares{symbol_name(s), account_id(a), Shares::whole(10'000'000)});

  Exchange engine;
  for (const Command& command : stream.setup) engine.apply(command, {});
  struct Placed {
    OrderId id;
    unsigned account;
  };
  std::vector<Placed> open;
  std::vector<std::int64_t> mid(symbols, 10'000);
  Rows rows;
  for (unsigned i = 0; i < commands; ++i) {
    const unsigned kind = unsigned(below(100));
    const bool full = open_max > 0 && engine.orders_in_memory() >= open_max && kind < 95;
    Command command;
    PlainCommand plain{};
    unsigned account = unsigned(below(accounts));
    if ((kind < 35 || full) && !open.empty()) {
      const std::size_t at = below(open.size());
      const Placed placed = open[at];
      open[at] = open.back();
      open.pop_back();
      command = CancelOrder{account_id(placed.account), placed.id};
      plain = {.cancel = true, .id = placed.id};
    } else {
      const unsigned symbol = unsigned(below(symbols));
      mid[symbol] = std::max<std::int64_t>(1'000, mid[symbol] + std::int64_t(below(3)) - 1);
      const bool buy = below(2) == 0;
      const bool marketable = kind >= 95;
      const auto distance = std::int64_t(1 + below(100));
      const std::int64_t cents = mid[symbol] + (buy == marketable ? distance : -distance);
      command = PlaceOrder{account_id(account), symbol_name(symbol), buy ? Side::buy : Side::sell,
                           Shares::whole(std::int64_t(1 + below(100))),
                           Price::from_units(cents * 1'000'000)};
      const PlaceOrder& order = std::get<PlaceOrder>(command);
      plain = {false, order.side, symbol, cents, order.shares.units(), 0};
    }
    const Outcome outcome = engine.apply(command, {});
    if (const auto* opened = std::get_if<Opened>(&outcome)) {
      open.push_back({opened->order, account});
      plain.id = opened->order;
    }
    if (plain.cancel || plain.id != 0) stream.plain.push_back(plain);
    stream.commands.push_back(command);
    if (i % batch == batch - 1) engine.release_closed(engine.take_changes(rows));
  }
  return stream;
}

using Nanoseconds = std::chrono::duration<double, std::nano>;

template <class Work>
double ns_per_command(std::size_t commands, Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return Nanoseconds(std::chrono::steady_clock::now() - start).count() / double(commands);
}

void run(Exchange& engine, std::span<const Command* const> commands, bool looks_ahead,
         Counts& counts) {
  Rows rows;
  for (; !commands.empty(); commands = commands.subspan(std::min(batch, commands.size()))) {
    const auto now = commands.first(std::min(batch, commands.size()));
    LookAhead ahead(engine, now);
    for (const Command* command : now)
      counts.add(looks_ahead ? engine.apply(*command, {}, ahead.next())
                             : engine.apply(*command, {}));
    engine.release_closed(engine.take_changes(rows));
  }
}

void print(const char* what, std::vector<double>& ns) {
  std::sort(ns.begin(), ns.end());
  std::printf("%s, ns per command: median %.1f, min %.1f, max %.1f over %zu runs\n", what,
              ns[ns.size() / 2], ns.front(), ns.back(), ns.size());
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, unsigned value) {
    return argc > at ? unsigned(std::atoi(argv[at])) : value;
  };
  const unsigned commands = argument(1, 3'000'000), symbols = argument(2, 100),
                 accounts = argument(3, 200), seed = argument(4, 1), repeats = argument(5, 5);
  const Stream stream = make_stream(commands, symbols, accounts, seed, argument(6, 0));

  std::vector<const Command*> in_order;
  for (const Command& command : stream.commands) in_order.push_back(&command);

  std::vector<double> engine_ns, alone_ns, plain_ns;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    const auto run_engine = [&](bool looks_ahead, std::vector<double>& ns, Counts& counts) {
      Exchange engine;
      Rows rows;
      for (const Command& command : stream.setup) engine.apply(command, {});
      engine.release_closed(engine.take_changes(rows));
      ns.push_back(ns_per_command(commands, [&] { run(engine, in_order, looks_ahead, counts); }));
      return engine;
    };
    Counts counts, counts_alone;
    run_engine(false, alone_ns, counts_alone);
    const Exchange engine = run_engine(true, engine_ns, counts);
    if (counts_alone.opened != counts.opened || counts_alone.canceled != counts.canceled) {
      std::fprintf(stderr, "LookAhead changed outcomes\n");
      return 1;
    }
    if (const auto violation = engine.check_invariants(); !violation.empty()) {
      std::fprintf(stderr, "invariant broken: %s\n", violation.c_str());
      return 1;
    }
    PlainBooks plain(symbols);
    plain_ns.push_back(ns_per_command(commands, [&] {
      for (const PlainCommand& command : stream.plain) plain.apply(command);
    }));
    const std::size_t resting = engine.orders_in_memory();
    if (plain.resting != resting || plain.executions != engine.totals().executions) {
      std::fprintf(
          stderr,
          "engine and plain book disagree: %zu and %zu orders rest, %llu and %llu executions\n",
          resting, plain.resting, (unsigned long long)engine.totals().executions,
          (unsigned long long)plain.executions);
      return 1;
    }
    if (repeat == 0)
      std::printf(
          "%u commands, %u symbols, %u accounts, seed %u: %llu opened, %llu canceled, "
          "%llu refused, "
          "%llu executions, %zu resting at the end\n",
          commands, symbols, accounts, seed, (unsigned long long)counts.opened,
          (unsigned long long)counts.canceled, (unsigned long long)counts.rejected,
          (unsigned long long)plain.executions, resting);
  }
  print("engine", engine_ns);
  print("engine, without LookAhead", alone_ns);
  print("std::map of lists without accounts", plain_ns);
  std::printf("ratio of the medians: %.2f; with LookAhead to without: %.2f\n",
              engine_ns[repeats / 2] / plain_ns[repeats / 2],
              engine_ns[repeats / 2] / alone_ns[repeats / 2]);
}
