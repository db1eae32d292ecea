// /api/leaderboard (docs/http-api.md), through real sockets.
#include "unit/web/http_fixture.hpp"

using namespace exchange;
using namespace exchange::testing;

namespace {

struct Board : HttpFixture {
  // Marks are means of the prices of seconds: the clock stands still, so all is within one.
  Board() { clock_stands_still = true; }
  // Account 1 buys `shares` of account 2 at `price`.
  void trade(int shares, int price) {
    const std::string terms = std::to_string(shares) + "' limit='" + std::to_string(price) + "'/>";
    transact(1, "<order sym='SPY' amount='" + terms);
    transact(2, "<order sym='SPY' amount='-" + terms);
  }
  void begin(const std::string& name) {
    CHECK(request(http::verb::post, "/api/rounds", R"({"name": ")" + name + "\"}").body ==
          R"({"name":")" + name + "\"}\n");
  }
  nlohmann::json standings(const std::string& parameters = "") {
    await_view();
    return get("/api/leaderboard" + parameters).json()["standings"];
  }
};

nlohmann::json standing(int rank, const char* account, const char* profit, const char* volume,
                        int trades, const char* largest) {
  return {{"rank", rank},     {"account", account}, {"profit", profit},
          {"volume", volume}, {"trades", trades},   {"largest_position", largest}};
}

}  // namespace

TEST_CASE_METHOD(Board, "the leaderboard shows rounds and all of them, also after a restart") {
  start();
  post(small_market);
  trade(10, 5);
  CHECK(standings().empty());
  begin("one");
  trade(10, 5);
  begin("two");
  trade(1, 8);
  const nlohmann::json all{standing(1, "1", "30", "11", 2, "11"),
                           standing(2, "2", "-30", "11", 2, "11")},
      first{standing(1, "1", "0", "10", 1, "10"), standing(1, "2", "0", "10", 1, "10")},
      second{standing(1, "1", "30", "1", 1, "11"), standing(2, "2", "-30", "1", 1, "11")};
  for (int run = 0; run < 2; ++run) {
    CHECK(standings() == all);
    CHECK(standings("?round=1") == first);
    CHECK(standings("?round=2") == second);
    CHECK(standings("?limit=1") == nlohmann::json::array({all[0]}));
    CHECK(standings("?round=newest") == second);
    const nlohmann::json board = get("/api/leaderboard?round=newest").json();
    CHECK((board["round"] == 2 && board["rounds"].size() == 2));
    CHECK((board["rounds"][1]["round"] == 2 && board["rounds"][1]["name"] == "two"));
    CHECK(get("/api/leaderboard").json()["round"].is_null());
    const Exchanged csv = get("/api/leaderboard.csv?round=2");
    CHECK(csv.content_type == "text/csv; charset=utf-8");
    CHECK(csv.body ==
          "rank,account,name,profit,volume,trades,largest_position\n1,1,,30,1,1,11\n"
          "2,2,,-30,1,1,11\n");
    if (run > 0) break;
    stop();
    start();
  }
  trade(1, 8);
  CHECK(standings("?round=2")[0] == standing(1, "1", "30", "2", 2, "12"));
}

TEST_CASE_METHOD(Board, "a round that is not there, or no number, is an error") {
  start();
  CHECK(standings().empty());
  CHECK(get("/api/leaderboard?round=newest").json()["round"].is_null());
  CHECK(get("/api/leaderboard?round=1").status == 404);
  CHECK(get("/api/leaderboard?round=0").status == 400);
  CHECK(get("/api/leaderboard?round=one").status == 400);
  CHECK(get("/api/leaderboard?limit=0").status == 400);
  CHECK(get("/api/leaderboard.csv").body ==
        "rank,account,name,profit,volume,trades,largest_position\n");
  CHECK(get("/api/leaderboard?ids=false").status == 400);
  CHECK(request(http::verb::post, "/api/rounds", "{}").status == 400);
  CHECK(request(http::verb::post, "/api/rounds", R"({"name": "two words"})").status == 400);
}

TEST_CASE_METHOD(Board, "an account that has a name is shown by it alone") {
  start();
  post(small_market);
  begin("one");
  trade(1, 5);
  const auto name = [&](const std::string& text) {
    CHECK(request(http::verb::patch, "/api/accounts/1", R"({"name": ")" + text + "\"}").status ==
          200);
  };
  name("Ada, \u00e9");
  nlohmann::json named = standing(1, "1", "0", "1", 1, "1");
  named["name"] = "Ada, \u00e9";
  const nlohmann::json with_ids{named, standing(1, "2", "0", "1", 1, "1")};
  named.erase("account");
  const nlohmann::json all{named, standing(1, "2", "0", "1", 1, "1")};
  for (int run = 0; run < 2; ++run) {
    CHECK(standings() == all);
    CHECK(standings("?ids=true") == with_ids);
    CHECK(
        get("/api/leaderboard.csv").body.ends_with("\n1,,\"Ada, \u00e9\",0,1,1,1\n1,2,,0,1,1,1\n"));
    CHECK(get("/api/leaderboard.csv?ids=true")
              .body.ends_with("\n1,1,\"Ada, \u00e9\",0,1,1,1\n1,2,,0,1,1,1\n"));
    CHECK(get("/api/accounts/1").json()["name"] == "Ada, \u00e9");
    stop();
    start();
  }
  name("");
  CHECK(standings()[0]["account"] == "1");
  CHECK_FALSE(get("/api/accounts/1").json().contains("name"));
}

TEST_CASE_METHOD(Board, "a spreadsheet takes no name of the leaderboard for a formula") {
  start();
  post(small_market);
  begin("one");
  trade(1, 5);
  const std::pair<const char*, const char*> cells[] = {
      {"=1+1", "'=1+1"},
      {"+1", "'+1"},
      {"-5", "'-5"},
      {"@SUM(1)", "'@SUM(1)"},
      {"=HYPERLINK(\"http://evil.example\",\"x\")",
       "\"'=HYPERLINK(\"\"http://evil.example\"\",\"\"x\"\")\""},
      {"'quoted", "'quoted"},
      {"1=1", "1=1"}};
  for (const auto& [name, cell] : cells) {
    const nlohmann::json rules{{"name", name}};
    CHECK(request(http::verb::patch, "/api/accounts/1", rules.dump()).status == 200);
    CHECK(standings()[0]["name"] == name);  // JSON has it unchanged
    CHECK_THAT(get("/api/leaderboard.csv").body,
               contains_text("\n1,," + std::string(cell) + ",0,"));
  }
}

TEST_CASE_METHOD(Board, "a viewer that has the newest leaderboard gets none") {
  start();
  post(small_market);
  begin("one");
  trade(1, 5);
  await_view();
  const auto tag = [&](const std::string& path) {
    return std::string(get(path).fields[http::field::etag]);
  };
  for (const std::string path : {"/api/leaderboard", "/api/leaderboard.csv?round=1"}) {
    const std::string first = tag(path);
    const Fields has_first{{"If-None-Match", first}};
    const Exchanged unchanged = request(http::verb::get, path, "", has_first);
    CHECK((unchanged.status == 304 && unchanged.body.empty()));
    CHECK(unchanged.fields[http::field::etag] == first);
    for (const http::field field : {http::field::content_type, http::field::content_length})
      CHECK(unchanged.fields.count(field) == 0);
    transact(1, "<order sym='SPY' amount='1' limit='1'/>");  // no trade, so nothing has changed
    await_view();
    CHECK(request(http::verb::get, path, "", has_first).status == 304);
    trade(1, 6);
    await_view();
    CHECK(request(http::verb::get, path, "", has_first).status == 200);
    const std::string second = tag(path);
    begin("another");
    await_view();
    const std::string third = tag(path);
    post("<create><set-account id='1' name='Ada'/></create>");
    await_view();
    CHECK(std::set{first, second, third, tag(path)}.size() == 4);
  }
  const std::string before = tag("/api/leaderboard");
  stop();
  start();
  CHECK(tag("/api/leaderboard") != before);  // the batch may be that of another store
}

TEST_CASE_METHOD(Board, "If-None-Match is a list of tags, compared weakly, or any") {
  start();
  post(small_market);
  begin("one");
  await_view();
  const std::string path = "/api/leaderboard";
  const std::string tag(get(path).fields[http::field::etag]), opaque = tag.substr(2);
  REQUIRE(tag.starts_with("W/\""));
  const auto status = [&](const Fields& fields, const std::string& query = "") {
    return request(http::verb::get, path + query, "", fields).status;
  };
  for (const std::string& has :
       {tag, opaque, "\"x\", " + tag, tag + ", \"x\"", "\"x\",W/\"y\"," + opaque, " ,, " + tag,
        "\"a,b\", " + tag, std::string("*")})
    CHECK(status({{"If-None-Match", has}}) == 304);
  for (const std::string& has_not :
       {std::string("\"x\""), std::string("\"*\""), std::string("W/"), std::string(),
        opaque.substr(1), "\"x" + tag, "x, " + tag, opaque.substr(0, opaque.size() - 1)})
    CHECK(status({{"If-None-Match", has_not}}) == 200);
  // a refused request ignores the condition
  CHECK(status({{"If-None-Match", "*"}}, "?round=9") == 404);
  CHECK(status({{"If-None-Match", tag}}, "?limit=0") == 400);
}

TEST_CASE_METHOD(Board, "a leaderboard that may be some seconds old is made once for all viewers") {
  start();
  post(small_market);
  begin("one");
  trade(1, 5);
  await_view();
  const auto volume = [&](const std::string& path, const Fields& fields) {
    const Exchanged got = request(http::verb::get, path, "", fields);
    return got.status == 200 ? got.json()["standings"][0]["volume"].get<std::string>()
                             : std::to_string(got.status);
  };
  const std::string path = "/api/leaderboard?round=newest";
  const Fields patient{{"Cache-Control", "max-age=1000"}};
  CHECK(volume(path, patient) == "1");
  const std::string old(request(http::verb::get, path, "", patient).fields[http::field::etag]);
  trade(1, 5);
  await_view();
  CHECK(volume(path, patient) == "1");
  CHECK(volume(path, {{"Cache-Control", "max-age=1000"}, {"If-None-Match", old}}) == "304");
  CHECK(volume(path, {}) == "2");
  CHECK(volume(path, {{"If-None-Match", old}}) == "2");
  CHECK(volume(path, {{"Cache-Control", "max-age=0"}}) == "2");
  CHECK(volume(path + "&ids=true", patient) == "2");  // a different document
  const std::string newest(get(path).fields[http::field::etag]);
  CHECK(volume(path, {{"Cache-Control", "max-age=1000"}, {"If-None-Match", newest}}) == "304");
}
