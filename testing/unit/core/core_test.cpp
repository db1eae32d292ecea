#include "catch.hpp"

#include <deque>
#include <future>
#include <numeric>
#include <semaphore>
#include <thread>

#include "core/core.hpp"
#include "support/clocks.hpp"
#include "support/faulty_store.hpp"
#include "support/stores.hpp"

using namespace exchange;
using namespace exchange::testing;
using Fault = FaultyStore::Fault;

namespace {

class WaitingSink : public CompletionSink {
 public:
  explicit WaitingSink(FaultyStore& store) : store_(store) {}
  void completed(std::span<Submission* const> submissions) override {
    for (Submission* submission : submissions) order.push_back(submission);
    journal_rows_at_completion = journal_after(store_, 0).size();
    done.release(std::ptrdiff_t(submissions.size()));
  }
  std::vector<Submission*> order;
  std::size_t journal_rows_at_completion = 0;
  std::counting_semaphore<> done{0};

 private:
  FaultyStore& store_;
};

struct CoreFixture {
  CoreFixture() {
    store.open();
    limits.projection_interval_ms = 0;
  }
  void start() {
    core.emplace(recover(store), store, clock, limits, metrics,
                 [](const std::string& why) { FAIL(why); });
  }

  // Commands in flight; `submit` sends them.
  struct Request : Submission {
    Request(std::vector<Command> asked, WaitingSink& to) : own(std::move(asked)) {
      commands = own;
      sink = &to;
    }
    std::vector<Command> own;
  };
  void submit(Core& to, Request& request) {
    Submission* const one = &request;
    to.submit({&one, 1});
  }
  std::vector<Outcome> run(const std::vector<Command>& commands) {
    Request request(commands, sink);
    submit(*core, request);
    sink.done.acquire();
    return request.outcomes;
  }
  // Submits these together and waits for all of them.
  std::vector<Submission*> run_together(std::deque<Request>& requests) {
    std::vector<Submission*> pointers;
    for (Request& request : requests) pointers.push_back(&request);
    core->submit(pointers);
    for (std::size_t i = 0; i < requests.size(); ++i) sink.done.acquire();
    return pointers;
  }

  FaultyStore store;
  ManualClock clock;
  CoreLimits limits;
  Metrics metrics;
  WaitingSink sink{store};
  std::optional<Core> core;
  // Order 1, which buys 5, executed at once.
  const Status filled{
      1, Shares(), Shares(), {}, {{Shares::whole(5), Price::whole(10), Timestamp{1'000'000'000}}}};
  const AccountId buyer{"1"}, seller{"2"};
  const SymbolName spy{"SPY"};
  const std::vector<Command> market{CreateAccount{buyer, Cash::whole(1'000)},
                                    CreateAccount{seller, Cash()},
                                    PlaceShares{spy, seller, Shares::whole(100)}};
};

}  // namespace

TEST_CASE_METHOD(
    CoreFixture,
    "a submission completes only when its row is in the journal, however often the store fails") {
  FaultyStore::plan(store.append_faults, {Fault::lost, Fault::committed_but_lost, Fault::lost});
  start();
  run(market);
  CHECK(sink.journal_rows_at_completion == 1);
  run({CancelOrder{buyer, 1},
       PlaceOrder{buyer, spy, Side::buy, Shares::whole(1), Price::whole(1)}});
  CHECK(sink.journal_rows_at_completion == 2);
}

TEST_CASE_METHOD(CoreFixture, "submissions of one call complete in order") {
  start();
  std::deque<Request> requests;
  for (int i = 0; i < 100; ++i)
    requests.emplace_back(std::vector<Command>{QueryOrder{buyer, 1}}, sink);
  const auto submitted = run_together(requests);
  CHECK(sink.order == submitted);
}

TEST_CASE_METHOD(CoreFixture,
                 "a commit takes so many commands at most, and never splits a request") {
  limits.batch_commands_max = 10;
  start();
  std::deque<Request> requests;
  for (std::size_t i = 0; i < 5; ++i) {
    std::vector<Command> four;
    for (std::size_t j = 0; j < 4; ++j)
      four.push_back(CreateAccount{AccountId(std::to_string(10 * i + j)), Cash()});
    requests.emplace_back(four, sink);
  }
  run_together(requests);
  std::vector<std::size_t> commands;
  for (const JournalRow& row : journal_after(store, 0))
    commands.push_back(decode_journal_record(row.payload).commands.size());
  CHECK(commands == std::vector<std::size_t>{12, 8});
  core.reset();
}

TEST_CASE_METHOD(CoreFixture, "a server that another has replaced replies no more and stops") {
  class Replaced : public MemoryStore {
   public:
    void append(BatchNumber batch, std::string_view payload) override {
      if (++appends_ < 3) throw StoreFenced("another server has taken the store over");
      MemoryStore::append(batch, payload);
    }
    void confirm_epoch() override { throw StoreFenced("another server has taken the store over"); }

   private:
    int appends_ = 0;
  } replaced;
  replaced.open();
  const bool changes = GENERATE(true, false);
  Request request(changes ? market : std::vector<Command>{QueryOrder{buyer, 1}}, sink);
  std::promise<std::string> fatal;
  {
    Core fenced(recover(replaced), replaced, clock, limits, metrics,
                [&](const std::string& why) { fatal.set_value(why); });
    submit(fenced, request);
  }
  CHECK(sink.order.empty());
  auto reason = fatal.get_future();
  REQUIRE(reason.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(reason.get() == "another server has taken the store over");
}

TEST_CASE_METHOD(CoreFixture,
                 "stopping projects everything, through a store that fails now and then") {
  FaultyStore::plan(store.project_faults, {Fault::lost, Fault::committed_but_lost, Fault::lost});
  limits.projection_interval_ms = 600'000;  // leaves all batches but the first to the stop
  start();
  run(market);
  for (int i = 0; i < 20; ++i)
    run({PlaceOrder{buyer, spy, Side::buy, Shares::whole(1), Price::whole(1)}});
  core.reset();
  const TablesImage image = store.load();
  CHECK(image.projected_batch == 21);
  CHECK(image.rows.orders.size() == 20);
  CHECK(recover(store).batches_replayed == 0);
}

TEST_CASE_METHOD(CoreFixture,
                 "closed orders leave memory once projected and are read from the tables") {
  start();
  run(market);
  run({PlaceOrder{buyer, spy, Side::buy, Shares::whole(5), Price::whole(10)}});
  run({PlaceOrder{seller, spy, Side::sell, Shares::whole(5), Price::whole(9)}});
  // Each round trip is a batch, after which the core takes what the projector has finished.
  std::vector<Outcome> asked;
  for (int tries = 0; tries < 10'000 && metrics.orders_read == 0; ++tries)
    asked = run({QueryOrder{buyer, 1}, CancelOrder{buyer, 1}, QueryOrder{seller, 1}});
  CHECK(metrics.orders_read > 0);
  asked = run({QueryOrder{buyer, 1}, CancelOrder{buyer, 1}, QueryOrder{seller, 1},
               CancelOrder{seller, 1}, QueryOrder{buyer, 3}});
  CHECK(asked == std::vector<Outcome>{
                     filled, Rejected{Reason::nothing_open}, Rejected{Reason::unknown_order},
                     Rejected{Reason::unknown_order}, Rejected{Reason::unknown_order}});
  FaultyStore::plan(store.read_faults, {Fault::lost, Fault::lost});
  CHECK(run({QueryOrder{buyer, 1}}) == std::vector<Outcome>{filled});
  core.reset();
}

TEST_CASE_METHOD(CoreFixture,
                 "a replace of an order that only the tables have is refused and counted") {
  start();
  run(market);
  run({PlaceOrder{buyer, spy, Side::buy, Shares::whole(5), Price::whole(10)}});
  run({PlaceOrder{seller, spy, Side::sell, Shares::whole(5), Price::whole(9),
                  OrderReference("r")}});
  const ReplaceOrder of_buyer{buyer, Side::buy, 1, Shares::whole(9), Price::whole(10)};
  for (int tries = 0; tries < 10'000 && metrics.orders_read == 0; ++tries)
    run({QueryOrder{buyer, 1}});
  REQUIRE(metrics.orders_read > 0);
  ReplaceOrder of_other = of_buyer, unknown = of_buyer;
  of_other.order = 2;
  unknown.order = 3;
  const ReplaceOrder by_reference{seller,           Side::sell,       0,
                                  Shares::whole(9), Price::whole(10), OrderReference("r")};
  const std::uint64_t read = metrics.orders_read;
  CHECK(run({of_buyer, by_reference, of_other, unknown}) ==
        std::vector<Outcome>{Rejected{Reason::nothing_open}, Rejected{Reason::nothing_open},
                             Rejected{Reason::unknown_order}, Rejected{Reason::unknown_order}});
  CHECK(metrics.orders_read == read + 3);  // an id that was never given is known to be unknown
  const auto& counts = metrics.commands[Command(of_buyer).index()];
  CHECK(counts[1 + std::size_t(Reason::nothing_open)] == 2);
  CHECK(counts[1 + std::size_t(Reason::unknown_order)] == 2);
  CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t(0)) == 4);
  core.reset();
}

TEST_CASE_METHOD(CoreFixture,
                 "the number of a replacement is the id of no order, in the tables either") {
  start();
  run(market);
  const ReplaceOrder replace{buyer, Side::buy, 1, Shares::whole(6), Price::whole(10)};
  CHECK(run({PlaceOrder{buyer, spy, Side::buy, Shares::whole(5), Price::whole(10)}, replace,
             PlaceOrder{buyer, spy, Side::buy, Shares::whole(1), Price::whole(1)}}) ==
        std::vector<Outcome>{Opened{1}, Replaced{1}, Opened{3}});
  ReplaceOrder of_number = replace;
  of_number.order = 2;
  CHECK(run({QueryOrder{buyer, 2}, CancelOrder{buyer, 2}, of_number}) ==
        std::vector<Outcome>(3, Rejected{Reason::unknown_order}));
  CHECK(metrics.commands[Command(replace).index()][0] == 1);
  core.reset();
}

TEST_CASE_METHOD(CoreFixture, "a closed order is answered while its projection is in progress") {
  store.hold_projections.begin();
  start();
  std::vector<Command> trade = market;
  trade.push_back(PlaceOrder{buyer, spy, Side::buy, Shares::whole(5), Price::whole(10)});
  trade.push_back(PlaceOrder{seller, spy, Side::sell, Shares::whole(5), Price::whole(9)});
  run(trade);  // handed over as a whole, held
  for (int i = 0; i < 5; ++i) CHECK(run({QueryOrder{buyer, 1}}) == std::vector<Outcome>{filled});
  CHECK(metrics.orders_read == 0);
  store.hold_projections.end();
  core.reset();
}

TEST_CASE_METHOD(CoreFixture,
                 "the journal keeps what it is asked to keep, and all of it if so asked") {
  class Pruned : public MemoryStore {
   public:
    void project(const Rows& rows, BatchNumber batch) override {
      MemoryStore::project(rows, batch);
      projected_ = batch;
    }
    void prune(BatchNumber through) override {
      kept_least = std::min(kept_least, projected_ - std::min(through, projected_));
      ++prunes;
      MemoryStore::prune(through);
    }
    BatchNumber kept_least = UINT64_MAX;
    int prunes = 0;

   private:
    BatchNumber projected_ = 0;
  } pruned;
  pruned.open();
  limits.journal_batches_kept = 10;
  limits.keep_journal = GENERATE(false, true);
  core.emplace(recover(pruned), pruned, clock, limits, metrics,
               [](const std::string& why) { FAIL(why); });
  for (int i = 0; i < 2'500; ++i) run({CreateAccount{AccountId(std::to_string(10 + i)), Cash()}});
  core.reset();
  const std::size_t rows = journal_after(pruned, 0).size();
  if (limits.keep_journal) {
    CHECK(pruned.prunes == 0);
    CHECK(rows == 2'500);
  } else {
    CHECK(pruned.prunes > 0);
    CHECK(pruned.kept_least == 10);
    CHECK((rows >= 10 && rows < 2'000));
  }
}

TEST_CASE_METHOD(CoreFixture, "when the tables lag too far behind, the core waits for them") {
  limits.unprojected_rows_max = 10;
  store.hold_projections.begin();
  start();
  run(market);  // handed over, held
  for (int i = 0; i < 11; ++i) run({CreateAccount{AccountId(std::to_string(10 + i)), Cash()}});
  Request waiting({QueryOrder{buyer, 1}}, sink);
  submit(*core, waiting);
  CHECK_FALSE(sink.done.try_acquire_for(std::chrono::milliseconds(50)));
  store.hold_projections.end();
  sink.done.acquire();
  CHECK(metrics.lag_waits > 0);
  core.reset();
}

TEST_CASE_METHOD(CoreFixture, "before the core has to wait for the tables, the projector hurries") {
  limits.unprojected_rows_max = 10;
  limits.projection_interval_ms = 60'000;
  start();
  run(market);  // projected at once; the next projection could begin a minute later
  std::vector<Command> accounts;
  for (int i = 0; i < 8; ++i)
    accounts.push_back(CreateAccount{AccountId(std::to_string(10 + i)), Cash()});
  run(accounts);
  for (int tries = 0; tries < 10'000 && metrics.projected_batch <= 1; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(metrics.projected_batch > 1);
  CHECK(metrics.slowed_batches > 0);
  CHECK(metrics.lag_waits == 0);
  core.reset();
}

TEST_CASE_METHOD(
    CoreFixture,
    "a reply has a bounded length: what could be long is refused, other cancels list nothing") {
  limits.reply_executions_max = 12;
  start();
  run(market);
  std::vector<Command> trades{
      PlaceOrder{buyer, spy, Side::buy, Shares::whole(20), Price::whole(10)}};
  for (int i = 0; i < 6; ++i)
    trades.push_back(PlaceOrder{seller, spy, Side::sell, Shares::whole(1), Price::whole(10)});
  run(trades);
  const QueryOrder query{buyer, 1};
  QueryOrder past = query;  // skips all six executions, and lists none
  past.from = UINT64_MAX;
  const auto skipped = run({past, past, past});
  CHECK(std::get<Status>(skipped[1]).executions.empty());
  CHECK(skipped[2] == Outcome(Rejected{Reason::reply_too_long}));
  const auto outcomes = run({query, query, query, CancelOrder{buyer, 1}});
  CHECK(std::holds_alternative<Status>(outcomes[0]));
  CHECK(std::holds_alternative<Status>(outcomes[1]));
  CHECK(outcomes[2] == Outcome(Rejected{Reason::reply_too_long}));
  const Status& canceled_order = std::get<Canceled>(outcomes[3]).status;
  CHECK((canceled_order.canceled == Shares::whole(14) && canceled_order.executions.empty()));
  CHECK(canceled_order.next == 1);
  // Each order that a cancel of all orders reports counts.
  std::vector<Command> orders;
  for (int i = 0; i < 12; ++i)
    orders.push_back(PlaceOrder{buyer, spy, Side::buy, Shares::whole(1), Price::whole(1)});
  run(orders);
  const CancelAll cancel_all{buyer, {}};
  const auto canceled = run({cancel_all, orders[0], cancel_all, query, orders[0]});
  CHECK(std::get<CanceledAll>(canceled[0]).orders.size() == 12);
  CHECK(canceled[2] == Outcome(Rejected{Reason::reply_too_long}));
  CHECK(canceled[3] == Outcome(Rejected{Reason::reply_too_long}));
  CHECK(std::holds_alternative<Opened>(canceled[4]));
  CHECK(std::get<CanceledAll>(run({cancel_all})[0]).orders.size() == 2);
  std::vector<Outcome> from_tables;
  for (int tries = 0; tries < 10'000 && metrics.orders_read == 0; ++tries)
    from_tables = run({query, query, query});
  CHECK(metrics.orders_read > 0);
  CHECK(from_tables[0] == from_tables[1]);
  CHECK(from_tables[2] == Outcome(Rejected{Reason::reply_too_long}));
  const auto skipped_in_tables = run({past, past, past});
  CHECK(std::get<Status>(skipped_in_tables[1]).executions.empty());
  CHECK(skipped_in_tables[2] == Outcome(Rejected{Reason::reply_too_long}));
  // A cancel or replace lists nothing, so it is never too long.
  const int executions_read = store.executions_read;
  const ReplaceOrder replace{buyer, Side::buy, 1, Shares::whole(30), Price::whole(1)};
  const auto refused = run({query, query, CancelOrder{buyer, 1}, replace});
  CHECK(refused[2] == Outcome(Rejected{Reason::nothing_open}));
  CHECK(refused[3] == Outcome(Rejected{Reason::nothing_open}));
  CHECK(store.executions_read == executions_read + 2);
  core.reset();
}

TEST_CASE("an order in the tables is listed in parts of a hundred thousand executions") {
  constexpr std::uint64_t total = 250'000;
  const auto listed = [&](std::uint64_t from) {
    QueryOrder query{AccountId("1"), 7};
    query.from = from;
    const ExecutionRange range = executions_to_read(query);
    CHECK(range.count == 100'000);
    StoredOrder stored{.row = {.id = 7}, .executions_total = total};
    for (std::uint64_t i = range.begin(total); i < range.end(total); ++i)
      stored.executions.push_back({Shares::from_units(std::int64_t(i) + 1), Price::whole(1), {}});
    const Status status = std::get<Status>(outcome_from_tables(query, 0, stored));
    CHECK(status.skipped == std::min(from - 1, total));
    const std::int64_t first =
        status.executions.empty() ? 0 : status.executions.front().shares.units();
    return std::array<std::int64_t, 3>{first, std::int64_t(status.executions.size()),
                                       std::int64_t(status.next)};
  };
  using Listed = std::array<std::int64_t, 3>;
  CHECK(listed(1) == Listed{1, 100'000, 100'001});
  CHECK(listed(100'001) == Listed{100'001, 100'000, 200'001});
  CHECK(listed(150'001) == Listed{150'001, 100'000, 0});
  CHECK(listed(250'000) == Listed{250'000, 1, 0});
  CHECK(listed(250'001) == Listed{0, 0, 0});
  CHECK(listed(UINT64_MAX) == Listed{0, 0, 0});
}
