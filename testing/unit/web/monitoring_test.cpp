// What monitoring reads: /healthz and /readyz, also of a server that cannot know whether it is the
// active server, and the data of /metrics about requests.
#include "base/version.hpp"
#include "support/tcp_client.hpp"
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

TEST_CASE_METHOD(Market, "metrics count orders by kind, and canceled ones by reason") {
  stop();
  start();
  transact(1,
           "<order sym='SPY' amount='1' limit='1' post='true'/>"
           "<order sym='SPY' amount='1' limit='1' tif='ioc'/>"
           "<order sym='SPY' amount='1' limit='1' tif='ioc'/>"
           "<order sym='SPY' amount='1' limit='1' tif='fok'/><cancel id='3'/><cancel id='3'/>");
  transact(2, "<order sym='SPY' amount='-1' limit='1' tif='fok'/>");
  // One resting order is canceled by self-trade prevention, two by a cancel of all, one with its
  // connection.
  transact(1,
           "<order sym='S' amount='1' limit='1'/><order sym='S' amount='1' limit='1'/>"
           "<order sym='S' amount='1' type='market'/>");
  {
    TcpClient client(port());
    client.request(
        "<transactions id=\"1\" cancel-on-disconnect=\"true\">"
        "<order sym=\"S\" amount=\"1\" limit=\"1\"/></transactions>");
    client.end();
    CHECK(client.rest() == "");
  }
  post("<create><symbol sym=\"S\"><account id=\"1\">1</account></symbol></create>");
  transact(1,
           "<cancel sym='S'/><order sym='S' amount='1' limit='1'/>"
           "<order sym='S' amount='-1' limit='1' stp='cancel-resting'/>");
  await_view();
  const std::string metrics_page = get("/metrics").body;
  for (const char* line :
       {"orders_total{kind=\"limit\"} 7", "orders_total{kind=\"ioc\"} 2",
        "orders_total{kind=\"fok\"} 1", "orders_total{kind=\"post\"} 1",
        "orders_total{kind=\"market\"} 1", "canceled_orders_total{reason=\"client\"} 3",
        "canceled_orders_total{reason=\"disconnect\"} 1", "canceled_orders_total{reason=\"stp\"} 1",
        "canceled_orders_total{reason=\"immediate\"} 3"})
    CHECK_THAT(metrics_page, contains_text("\nexchange_" + std::string(line) + "\n"));
}

TEST_CASE_METHOD(Market, "metrics count commands by kind and result, batches, trades and times") {
  post("<create><account id=\"1\" balance=\"5\"/></create>");
  transact(1,
           "<order sym='SPY' amount='-900' limit='1'/><query id='2'/><cancel id='9'/>"
           "<query id='x'/>");
  await_view();
  const Exchanged got = get("/metrics");
  CHECK(got.content_type == "text/plain; version=0.0.4; charset=utf-8");
  const auto has = [&](const std::string& line) {
    INFO(line);
    CHECK(got.body.find("\n" + line + "\n") != std::string::npos);
  };
  const std::string version = exchange::version();
  has("exchange_info{policy=\"loop\",threads=\"2\",store=\"memory\",version=\"" +
      version.substr(0, version.find(' ')) + "\"} 1");
  has("exchange_requests_total 5");
  has("exchange_commands_total{kind=\"create_account\",result=\"ok\"} 2");
  has("exchange_commands_total{kind=\"create_account\",result=\"account_exists\"} 1");
  has("exchange_commands_total{kind=\"place_shares\",result=\"ok\"} 1");
  has("exchange_commands_total{kind=\"order\",result=\"ok\"} 2");
  has("exchange_commands_total{kind=\"order\",result=\"insufficient_shares\"} 1");
  has("exchange_commands_total{kind=\"query\",result=\"unknown_order\"} 1");
  has("exchange_commands_total{kind=\"cancel\",result=\"unknown_order\"} 1");
  has("exchange_client_errors_total 1");
  has("exchange_executions_total 1");
  has("exchange_batch_commands_count 5");
  has("exchange_batch_commands_sum 9");
  has("exchange_batch_commands_bucket{le=\"1\"} 3");
  has("exchange_batch_commands_bucket{le=\"3\"} 5");
  has("exchange_connections{policy=\"loop\"} 0");
  has("exchange_projection_lag_batches 0");
  has("exchange_projection_lag_seconds 0");
  has("exchange_store_available 1");
  CHECK(got.body.find("\nprocess_start_time_seconds 1") != std::string::npos);  // since 2001
  CHECK(got.body.ends_with("# EOF\n"));
}

TEST_CASE_METHOD(Market, "metrics count replaces by result, and they open and cancel no orders") {
  transact(1,
           "<replace id='1' amount='90' limit='145'/><replace id='1' amount='-90' limit='145'/>"
           "<replace id='1' amount='40' limit='145'/><replace id='1' amount='80' limit='145'/>");
  await_view();
  const std::string metrics_page = get("/metrics").body;
  for (const char* line : {"commands_total{kind=\"replace\",result=\"ok\"} 2",
                           "commands_total{kind=\"replace\",result=\"other_side\"} 1",
                           "commands_total{kind=\"replace\",result=\"executed_more\"} 1",
                           "orders_total{kind=\"limit\"} 2",
                           "canceled_orders_total{reason=\"client\"} 0", "executions_total 1"})
    CHECK_THAT(metrics_page, contains_text("\nexchange_" + std::string(line) + "\n"));
}

TEST_CASE_METHOD(
    HttpFixture,
    "the age of changes that the tables lack is reported, and an early reader sees the state before") {
  start();
  store.hold_projections.begin();
  post(small_market);
  post(first_bid);
  const std::string text = get("/metrics").body;
  CHECK(text.find("exchange_projection_lag_batches 2\n") != std::string::npos);
  CHECK(text.find("exchange_projection_lag_seconds 0\n") == std::string::npos);
  CHECK(get("/api/symbols").json() == R"({"batch": 0, "symbols": []})"_json);
  store.hold_projections.end();
  await_view();
  CHECK(get("/metrics").body.find("exchange_projection_lag_seconds 0\n") != std::string::npos);
}
