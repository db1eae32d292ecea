// /api/days and /api/moments (docs/http-api.md, "Replays of closed days"), through real sockets;
// and the thread that replays.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <future>

#include "days/replayer.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/folder.hpp"
#include "support/recorded_day.hpp"
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

// A server whose store was closed as "monday": accounts 1, with a key, and 2, and a trade.
struct Closed : HttpFixture {
  Closed() {
    options.store = "sqlite:" + folder / "x.db";
    options.auth.scrypt_log2_n = 10;
    SqliteStore closed(folder / "x.db");
    closed.open();
    RecordedDay day;
    const AccountId one("1"), two("2");
    const SymbolName spy("SPY");
    const auto execute = [&](const Command& command) {
      CHECK(day.execute(command, Timestamp{1'000'000 * std::int64_t(day.rows.size() + 1)}));
      day.end_batch();
    };
    execute(CreateAccount{one, Cash::whole(100), hash_key("secret-of-1", 10)});
    execute(CreateAccount{two, Cash()});
    execute(PlaceShares{spy, two, Shares::whole(10)});
    execute(PlaceOrder{one, spy, Side::buy, Shares::whole(3), Price::whole(5)});
    execute(PlaceOrder{two, spy, Side::sell, Shares::whole(1), Price::whole(5)});
    for (const JournalRow& row : day.rows) closed.journal().append(row.batch, row.payload);
    closed.close_day("monday");
  }
  std::string ask(const std::string& target, const Fields& fields = {}) {
    return answer(http::verb::get, target, "", fields);
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_METHOD(Closed,
                 "a closed day is listed, and shown at any moment, beside the running one") {
  start();
  post(small_market);
  CHECK(ask("/api/days") ==
        R"(200 {"days":[{"day":"monday","first_time_us":1000000,"last_time_us":5000000,)"
        R"("whole":true}]})");
  CHECK(get("/api/days/monday?sym=SPY").json()["symbols"] ==
        R"([{"symbol": "SPY", "trades": 1}])"_json);
  const nlohmann::json order =
      R"({"order": 1, "symbol": "SPY", "side": "buy", "shares": "3", "limit": "5", "open": "3",
    "opened_at_us": 4000000})"_json;
  const nlohmann::json before =
      R"({"position": 3, "time_us": 3000000, "bids": [], "asks": [], "trades": [],
    "account": {"account": "1", "balance": "100", "reserved": "0", "positions": [],
      "open_orders": 0, "orders": []}})"_json;
  const nlohmann::json page = get("/api/moments?day=monday&sym=SPY&from=3&account=1").json();
  CHECK(page["state"] == before);
  CHECK(page["until"] == 5);
  CHECK(page["end"] == true);
  REQUIRE(page["changes"].size() == 2);
  nlohmann::json opened = order;
  opened["canceled"] = "0";
  CHECK(page["changes"][0] == nlohmann::json{{"position", 4},
                                             {"time_us", 4'000'000},
                                             {"bids", R"([["5", "3", 1]])"_json},
                                             {"asks", nlohmann::json::array()},
                                             {"trades", nlohmann::json::array()},
                                             {"account",
                                              {{"balance", "85"},
                                               {"reserved", "15"},
                                               {"open_orders", 1},
                                               {"positions", nlohmann::json::array()},
                                               {"orders", nlohmann::json::array({opened})}}}});
  CHECK(page["changes"][1]["trades"] ==
        R"([{"id": 1, "price": "5", "shares": "1", "taker": "sell", "buy_order": 1, "sell_order": 2,
      "time_us": 5000000}])"_json);
  const nlohmann::json at_time = get("/api/moments?day=monday&sym=SPY&at=4500000&limit=1").json();
  CHECK(at_time["state"]["position"] == 4);
  CHECK_FALSE(at_time["state"].contains("account"));
}

TEST_CASE_METHOD(Closed,
                 "a request for a closed day that is invalid gets a status and a sentence") {
  start();
  const std::string moments = "/api/moments?day=monday&sym=SPY";
  for (const auto& [target, answer] : std::vector<std::pair<std::string, std::string>>{
           {"/api/days/tuesday", "404 {\"error\":\"there is no closed day 'tuesday'\""},
           {"/api/days/..", "404 {\"error\":\"there is no closed day '..'\""},
           {"/api/days/monday?sym=X", "404 {\"error\":\"unknown symbol 'X' on this day\""},
           {"/api/days/monday?sym=", "404 {\"error\":\"unknown symbol ''\""},
           {"/api/moments", "400 {\"error\":\"a parameter is missing"},
           {"/api/moments?day=monday", "400 {\"error\":\"a parameter is missing"},
           {"/api/moments?day=../x&sym=SPY", "404 {\"error\":\"there is no closed day '../x'\""},
           {"/api/moments?day=tuesday&sym=SPY",
            "404 {\"error\":\"there is no closed day 'tuesday'\""},
           {"/api/moments?day=monday&sym=X", "404 {\"error\":\"unknown symbol 'X' on this day\""},
           {moments + "&from=-1", "400 {\"error\":\"from is a whole number from 0"},
           {moments + "&from=99999999999999999999", "400 {\"error\":\"from is a whole number"},
           {moments + "&at=now", "400 {\"error\":\"at is a time"},
           {moments + "&from=1&at=now", "400 {\"error\":\"at is a time"},
           {moments + "&limit=1001", "400 {\"error\":\"limit is a whole number from 1 to 1000"},
           {moments + "&account=x", "400 {\"error\":\"an account id is 1 to 64 digits"}}) {
    INFO(target);
    CHECK_THAT(ask(target), contains_text(answer));
  }
  CHECK(get(moments + "&account=9").json()["state"]["account"].is_null());
}

TEST_CASE_METHOD(Closed,
                 "with keys, an account of a closed day is shown with its key of that day alone") {
  start_with_keys();
  const std::string moments = "/api/moments?day=monday&sym=SPY&from=5",
                    of_1 = moments + "&account=1";
  CHECK(ask(of_1) == unknown_account);
  CHECK(ask(of_1, as_2) == unknown_account);
  CHECK(ask(moments + "&account=2", as_2) == unknown_account);  // it had no key
  CHECK(request(http::verb::get, of_1, "", as_1).json()["state"]["account"]["balance"] == "85");
  CHECK(request(http::verb::get, moments + "&account=2", "", as_operator)
            .json()["state"]["account"]["balance"] == "5");
  CHECK(ask(of_1, {{"Authorization", "Bearer key-of-another"}}) == unknown_account);
  CHECK(get(moments).status == 200);
  // whose account it is today does not matter
  keys.set_key(AccountId("1"), hash_key("another-key", 10));
  keys.set_key(AccountId("2"), hash_key("secret-of-2", 10));
  CHECK(request(http::verb::get, of_1, "", as_1).status == 200);
  CHECK(ask(of_1, as_2) == unknown_account);
  CHECK(ask(moments + "&account=2", as_2) == unknown_account);
  keys.set_role(AccountId("2"), Role::market_operator);
  CHECK(request(http::verb::get, of_1, "", as_2).status == 200);
}

TEST_CASE_METHOD(HttpFixture, "a store in memory has no closed days") {
  start();
  CHECK(get("/api/days").json() == R"({"days": []})"_json);
  CHECK(get("/api/days/monday").status == 404);
}

namespace {

// A replayer whose reads of the day wait until the test releases them.
struct Waiting {
  explicit Waiting(ReplayLimits limits = {}) : limits_(limits) {
    context_.restart();
    thread_ = std::thread([this] {
      const auto work = asio::make_work_guard(context_);
      context_.run();
    });
    replayer.emplace(
        [this] {
          return std::make_unique<DaysInMemory>(RecordedDay::random(1, 20).rows, 0,
                                                [this] { released_.wait(); });
        },
        limits_);
  }
  ~Waiting() {
    release();
    replayer.reset();
    context_.stop();
    thread_.join();
  }
  std::future<DayReply> ask(const char* address = "10.0.0.1") {
    Replayer::Question question = [](DayDesk& desk) { return desk.summary("monday", {}); };
    return asio::co_spawn(
        context_,
        replayer->ask(context_, std::move(question), peer_address(asio::ip::make_address(address))),
        asio::use_future);
  }
  void release() {
    if (!std::exchange(is_released_, true)) release_.set_value();
  }

 private:
  const ReplayLimits limits_;
  asio::io_context context_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  bool is_released_ = false;

 public:
  std::optional<Replayer> replayer;

 private:
  std::thread thread_;
};

}  // namespace

TEST_CASE("questions for closed days wait in a queue that is bounded, and fair to addresses") {
  ReplayLimits limits;
  limits.requests_max = 4;
  Waiting waiting(limits);
  std::vector<std::future<DayReply>> asked;
  for (int i = 0; i < 3; ++i) asked.push_back(waiting.ask());
  const auto refused = [&](const char* address) {
    const DayReply answer = waiting.ask(address).get();
    return unsigned(answer.status) == 503 ? answer.text : "";
  };
  const std::string too_many = "too many questions for closed days wait; ask again later";
  CHECK(refused("10.0.0.1") == too_many);
  asked.push_back(waiting.ask("10.0.0.2"));
  CHECK(refused("10.0.0.3") == too_many);
  waiting.release();
  for (auto& one : asked) CHECK(unsigned(one.get().status) == 200);
  CHECK(unsigned(waiting.ask().get().status) == 200);
}

TEST_CASE("a replay that takes long goes on after its request was refused") {
  ReplayLimits limits;
  limits.answer_ms = 20;
  Waiting waiting(limits);
  const DayReply late = waiting.ask().get();
  CHECK((unsigned(late.status) == 503 && late.text.ends_with("ask again")));
  waiting.release();
  DayReply answer = waiting.ask().get();
  while (unsigned(answer.status) == 503) answer = waiting.ask().get();
  CHECK(unsigned(answer.status) == 200);
}
