// The data of /metrics about requests.
#include "base/version.hpp"
#include "support/tcp_client.hpp"
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

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
