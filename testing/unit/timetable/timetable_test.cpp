// Timetables: how their files are read, and which steps are due.
#include "timetable/timetable.hpp"

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"
#include "timetable/schedule.hpp"

using namespace exchange;
using namespace exchange::testing;
using std::chrono::seconds;

namespace {

seconds time_of_day(int hours, int minutes, int of_minute = 0) {
  return seconds(hours * 3'600 + minutes * 60 + of_minute);
}

std::string problem_of(const std::string& text) {
  try {
    parse_timetable(text, "file");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

// Sets the time zone of this process, until the end of its scope.
class TimeZone {
 public:
  explicit TimeZone(const char* zone) { set(zone); }
  ~TimeZone() { set("UTC0"); }
  TimeZone(const TimeZone&) = delete;

 private:
  static void set(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
};
constexpr const char* zurich = "CET-1CEST,M3.5.0,M10.5.0/3";

// Reads a time such as "2026-03-29 02:30:00", in UTC.
Timestamp utc(const char* text) {
  std::tm time{};
  REQUIRE(::strptime(text, "%Y-%m-%d %H:%M:%S", &time) != nullptr);
  return {::timegm(&time) * 1'000'000};
}

const SymbolName abc("ABC"), xyz("XYZ");

struct Change {
  std::string symbol, step;
  Timestamp at;
  bool operator==(const Change&) const = default;
};
using Changes = std::vector<Change>;
Changes due_changes(const std::string& timetable, const std::vector<SymbolState>& symbols,
                    const char* now) {
  const Timetable parsed = parse_timetable(timetable, "file");
  Changes changes;
  for (const DueChange& change : due(parsed, symbols, utc(now)).changes) {
    CHECK(change.name == symbols[change.symbol].name);
    changes.push_back({std::string(change.name.view()),
                       change.step == nullptr ? "" : describe(*change.step), change.at});
  }
  return changes;
}
Timestamp next(const std::string& timetable, const char* now,
               const std::vector<SymbolState>& symbols = {}) {
  return due(parse_timetable(timetable, "file"), symbols, utc(now)).next;
}

// Returns when a step of this time happens on the days around this one.
std::vector<Timestamp> instants(const std::string& time, const char* first, int count) {
  std::vector<Timestamp> all;
  const Timetable timetable = parse_timetable(time + " open", "file");
  for (Timestamp now = utc(first); count > 0; --count)
    all.push_back(now = due(timetable, {}, now).next);
  return all;
}

const std::string day = "10:00 open\n10:40 auction\n10:45 open\n17:30 auction\n17:35:30 close\n";

}  // namespace

TEST_CASE("a timetable has its steps, the days and the time of a volatility auction") {
  const Timetable timetable = parse_timetable(
      "# a day\n"
      "days mon-wed fri\r\n"
      "volatility 60\n"
      "\n"
      "10:00 open # every symbol\n"
      "\t10:40   auction ABC\txyz1\n"
      "10:40 halt Z\n"
      "10:45 uncross\n"
      "23:59:59 close",
      "file");
  const SymbolName xyz1("xyz1"), z("Z");
  CHECK(timetable == Timetable{{{time_of_day(10, 0), StepKind::open, {}},
                                {time_of_day(10, 40), StepKind::auction, {abc, xyz1}},
                                {time_of_day(10, 40), StepKind::halt, {z}},
                                {time_of_day(10, 45), StepKind::uncross, {}},
                                {time_of_day(23, 59, 59), StepKind::close, {}}},
                               0b010'1110,
                               seconds(60)});
  CHECK(describe(timetable.steps[1]) == "10:40 auction");
  CHECK(describe(timetable.steps[4]) == "23:59:59 close");
  CHECK(parse_timetable("", "file") == Timetable());
  CHECK(parse_timetable("days sat-mon", "file").days == 0b100'0011);
}

TEST_CASE("a bad line of a timetable is refused by its number, with what is expected") {
  const std::string form = "file:2: expected a time and open, auction, halt, close or uncross";
  for (const char* line : {"10:00", "open", "10-00 open", "day mon"})
    CHECK_THAT(problem_of(std::string("\n") + line), contains_text(form));
  for (const std::string time :
       {"1:00", "10:0", "24:00", "10:60", "10:00:60", "10:00:", "10:00:0", "+1:00", "10:00:00:00"})
    CHECK(problem_of(time + " open") ==
          "file:1: '" + time + "' is not a time: expected HH:MM or HH:MM:SS, up to 23:59:59");
  for (const std::string kind : {"Open", "opens", "at"})
    CHECK(problem_of("10:00 " + kind) ==
          "file:1: '" + kind + "' is not a step: expected open, auction, halt, close or uncross");
  for (const std::string symbol : {"A,B", "123456789012345678901234567890123"})
    CHECK(problem_of("10:00 open " + symbol) ==
          "file:1: '" + symbol + "' is not a symbol: expected 1 to 32 letters and digits");
  for (const char* line : {"10:00\u00A0open", "days mon\u2013fri", "10:00 open \u00C4"})
    CHECK_THAT(problem_of(line), contains_text("file:1: a character that is not ASCII"));
  CHECK(problem_of("10:00 open\n09:59 halt\n") ==
        "file:2: expected a time from 10:00 on, that of the step before");
  CHECK(problem_of("10:00:30 open\n\n10:00:30 halt\n") ==
        "file:3: expected a time after 10:00:30, that of the step before, or symbols (to open and "
        "halt at once, close)");
  for (const char* line :
       {"days", "days Mon", "days mon-", "days -fri", "days mon,tue", "days mon\ndays tue"})
    CHECK_THAT(problem_of(line), contains_text(": expected days once, with days of sun, mon"));
  for (const char* line : {"volatility", "volatility 0", "volatility 86401", "volatility 60s",
                           "volatility 1 2", "volatility -1", "volatility 60\nvolatility 60"})
    CHECK_THAT(problem_of(line),
               contains_text(": expected volatility once, with seconds from 1 to 86400"));
}

TEST_CASE("a file that is no timetable is named") {
  TemporaryFolder folder;
  const std::string path = folder / "day.txt";
  CHECK_THROWS_WITH(read_timetable(path),
                    "the timetable " + path + " cannot be read: No such file or directory");
  CHECK_THROWS_WITH(read_timetable(folder.path()),
                    "the timetable " + folder.path() + " cannot be read: Is a directory");
  std::ofstream(path) << std::string((1 << 20) + 1, '\n');
  CHECK_THROWS_WITH(read_timetable(path), "the timetable " + path + " has more than 1048576 bytes");
  std::ofstream(path) << "10:00 open\n10:01\n";
  CHECK_THROWS_WITH(read_timetable(path), contains_text(path + ":2: expected a time and open"));
  // "#" and a line end
  std::ofstream(path) << std::string("\xFF\xFE#\0\n\0", 6);
  CHECK_THROWS_WITH(read_timetable(path), path + " is UTF-16: save it as UTF-8");
  for (const std::string mark : {"", "\xEF\xBB\xBF"}) {
    std::ofstream(path) << mark + "10:00 open # \u00C4\n";
    CHECK(read_timetable(path).steps.size() == 1);
  }
}

TEST_CASE("a symbol is due its newest step, unless its trading changed at that time or later") {
  const TimeZone zone("UTC0");
  const char* const now = "2026-11-26 10:46:00";
  const Timestamp step = utc("2026-11-26 10:45:00");
  const Changes opens{{"ABC", "10:45 open", step}};
  CHECK(due_changes(day, {{abc, Trading::auction, utc("2026-11-26 10:40:00")}}, now) == opens);
  CHECK(due_changes(day, {{abc, Trading::halted, {step.microseconds - 1}}}, now) == opens);
  CHECK(due_changes(day, {{abc, Trading::halted, step}}, now) == Changes());
  CHECK(due_changes(day, {{abc, Trading::auction, utc("2026-11-26 10:45:30")}}, now) == Changes());
  CHECK(due_changes(day, {{abc, Trading::auction, utc("2026-11-30 00:00:00")}}, now) == Changes());
  CHECK(due_changes(day, {{abc, Trading::halted}}, now) == opens);
  CHECK(due_changes(day, {{abc, Trading::open}, {xyz, Trading::auction}}, now) ==
        Changes{{"XYZ", "10:45 open", step}});
  CHECK(due_changes("", {{abc, Trading::halted}}, now) == Changes());
}

TEST_CASE("a step is due from its time on, until the next one, also of the days before") {
  const TimeZone zone("UTC0");
  const std::vector<SymbolState> open{{abc, Trading::open}};
  const auto step_at = [&](const char* now) {
    const Changes changes = due_changes(day, open, now);
    return changes.empty() ? "" : changes[0].step;
  };
  CHECK(step_at("2026-11-26 10:39:59") == "");
  CHECK(step_at("2026-11-26 10:40:00") == "10:40 auction");
  CHECK(step_at("2026-11-26 17:35:29") == "17:30 auction");
  CHECK(step_at("2026-11-26 17:35:30") == "17:35:30 close");
  CHECK(due_changes(day, open, "2026-11-27 09:59:59") ==
        Changes{{"ABC", "17:35:30 close", utc("2026-11-26 17:35:30")}});
  CHECK(next(day, "2026-11-26 10:39:59") == utc("2026-11-26 10:40:00"));
  CHECK(next(day, "2026-11-26 10:40:00") == utc("2026-11-26 10:45:00"));
  CHECK(next(day, "2026-12-31 17:35:30") == utc("2027-01-01 10:00:00"));
}

TEST_CASE("steps happen on the days of the timetable") {
  const TimeZone zone("UTC0");
  const std::string timetable = "days mon-wed fri\n10:00 auction\n";
  // 26 November 2026 is a Thursday
  CHECK(due_changes(timetable, {{abc}}, "2026-11-26 12:00:00") ==
        Changes{{"ABC", "10:00 auction", utc("2026-11-25 10:00:00")}});
  CHECK(next(timetable, "2026-11-26 09:00:00") == utc("2026-11-27 10:00:00"));
  CHECK(next(timetable, "2026-11-27 10:00:00") == utc("2026-11-30 10:00:00"));
  CHECK(next("days thu\n10:00 open", "2026-11-26 10:00:00") == utc("2026-12-03 10:00:00"));
}

TEST_CASE("a step for some symbols leaves the others, and the later line counts") {
  const TimeZone zone("UTC0");
  const std::string timetable = "10:00 open\n10:00 halt XYZ\n11:00 auction ABC NEW\n12:00 open\n";
  const std::vector<SymbolState> symbols{{abc}, {xyz}};
  CHECK(due_changes(timetable, symbols, "2026-11-26 11:30:00") ==
        Changes{{"ABC", "11:00 auction", utc("2026-11-26 11:00:00")},
                {"XYZ", "10:00 halt", utc("2026-11-26 10:00:00")}});
  CHECK(due_changes(timetable, symbols, "2026-11-26 12:00:00") == Changes());
}

TEST_CASE("a step that leaves trading as it is does nothing, unless it ends an auction") {
  const TimeZone zone("UTC0");
  const char* const now = "2026-11-26 12:00:00";
  const auto count = [&](const char* kind, Trading trading) {
    return due_changes(std::string("10:00 ") + kind, {{abc, trading}}, now).size();
  };
  CHECK(count("open", Trading::open) == 0);
  CHECK(count("auction", Trading::auction) == 0);
  CHECK(count("halt", Trading::halted) == 0);
  CHECK(count("close", Trading::halted) == 0);
  CHECK(count("close", Trading::auction) == 1);
  CHECK(count("uncross", Trading::auction) == 1);
}

TEST_CASE("a volatility auction ends after its time, unless a step came since") {
  const TimeZone zone("UTC0");
  const std::string timetable = "volatility 60\n10:40 auction\n11:00 open";
  const auto of = [](const char* since, Trading trading = Trading::volatility) {
    return std::vector<SymbolState>{{abc, trading, utc(since)}};
  };
  const char* const since = "2026-11-26 11:10:00";
  CHECK(due_changes(timetable, of(since), "2026-11-26 11:10:59") == Changes());
  CHECK(next(timetable, "2026-11-26 11:10:59", of(since)) == utc("2026-11-26 11:11:00"));
  CHECK(due_changes(timetable, of(since), "2026-11-26 11:11:00") ==
        Changes{{"ABC", "", utc("2026-11-26 11:11:00")}});
  CHECK(due_changes(timetable, of(since, Trading::auction), "2026-11-26 12:00:00") == Changes());
  CHECK(due_changes("11:00 open", of(since), "2026-11-26 12:00:00") == Changes());
  CHECK(due_changes("volatility 60", of(since), "2026-11-26 12:00:00").size() == 1);
  CHECK(due_changes(timetable, of("2026-11-26 10:39:30"), "2026-11-26 10:59:59") ==
        Changes{{"ABC", "10:40 auction", utc("2026-11-26 10:40:00")}});
  CHECK(due_changes(timetable, of("2026-11-26 10:59:30"), "2026-11-26 11:00:00") ==
        Changes{{"ABC", "11:00 open", utc("2026-11-26 11:00:00")}});
}

TEST_CASE("times are local, and each happens once on the days when the clock changes") {
  const TimeZone zone(zurich);
  CHECK(instants("10:00", "2026-03-27 12:00:00", 3) == std::vector{utc("2026-03-28 09:00:00"),
                                                                   utc("2026-03-29 08:00:00"),
                                                                   utc("2026-03-30 08:00:00")});
  // 02:00 to 03:00 is skipped: 03:30 summer time
  CHECK(instants("02:30", "2026-03-27 12:00:00", 3) == std::vector{utc("2026-03-28 01:30:00"),
                                                                   utc("2026-03-29 01:30:00"),
                                                                   utc("2026-03-30 00:30:00")});
  // 02:00 to 03:00 occurs twice: the first time counts
  CHECK(instants("02:30", "2026-10-23 12:00:00", 3) == std::vector{utc("2026-10-24 00:30:00"),
                                                                   utc("2026-10-25 00:30:00"),
                                                                   utc("2026-10-26 01:30:00")});
  CHECK(instants("00:00", "2026-10-23 23:00:00", 2) ==
        std::vector{utc("2026-10-24 22:00:00"), utc("2026-10-25 23:00:00")});
}

TEST_CASE("zones whose winter time is the one that is set apart change as others do") {
  // 01:30 becomes 02:30 in summer time; of two 01:30 the first is in summer time
  for (const char* name : {"Europe/Dublin", "Europe/London"}) {
    INFO(name);
    const TimeZone zone(name);
    CHECK(instants("01:30", "2026-03-28 12:00:00", 1) == std::vector{utc("2026-03-29 01:30:00")});
    CHECK(instants("01:30", "2026-10-24 12:00:00", 1) == std::vector{utc("2026-10-25 00:30:00")});
  }
  // The clock goes back at 03:00 before Ramadan, and forward at 02:00 after it.
  const TimeZone zone("Africa/Casablanca");
  CHECK(instants("02:30", "2026-02-14 12:00:00", 1) == std::vector{utc("2026-02-15 01:30:00")});
  CHECK(instants("02:30", "2026-03-21 12:00:00", 1) == std::vector{utc("2026-03-22 02:30:00")});
}

TEST_CASE("a TZ that names no time zone is refused") {
  for (const char* const good :
       {"", "UTC", "UTC0", ":UTC", "Europe/Zurich", ":Europe/Zurich",
        "/usr/share/zoneinfo/Europe/Dublin", zurich, "<+0330>-3:30", "EST5EDT",
        "IST-1GMT0,M10.5.0,M3.5.0/1", "AAA3BBB,J60/-2,300/25:00:00"}) {
    INFO(good);
    const TimeZone zone(good);
    CHECK_NOTHROW(require_time_zone());
  }
  for (const char* const bad :
       {"Europe/Zurch", "europe/zurich", "Europe/Zurich ", "\"Europe/Zurich\"", "Mars/Olympus",
        "PST", "Europe", "../../../etc/passwd", "+1"}) {
    INFO(bad);
    const TimeZone zone(bad);
    CHECK_THROWS_WITH(require_time_zone(), contains_text("names no time zone"));
  }
}
