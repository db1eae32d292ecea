// Events of accounts over WebSocket (docs/account-stream.md), through real sockets.
#include <atomic>
#include <set>
#include <thread>

#include "support/tcp_client.hpp"
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct FollowAccount : Follow {
  // Starts the server with accounts 1 and 2, whose keys are secret-of-1 and secret-of-2.
  void start_with_accounts() {
    start_with_keys();
    REQUIRE(post("<create key='key-of-operator'><account id='1' balance='10' key='secret-of-1'/>"
                 "<account id='2' balance='10' key='secret-of-2'/></create>")
                .body.find("error") == std::string::npos);
  }
  static std::string subscribe_account(const std::string& account, std::optional<int> from = {},
                                       const std::string& key = "") {
    nlohmann::json of{{"account", account}};
    if (from) of["from"] = *from;
    if (!key.empty()) of["key"] = key;
    return nlohmann::json{{"subscribe", of}}.dump();
  }
  Socket follow_account(const std::string& account, std::optional<int> from = {}) {
    Socket socket = follow();
    send(socket, subscribe_account(account, from));
    return socket;
  }
  // Returns the next `count` events, from any number of messages, without their times.
  static std::vector<nlohmann::json> events(Socket& socket, std::size_t count) {
    std::vector<nlohmann::json> all;
    while (all.size() < count) {
      const nlohmann::json message = receive(socket);
      REQUIRE(message["type"] == "events");
      for (nlohmann::json event : message["events"]) {
        CHECK(event.erase("time_us") == 1);
        all.push_back(event);
      }
    }
    CHECK(all.size() == count);
    return all;
  }
  static std::vector<int> numbers(const std::vector<nlohmann::json>& events) {
    std::vector<int> numbers;
    for (const nlohmann::json& event : events) numbers.push_back(event["number"]);
    return numbers;
  }
  static std::string error_of(Socket& socket, const std::string& message) {
    send(socket, message);
    const nlohmann::json reply = receive(socket);
    CHECK(reply["type"] == "error");
    CHECK(reply["account"] == nlohmann::json::parse(message)["subscribe"]["account"]);
    return reply.value("error", "") + ": " + reply.value("code", "");
  }
};

}  // namespace

TEST_CASE_METHOD(FollowAccount,
                 "a subscriber of an account gets a snapshot, then every event after it") {
  start();
  trade();
  transact(1, "<order sym='SPY' amount='2' limit='7' ref='mine'/>");
  transact(2, "<order sym='SPY' amount='-40' limit='140'/>");
  await_view();
  Socket socket = follow_account("1");
  nlohmann::json snapshot = receive(socket);
  for (nlohmann::json& order : snapshot["orders"]) CHECK(order.erase("opened_at_us") == 1);
  CHECK(snapshot.erase("batch") == 1);
  CHECK(
      snapshot ==
      R"({"type": "account", "number": 1, "newest_execution": 1, "account": "1", "balance": "85419",
    "reserved": "8754.2", "positions": [{"symbol": "SPY", "shares": "40", "reserved": "0"}],
    "open_orders": 2, "orders": [
    {"order": 1, "symbol": "SPY", "side": "buy", "shares": "100", "limit": "145.67", "open": "60"},
    {"order": 2, "ref": "mine", "symbol": "SPY", "side": "buy", "shares": "2", "limit": "7",
     "open": "2"}]})"_json);
  transact(2, "<order sym='SPY' amount='-70' limit='140'/>");
  transact(1, "<replace ref='mine' amount='3' limit='141'/><cancel ref='mine'/>");
  const std::uint64_t batch = metrics.batch;
  CHECK(events(socket, 3) == std::vector<nlohmann::json>{{{"number", 2},
                                                          {"event", "executed"},
                                                          {"order", 1},
                                                          {"symbol", "SPY"},
                                                          {"side", "buy"},
                                                          {"shares", "60"},
                                                          {"price", "145.67"},
                                                          {"open", "0"},
                                                          {"execution", 2},
                                                          {"role", "maker"},
                                                          {"balance", "85419"},
                                                          {"position", "100"},
                                                          {"batch", batch - 1}},
                                                         {{"number", 3},
                                                          {"event", "replaced"},
                                                          {"order", 2},
                                                          {"ref", "mine"},
                                                          {"symbol", "SPY"},
                                                          {"side", "buy"},
                                                          {"shares", "3"},
                                                          {"limit", "141"},
                                                          {"open", "3"},
                                                          {"balance", "85010"},
                                                          {"position", "100"},
                                                          {"batch", batch}},
                                                         {{"number", 4},
                                                          {"event", "executed"},
                                                          {"order", 2},
                                                          {"ref", "mine"},
                                                          {"symbol", "SPY"},
                                                          {"side", "buy"},
                                                          {"shares", "3"},
                                                          {"price", "140"},
                                                          {"open", "0"},
                                                          {"execution", 3},
                                                          {"role", "taker"},
                                                          {"balance", "85013"},
                                                          {"position", "103"},
                                                          {"batch", batch}}});
}

TEST_CASE_METHOD(FollowAccount, "a live follower gets its events without a read of the tables") {
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  store.hold_reads.begin();
  transact(1, "<order sym='SPY' amount='2' limit='7' ref='mine'/>");
  transact(1, "<cancel ref='mine'/>");
  const std::vector<nlohmann::json> live = events(socket, 2);
  store.hold_reads.end();
  CHECK(numbers(live) == std::vector{2, 3});
  Socket again = follow_account("1", 2);
  CHECK(receive(again)["type"] == "subscribed");
  CHECK(events(again, 2) == live);
}

TEST_CASE_METHOD(FollowAccount, "a follower that is behind gets the rest from the tables") {
  options.http.recent_events_max = 2;
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  std::vector<int> all;
  for (int round = 0; round < 5; ++round) {
    std::string orders;
    for (int i = 0; i < 7; ++i) orders += "<order sym='SPY' amount='1' limit='7'/>";
    transact(1, orders);
    for (int i = 0; i < 7; ++i) all.push_back(2 + int(all.size()));
  }
  CHECK(numbers(events(socket, all.size())) == all);
}

TEST_CASE_METHOD(FollowAccount, "several followers of an account get each event once") {
  options.http.recent_events_max = 2;
  start();
  trade();
  std::vector<Socket> sockets;
  for (int i = 0; i < 6; ++i) {
    sockets.push_back(follow_account("1"));
    CHECK(receive(sockets.back())["type"] == "account");
  }
  std::vector<int> all;
  for (int round = 0; round < 50; ++round) {
    std::string orders;
    for (int i = 0; i < 7; ++i) orders += "<order sym='SPY' amount='1' limit='7'/>";
    transact(1, orders);
    for (int i = 0; i < 7; ++i) all.push_back(2 + int(all.size()));
  }
  for (Socket& socket : sockets) CHECK(numbers(events(socket, all.size())) == all);
}

TEST_CASE_METHOD(FollowAccount, "a connection that follows many accounts gets all their events") {
  options.http.recent_events_max = 2;
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  send(socket, subscribe_account("2"));
  CHECK(receive(socket)["type"] == "account");
  for (int round = 0; round < 20; ++round) {
    transact(1, "<order sym='SPY' amount='1' limit='7'/><order sym='SPY' amount='1' limit='7'/>");
    transact(2, "<order sym='SPY' amount='-1' limit='900'/>");
  }
  std::map<std::string, std::vector<int>> got;
  while (got["1"].size() < 40 || got["2"].size() < 20) {
    const nlohmann::json message = receive(socket);
    for (const nlohmann::json& event : message["events"])
      got[message["account"]].push_back(event["number"]);
  }
  for (const auto& [account, numbers] : got)
    for (std::size_t i = 0; i < numbers.size(); ++i) REQUIRE(numbers[i] == int(i) + 2);
}

TEST_CASE_METHOD(FollowAccount, "an event has the reference of an order from before a start") {
  start();
  trade();
  transact(1, "<order sym='SPY' amount='1' limit='1' ref='old'/>");
  // A start reads the newest 1,024 events of the account.
  for (int round = 0; round < 11; ++round) {
    std::string orders;
    for (int i = 0; i < 100; ++i) {
      const std::string ref = "ref='r" + std::to_string(100 * round + i) + "'";
      orders += "<order sym='SPY' amount='1' limit='1' " + ref + "/><cancel " + ref + "/>";
    }
    transact(1, orders);
  }
  await_view();
  stop();
  start();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  transact(1, "<cancel id='2'/>");
  const nlohmann::json canceled = events(socket, 1)[0];
  CHECK((canceled["event"] == "canceled" && canceled["ref"] == "old"));
}

TEST_CASE_METHOD(FollowAccount, "a client that comes back gets exactly what it missed") {
  options.http.events_max = 3;
  start();
  trade();
  Socket first = follow_account("1", 1);
  CHECK(receive(first) == R"({"type": "subscribed", "account": "1", "from": 1, "newest": 1})"_json);
  const nlohmann::json began = events(first, 1)[0];
  CHECK(began.size() == 4);
  CHECK((began["event"] == "began" && began["number"] == 1 && began["balance"] == "85433"));
  first.next_layer().close();
  std::string orders;
  for (int i = 0; i < 10; ++i) orders += "<order sym='SPY' amount='1' limit='1'/>";
  transact(1, orders);
  await_view();
  Socket second = follow_account("1", 4);
  CHECK(receive(second) ==
        R"({"type": "subscribed", "account": "1", "from": 4, "newest": 11})"_json);
  CHECK(numbers(events(second, 8)) == std::vector{4, 5, 6, 7, 8, 9, 10, 11});
  // nothing is missing, and the next one is not there yet
  Socket third = follow_account("1", 12);
  CHECK(receive(third)["newest"] == 11);
  transact(1, "<cancel id='5'/>");
  for (Socket* const socket : {&second, &third}) {
    const nlohmann::json canceled = events(*socket, 1)[0];
    CHECK((canceled["number"] == 12 && canceled["reason"] == "client"));
  }
}

TEST_CASE_METHOD(FollowAccount, "events keep their numbers when the server starts again") {
  start();
  trade();
  Socket before = follow_account("1");
  receive(before);
  transact(1, "<order sym='SPY' amount='1' limit='1'/><order sym='SPY' amount='2' limit='1'/>");
  const std::vector<nlohmann::json> seen = events(before, 2);
  stop();
  start();
  transact(1, "<cancel id='3'/>");
  await_view();
  Socket after = follow_account("1", 2);
  CHECK(receive(after)["newest"] == 4);
  const std::vector<nlohmann::json> all = events(after, 3);
  CHECK(std::vector(all.begin(), all.begin() + 2) == seen);
  CHECK(all[2]["event"] == "canceled");
}

TEST_CASE_METHOD(FollowAccount, "a subscription is refused with a reason") {
  options.http.websocket_subscriptions_max = 2;
  options.http.stale_ms = 200;  // the wait for an event that does not come
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["number"] == 1);
  CHECK(error_of(socket, subscribe_account("9")) == "unknown account: unknown_account");
  CHECK(error_of(socket, subscribe_account("one")) ==
        "an account id is 1 to 64 digits: malformed_id");
  CHECK(error_of(socket, subscribe_account("1", 3)) ==
        "the newest event of this account is 1: subscribe without from for a snapshot, and go on "
        "from it: unknown_event");
  send(socket, subscribe("SPY"));
  CHECK(receive(socket)["type"] == "snapshot");
  CHECK(error_of(socket, subscribe_account("2")) ==
        "at most 2 subscriptions a connection: too_many_subscriptions");
  // none of that changed the first subscription
  send(socket, R"({"unsubscribe": "SPY"})");
  CHECK(receive(socket)["type"] == "unsubscribed");
  transact(1, "<cancel id='1'/>");
  CHECK(events(socket, 1)[0]["event"] == "canceled");
}

TEST_CASE_METHOD(FollowAccount, "an account can be followed as soon as it is created") {
  start();
  trade();
  store.hold_projections.begin();  // so that the view does not know it yet
  post("<create><account id='3' balance='5'/></create>");
  Socket socket = follow_account("3");
  store.hold_projections.end();
  const nlohmann::json snapshot = receive(socket);
  CHECK((snapshot["number"] == 1 && snapshot["balance"] == "5"));
}

TEST_CASE_METHOD(FollowAccount, "a subscription that has to wait holds up no other") {
  options.http.stale_ms = 500;  // as above
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["number"] == 1);
  store.hold_projections.begin();
  send(socket, subscribe_account("2"));     // until its events are recorded
  send(socket, subscribe_account("1", 9));  // until there are that many
  send(socket, subscribe_account("77"));
  CHECK(receive(socket)["account"] == "77");
  store.hold_projections.end();
  CHECK(receive(socket)["account"] == "2");
  CHECK(receive(socket)["code"] == "unknown_event");
}

TEST_CASE_METHOD(FollowAccount, "each subscription is answered once, however fast they come") {
  start();
  trade();
  Socket socket = follow();
  for (int i = 0; i < 50; ++i) {
    send(socket, subscribe_account("1", 1));
    send(socket, subscribe_account("1"));
    send(socket, subscribe_account("2"));
    send(socket, subscribe_account("77"));
  }
  send(socket, R"({"unsubscribe": {"account": "1"}})");
  std::vector<std::string> of_1;
  std::map<std::string, int> of_others;
  while (of_1.empty() || of_1.back() != "unsubscribed" || of_others["2"] < 50 ||
         of_others["77"] < 50) {
    const nlohmann::json message = receive(socket);
    if (message["type"] == "events") continue;
    if (message["account"] == "1")
      of_1.push_back(message["type"]);
    else
      ++of_others[message["account"]];
  }
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) expected.insert(expected.end(), {"subscribed", "account"});
  expected.push_back("unsubscribed");
  CHECK(of_1 == expected);
  CHECK(of_others == std::map<std::string, int>{{"2", 50}, {"77", 50}});
}

TEST_CASE_METHOD(FollowAccount, "events that the tables lack are not said to be unknown") {
  options.http.stale_ms = 300;  // the wait for an event that does not come
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["number"] == 1);
  store.hold_projections.begin();
  transact(1, "<order sym='SPY' amount='1' limit='1'/><order sym='SPY' amount='1' limit='1'/>");
  CHECK(numbers(events(socket, 2)) == std::vector{2, 3});  // before they are in the tables
  send(socket, subscribe_account("1", 4));
  CHECK(receive(socket)["code"] == "service_unavailable");
  store.hold_projections.end();
}

TEST_CASE_METHOD(FollowAccount,
                 "a second subscription of an account takes the place of the first") {
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  send(socket, subscribe_account("1", 1));
  CHECK(receive(socket)["type"] == "subscribed");
  CHECK(numbers(events(socket, 1)) == std::vector{1});
  transact(1, "<order sym='SPY' amount='1' limit='1'/>");
  CHECK(numbers(events(socket, 1)) == std::vector{2});
  send(socket, R"({"unsubscribe": {"account": "1"}})");
  CHECK(receive(socket) == R"({"type": "unsubscribed", "account": "1"})"_json);
  transact(1, "<order sym='SPY' amount='1' limit='1'/>");
  await_view();
  send(socket, subscribe_account("2"));
  CHECK(receive(socket)["account"] == "2");
  send(socket, R"({"unsubscribe": {"account": "77"}})");
  CHECK(receive(socket)["account"] == "77");
}

TEST_CASE_METHOD(FollowAccount, "with keys, an account is seen by its own key alone") {
  start_with_accounts();
  await_view();
  Socket socket = follow();
  const std::string unknown = error_of(socket, subscribe_account("7", {}, "secret-of-1"));
  CHECK(unknown == "unknown account: unknown_account");
  CHECK(error_of(socket, subscribe_account("1")) == unknown);
  CHECK(error_of(socket, subscribe_account("1", 1, "secret-of-2")) == unknown);
  CHECK(metrics.batch == 1);  // nothing is recorded for a wrong key
  send(socket, subscribe_account("1", {}, "secret-of-1"));
  CHECK(receive(socket)["balance"] == "10");
}

TEST_CASE_METHOD(FollowAccount, "a follower knows the rules of its account, and each change") {
  start();
  trade();
  post("<create><set-account id='1' orders-max='7'/></create>");
  await_view();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["orders_max"] == 7);
  Socket other = follow_account("2");
  CHECK(receive(other)["type"] == "account");
  post(
      "<create><set-account id='1' access='frozen' cancel-orders='true' position-max='9.5'/>"
      "</create>");
  std::map<std::string, nlohmann::json> both;  // in either order
  for (int i = 0; i < 2; ++i) {
    const nlohmann::json message = receive(socket);
    both[message["type"]] = message;
  }
  CHECK(both["events"]["events"][0]["reason"] == "operator");
  CHECK(both["rules"] == R"({"type": "rules", "account": "1", "access": "frozen", "orders_max": 7,
                             "position_max": "9.5"})"_json);
  await_view();
  Socket back = follow_account("1", 3);
  CHECK(receive(back) ==
        R"({"type": "subscribed", "account": "1", "from": 3, "newest": 2, "access": "frozen",
            "orders_max": 7, "position_max": "9.5"})"_json);
  post(
      "<create><set-account id='1' access='active' orders-max='0' position-max='0' name='Ada'/>"
      "</create>");
  for (Socket* const one : {&socket, &back})
    CHECK(receive(*one) == R"({"type": "rules", "account": "1", "name": "Ada"})"_json);
  transact(2, "<order sym='SPY' amount='-1' limit='900'/>");
  CHECK(events(other, 1)[0]["number"] == 2);  // and no event of account 1
}

TEST_CASE_METHOD(FollowAccount, "a subscription ends when its account gets another key, or none") {
  start_with_accounts();
  const nlohmann::json ended =
      R"({"type": "error", "account": "1", "code": "key_changed",
          "error": "the key of the account was changed or revoked; subscribe with its key"})"_json;
  Socket first = follow(), second = follow();
  for (Socket* const one : {&first, &second}) {
    send(*one, subscribe_account("1", {}, "secret-of-1"));
    CHECK(receive(*one)["type"] == "account");
  }
  send(second, subscribe_account("2", {}, "secret-of-2"));
  CHECK(receive(second)["account"] == "2");
  // a client with the earlier key gets no event
  post("<create key='key-of-operator'><set-key id='1' key='another-of-1'/></create>");
  post("<create key='key-of-operator'><adjust-cash id='1' amount='5'/></create>");
  for (Socket* const one : {&first, &second}) CHECK(receive(*one) == ended);
  send(first, subscribe_account("1", {}, "another-of-1"));
  CHECK(receive(first)["balance"] == "15");
  // without an event, too
  post("<create key='key-of-operator'><set-key id='1' revoke='true'/></create>");
  CHECK(receive(first) == ended);
  CHECK(error_of(first, subscribe_account("1", {}, "another-of-1")) ==
        "unknown account: unknown_account");
  // other subscriptions continue, and so does the connection
  post("<create key='key-of-operator'><adjust-cash id='2' amount='5'/></create>");
  CHECK(events(second, 1)[0]["balance"] == "15");
}

TEST_CASE_METHOD(FollowAccount, "a slow reader misses no event, and holds up no other") {
  options.http.websocket_backlog_bytes_max = 100'000;
  options.http.websocket_idle_ms = 600'000;
  start();
  trade();
  Socket slow(connect());
  slow.next_layer().set_option(asio::socket_base::receive_buffer_size(65'536));
  slow.handshake("exchange", "/ws");
  send(slow, subscribe_account("1"));
  Socket quick = follow_account("1");
  CHECK(receive(quick)["number"] == 1);
  std::string orders;
  for (int i = 0; i < 500; ++i) orders += "<order sym='SPY' amount='0.01' limit='1'/>";
  // more than the kernel's buffers and the backlog hold
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    transact(1, orders);
    events(quick, 500);
  }
  CHECK(receive(slow)["type"] == "account");
  const std::vector<nlohmann::json> all = events(slow, rounds * 500);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i]["number"] == i + 2);
  CHECK(metrics.websockets_dropped == 0);
}

TEST_CASE_METHOD(FollowAccount, "an order that ends with its connection says so in its event") {
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["number"] == 1);
  TcpClient(port()).request(
      "<transactions id='1' cancel-on-disconnect='true'><order sym='SPY' amount='1' limit='1'/>"
      "</transactions>");
  const std::vector<nlohmann::json> both = events(socket, 2);
  CHECK(both[0]["event"] == "opened");
  CHECK((both[1]["event"] == "canceled" && both[1]["reason"] == "disconnect"));
}

TEST_CASE_METHOD(FollowAccount, "a slow reader of many accounts misses no event") {
  constexpr int accounts = 20, per_account = 200;
  options.http.websocket_backlog_bytes_max = 20'000;  // less than the events of one round
  options.http.events_max = 50;
  start();
  std::string creations;
  for (int i = 1; i <= accounts; ++i)
    creations += "<account id='" + std::to_string(i) + "' balance='1000'/>";
  post("<create>" + creations + "<symbol sym='SPY'/></create>");
  std::vector<int> next(accounts + 1, 1);
  const auto take = [&](Socket& socket, int wanted) {
    while (wanted > 0) {
      const nlohmann::json message = receive(socket);
      if (message["type"] != "events") continue;
      const int account = std::stoi(message["account"].get<std::string>());
      for (const nlohmann::json& event : message["events"]) {
        REQUIRE(event["number"] == next[std::size_t(account)]++);
        --wanted;
      }
    }
  };
  Socket first = follow();
  for (int i = 1; i <= accounts; ++i) send(first, subscribe_account(std::to_string(i), 1));
  take(first, accounts);
  std::string orders;
  for (int i = 0; i < per_account; ++i) orders += "<order sym='SPY' amount='1' limit='1'/>";
  for (int i = 1; i <= accounts; ++i) transact(i, orders);
  // subscribes to all at once, and reads nothing at first
  Socket second = follow();
  for (int i = 1; i <= accounts; ++i)
    send(second, subscribe_account(std::to_string(i), next[std::size_t(i)]));
  await_view();
  take(second, accounts * per_account);
  CHECK(metrics.websockets_dropped == 0);
}

TEST_CASE_METHOD(FollowAccount, "a subscription waits while the store cannot be read") {
  start();
  trade();
  Socket socket = follow_account("1");
  CHECK(receive(socket)["number"] == 1);
  FaultyStore::plan(store.read_faults, {FaultyStore::Fault::lost, FaultyStore::Fault::lost});
  transact(1, "<cancel id='1'/>");
  CHECK(events(socket, 1)[0]["event"] == "canceled");
}

TEST_CASE_METHOD(FollowAccount, "events do not wait for the pause after a projection without any") {
  options.core.projection_interval_ms = 3'600'000;
  start();
  post(small_market);
  Socket socket = follow_account("1");
  CHECK(receive(socket)["type"] == "account");
  transact(2, "<order sym='SPY' amount='-1' limit='9'/>");
  transact(1, "<order sym='SPY' amount='1' limit='1'/>");
  CHECK(events(socket, 1)[0]["event"] == "opened");
}

TEST_CASE_METHOD(FollowAccount,
                 "fills up to the snapshot and events after it have each execution once") {
  options.core.projection_interval_ms = 1;
  start();
  trade();
  std::atomic<bool> enough = false;
  std::thread trading([&] {
    while (!enough) {
      transact(2, "<order sym='SPY' amount='-1' limit='9'/>");
      transact(1, "<order sym='SPY' amount='1' limit='9'/>");
    }
  });
  nlohmann::json snapshot, message;
  Socket socket = follow_account("1");
  snapshot = receive(socket);
  std::set<ExecutionId> expected, of_events;
  while (of_events.size() < 10) {
    message = receive(socket);
    for (const nlohmann::json& event : message["events"])
      if (event["event"] == "executed")
        CHECK(of_events.insert(event["execution"].get<ExecutionId>()).second);
  }
  enough = true;
  trading.join();
  const ExecutionId before = snapshot["newest_execution"], last = *of_events.rbegin();
  CHECK(*of_events.begin() > before);
  const nlohmann::json fills = get("/api/accounts/1/fills").json();
  for (const nlohmann::json& fill : fills["fills"])
    if (fill["execution"] > before && fill["execution"] <= last)
      expected.insert(fill["execution"].get<ExecutionId>());
  CHECK(of_events == expected);
}
