#include "timetable/timetable.hpp"

#include <fstream>

#include "catch.hpp"
#include "support/folder.hpp"

using namespace exchange;
using namespace exchange::testing;
using std::chrono::seconds;

namespace {

seconds at(int hours, int minutes, int of_minute = 0) {
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
  const SymbolName abc("ABC"), xyz("xyz1"), z("Z");
  CHECK(timetable == Timetable{{{at(10, 0), StepKind::open, {}},
                                {at(10, 40), StepKind::auction, {abc, xyz}},
                                {at(10, 40), StepKind::halt, {z}},
                                {at(10, 45), StepKind::uncross, {}},
                                {at(23, 59, 59), StepKind::close, {}}},
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
