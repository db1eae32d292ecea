// The engine alone: nanoseconds per command on a fixed stream, accounts and reservations included.
// 60 % limit orders round a random-walk mid, 35 % cancels of open orders, 5 % marketable orders.
//   engine_benchmark [commands=3000000] [symbols=100] [accounts=200] [seed=1] [repeats=5]
// The stream is made beforehand; rows are handed over and closed orders released every 1,000
// commands, as the core does. Prints the median and the spread of the repeats.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "engine/exchange.hpp"

using namespace exchange;

namespace {

struct Stream {
  std::vector<Command> setup, commands;
};

AccountId account_id(unsigned n) { return AccountId(std::to_string(n + 1)); }
SymbolName symbol_name(unsigned n) { return SymbolName("SYM" + std::to_string(n)); }

// Runs the stream through an engine of its own while making it, so that cancels name open orders.
Stream make_stream(unsigned commands, unsigned symbols, unsigned accounts, unsigned seed) {
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
    Command command;
    unsigned account = unsigned(below(accounts));
    if (kind < 35 && !open.empty()) {
      const std::size_t at = below(open.size());
      const Placed placed = open[at];
      open[at] = open.back();
      open.pop_back();
      command = CancelOrder{account_id(placed.account), placed.id};
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
    }
    const Outcome outcome = engine.apply(command, {});
    if (const auto* opened = std::get_if<Opened>(&outcome))
      open.push_back({opened->order, account});
    stream.commands.push_back(command);
    if (i % 1'000 == 999) engine.release_closed(engine.take_changes(rows));
  }
  return stream;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int at, unsigned value) {
    return argc > at ? unsigned(std::atoi(argv[at])) : value;
  };
  const unsigned commands = argument(1, 3'000'000), symbols = argument(2, 100),
                 accounts = argument(3, 200);
  const unsigned seed = argument(4, 1), repeats = argument(5, 5);
  const Stream stream = make_stream(commands, symbols, accounts, seed);

  std::vector<double> ns_per_command;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    Exchange engine;
    Rows rows;
    for (const Command& command : stream.setup) engine.apply(command, {});
    engine.release_closed(engine.take_changes(rows));
    std::uint64_t opened = 0, canceled = 0, rejected = 0;
    std::size_t count = 0;
    const auto start = std::chrono::steady_clock::now();
    // As the core does with a batch.
    constexpr std::size_t ahead_far = 16, ahead_near = 8;
    std::vector<Exchange::Located> located(ahead_far);
    const std::vector<Command>& all = stream.commands;
    for (std::size_t i = 0; i < std::min(ahead_far, all.size()); ++i)
      located[i] = engine.locate(all[i]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i + ahead_near < all.size())
        engine.prefetch(all[i + ahead_near], located[(i + ahead_near) % ahead_far]);
      const Outcome outcome = engine.apply(all[i], {}, located[i % ahead_far]);
      opened += std::holds_alternative<Opened>(outcome);
      canceled += std::holds_alternative<Canceled>(outcome);
      rejected += std::holds_alternative<Rejected>(outcome);
      if (++count % 1'000 == 0) {
        engine.release_closed(engine.take_changes(rows));
        for (Exchange::Located& stale : located) stale = {};
      }
      if (i + ahead_far < all.size()) located[i % ahead_far] = engine.locate(all[i + ahead_far]);
    }
    const std::chrono::duration<double, std::nano> elapsed =
        std::chrono::steady_clock::now() - start;
    ns_per_command.push_back(elapsed.count() / double(stream.commands.size()));
    if (const auto violation = engine.check_invariants(); !violation.empty()) {
      std::fprintf(stderr, "invariant broken: %s\n", violation.c_str());
      return 1;
    }
    if (repeat == 0)
      std::printf(
          "%zu commands, %u symbols, %u accounts, seed %u: %llu opened, %llu canceled, %llu refused, %llu executions, %zu resting at the end\n",
          stream.commands.size(), symbols, accounts, seed, (unsigned long long)opened,
          (unsigned long long)canceled, (unsigned long long)rejected,
          (unsigned long long)engine.totals().executions, engine.orders_in_memory());
  }
  std::sort(ns_per_command.begin(), ns_per_command.end());
  std::printf("ns per command: median %.1f, min %.1f, max %.1f over %u runs\n",
              ns_per_command[repeats / 2], ns_per_command.front(), ns_per_command.back(), repeats);
}
