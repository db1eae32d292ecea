// The answers of /healthz and /readyz, and of a server that cannot know whether it is the active
// server.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct HangingSink final : CompletionSink {
  void completed(std::span<Submission* const>) override {
    entered = true;
    hold.pass();
    left = true;
  }
  Hold hold;
  std::atomic<bool> entered{false}, left{false};
};

// Only the thread of answers asks for its status. Each call has a number.
struct BusyStore final : MemoryStore {
  StoreStatus status() const override {
    hold.pass();
    return {.epoch = ++asked};
  }
  mutable Hold hold;
  mutable std::atomic<Epoch> asked{0};
};

struct Busy : HttpFixture {
  Busy() {
    server = std::make_unique<Server>(
        options, Server::Surroundings{busy, system_clock(), metrics, keys}, OnFatal());
  }
  ~Busy() {
    busy.hold.end();
    server.reset();
  }
  void await_requests(std::uint64_t count) {
    while (metrics.http_requests < count) std::this_thread::yield();
  }
  BusyStore busy;
};

}  // namespace

TEST_CASE_METHOD(
    HttpFixture,
    "readiness reports an unavailable store, a store that does not answer, and a stuck journal") {
  using Fault = FaultyStore::Fault;
  const auto unready = [&](const std::string& sentence) {
    const Exchanged response = get("/readyz");
    return response.status == 503 && response.body.starts_with(sentence);
  };
  start();
  CHECK(get("/readyz").body == "ready\n");

  store.append_faults.with([](auto& faults) { faults = {Fault::lost}; });
  store.resolve_faults.with([](auto& faults) { faults.assign(1'000, Fault::lost); });
  asio::ip::tcp::socket creation = send(http::verb::post, "/api/xml", small_market);
  while (!unready("the store is unavailable\n")) std::this_thread::yield();
  const Exchanged refused = post(first_bid);
  CHECK((refused.status == 503 &&
         refused.body == "<results><error>the store is unavailable</error></results>\n"));
  store.resolve_faults.with([](auto& faults) { faults.clear(); });
  CHECK(read(creation).status == 200);
  CHECK(get("/readyz").status == 200);

  options.http.store_answer_ms = 50;  // takes effect: the server uses this test's options
  options.http.journal_stall_ms = 50;
  store.hold_reads.begin();
  CHECK(get("/api/orders/1").json()["error"] == "the store does not answer");
  while (!unready("the store does not answer\n")) std::this_thread::yield();
  CHECK(get("/healthz").status == 200);
  store.hold_reads.end();
  while (get("/readyz").status != 200) std::this_thread::yield();

  options.http.journal_stall_ms = 20;
  store.hold_appends.begin();
  asio::ip::tcp::socket bid = send(http::verb::post, "/api/xml", first_bid);
  while (!unready("the journal has not moved for 0 s\n")) std::this_thread::yield();
  store.hold_appends.end();
  CHECK(read(bid).status == 200);
  options.http.journal_stall_ms = 60'000;  // a busy machine may be silent for 20 ms
  CHECK(get("/readyz").status == 200);
}

TEST_CASE_METHOD(HttpFixture, "a server without its store is alive, and neither ready nor able") {
  MarketFeed unused(1);
  HttpServer starting({options.net.bind, 0, options.http, options.protocol}, {}, unused, store,
                      metrics);
  const auto ask = [&](const std::string& target) {
    asio::ip::tcp::socket socket(context);
    socket.connect({asio::ip::make_address("127.0.0.1"), starting.port()});
    http::write(socket, get_request(target));
    return read(socket);
  };
  CHECK(ask("/healthz").status == 200);
  for (const char* target : {"/readyz", "/readyz?standby", "/api/symbols", "/api/accounts/1"}) {
    const Exchanged response = ask(target);
    CHECK((response.status == 503 && response.body.find("is starting") != std::string::npos));
  }
  CHECK(ask("/").status == 200);
  CHECK(ask("/api/orders/1").status == 503);

  const auto health = std::make_shared<Health>();
  health->note_journal_read(monotonic_ns());
  starting.show(MarketView(1, 1, 1), health);
  while (ask("/readyz").body != "standby\n") std::this_thread::yield();
  CHECK((ask("/readyz?standby").status == 200 && ask("/readyz?standby").body == "standby\n"));
  CHECK(ask("/api/symbols").status == 200);
  health->note_journal_read(1);  // long ago
  for (const char* target : {"/readyz?standby", "/api/symbols"})
    CHECK_THAT(ask(target).body, contains_text("this standby has not read the journal for "));
  CHECK(ask("/healthz").status == 200);
  starting.stop();
}

// The core hangs in its own code, not in a call of the store.
TEST_CASE_METHOD(HttpFixture,
                 "a core that hangs is not ready, and after a longer while not alive") {
  options.http.journal_stall_ms = 20;
  options.http.dead_ms = 1'000'000;
  start();
  HangingSink sink;
  sink.hold.begin();
  const std::vector<Command> commands{CreateAccount{AccountId("1"), Cash()}};
  Submission submission;
  submission.commands = commands;
  submission.sink = &sink;
  Submission* const one = &submission;
  server->core().submit({&one, 1});
  while (!sink.entered) std::this_thread::yield();
  while (get("/readyz").body.find("the core has been silent for ") != 0) std::this_thread::yield();
  CHECK(get("/healthz").status == 200);
  options.http.dead_ms = 20;
  CHECK_THAT(get("/healthz").body, contains_text("the core has been silent for "));
  CHECK(get("/healthz").status == 503);
  sink.hold.end();
  while (!sink.left) std::this_thread::yield();
  options.http.journal_stall_ms = options.http.dead_ms = 60'000;
  CHECK(get("/readyz").status == 200);
  CHECK(get("/healthz").status == 200);
}

TEST_CASE_METHOD(HttpFixture,
                 "threads of clients that hang are not ready, and after a longer while not alive") {
  start();
  std::int64_t silence_ns = 0;
  Readiness readiness(options.http, store);
  const std::int64_t now_ns = monotonic_ns();
  readiness.become(Readiness::Role::active, server->core().health(), now_ns,
                   [&](std::int64_t) { return silence_ns; });
  CHECK(readiness.not_ready(now_ns).empty());
  silence_ns = 5'001'000'000;
  CHECK(readiness.not_ready(now_ns) == "the threads of clients have been silent for 5 s");
  CHECK(readiness.not_able(now_ns) == readiness.not_ready(now_ns));
  CHECK(readiness.not_alive(now_ns).empty());
  silence_ns = 60'001'000'000;
  CHECK(readiness.not_alive(now_ns) == "the threads of clients have been silent for 60 s");
  readiness.become(Readiness::Role::stopping, server->core().health(), now_ns);
  CHECK(readiness.not_alive(now_ns).empty());
}

TEST_CASE_METHOD(Busy, "what one address asks for delays no health check and no other's answer") {
  constexpr std::uint64_t greedy_requests = 20;
  busy.hold.begin();
  std::vector<asio::ip::tcp::socket> greedy;
  for (std::uint64_t i = 0; i < greedy_requests; ++i)
    greedy.push_back(send(http::verb::get, "/metrics", ""));
  await_requests(greedy_requests);
  asio::ip::tcp::socket other = connect("127.0.0.2");
  http::write(other, get_request("/metrics"));
  await_requests(greedy_requests + 1);
  CHECK(get("/healthz").status == 200);
  CHECK(get("/readyz").status == 503);  // no store yet
  busy.hold.end();
  // Comes after the answer that was in progress, and one more.
  const std::string name = "\nexchange_epoch ", answer = read(other).body;
  CHECK(std::stoi(answer.substr(answer.find(name) + name.size())) <= 3);
}

TEST_CASE_METHOD(HttpFixture,
                 "a server that stops still reports its health, and takes no more requests") {
  start();
  post(small_market);
  server->http().stop();
  CHECK(get("/healthz").status == 200);
  CHECK((post(first_bid).status == 503 &&
         post(first_bid).body == "<results><error>the server is stopping</error></results>\n"));
  CHECK(get("/api/orders/1").status == 503);
  CHECK(get("/readyz").status == 503);
  for (const char* target : {"/api/symbols", "/api/accounts/1"})  // another server may be active
    CHECK(get(target).json()["error"] == "the server is stopping");
}
