// This program contains a durable exchange: the store, the core and two threads that trade, with no
// sockets, no XML and no server. Each outcome is returned once it is committed. Build it against
// the installed library:
//   cmake --install build --component core --prefix /tmp/core
//   cmake -S server/core/example -B /tmp/example -DCMAKE_PREFIX_PATH=/tmp/core
//   cmake --build /tmp/example
//   /tmp/example/core_example market.db kill   # trades, then kills itself
//   /tmp/example/core_example market.db        # continues from the end of the store
#include <csignal>
#include <cstdio>
#include <semaphore>
#include <thread>

#include "core/core.hpp"
#include "store/sqlite/sqlite_store.hpp"

using namespace exchange;

// The access of one thread to the core. It returns the outcome of a command after its commit.
class Client final : public CompletionSink {
 public:
  explicit Client(Core& core) : core_(core) { submission_.sink = this; }
  Outcome ask(const Command& command) {
    submission_.commands = {&command, 1};
    Submission* const one = &submission_;
    core_.submit({&one, 1});
    completed_.acquire();
    return submission_.outcomes.front();
  }

 private:
  void completed(std::span<Submission* const>) override { completed_.release(); }
  Core& core_;
  Submission submission_;
  std::counting_semaphore<> completed_{0};
};

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "market.db", what = argc > 2 ? argv[2] : "";
  const CoreLimits limits;
  Metrics metrics;
  SqliteStore store(path);
  store.open();
  Recovered recovered = recover(store);
  std::printf("the store ends with order %llu, after %llu executions\n",
              (unsigned long long)recovered.exchange.totals().orders,
              (unsigned long long)recovered.exchange.totals().executions);
  Core core(std::move(recovered), store, system_clock(), limits, metrics,
            [](const std::string& why) { std::fprintf(stderr, "%s\n", why.c_str()); });

  const AccountId seller("1"), buyer("2");
  const SymbolName symbol("ABC");
  Client main_client(core);  // on the second run, the accounts exist
  main_client.ask(CreateAccount(seller, Cash()));
  main_client.ask(CreateAccount(buyer, Cash::whole(1'000'000'000)));
  main_client.ask(PlaceShares{symbol, seller, Shares::whole(1'000)});

  const auto trade = [&](const AccountId& account, Side side) {
    Client client(core);
    OrderId newest = 0;
    for (int i = 0; i < 1'000; ++i) {
      const Outcome outcome =
          client.ask(PlaceOrder(account, symbol, side, Shares::whole(1), Price::whole(100)));
      if (const auto* opened = std::get_if<Opened>(&outcome)) newest = opened->order;
      if (what == "kill" && i == 500) raise(SIGKILL);  // nothing that was returned is lost
    }
    std::printf("account %s: order %llu is committed\n", std::string(account.view()).c_str(),
                (unsigned long long)newest);
  };
  std::thread other(trade, seller, Side::sell);
  trade(buyer, Side::buy);
  other.join();
}
