#include "timetable/timetable.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <stdexcept>

#include "base/text.hpp"

namespace exchange {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;
constexpr std::array<std::string_view, 7> day_names{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr std::string_view expected_line =
    "expected a time and open, auction, halt, close or uncross, with the symbols if not all of "
    "them (10:40 auction ABC XYZ), or days mon-fri, or volatility 60";
constexpr std::uint32_t volatility_s_max = 86'400;

using Words = std::span<const std::string_view>;

std::vector<std::string_view> words_of(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  constexpr std::string_view space = " \t\r";
  for (std::size_t at = 0; (at = line.find_first_not_of(space, at)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(space, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Parses HH:MM or HH:MM:SS.
std::optional<std::chrono::seconds> parse_time(std::string_view text) {
  if (text.size() != 5 && text.size() != 8) return {};
  std::uint32_t seconds = 0;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const auto part = parse_number<std::uint32_t>(text.substr(at, 2));
    if (!part || *part >= (at == 0 ? 24 : 60) || (at > 0 && text[at - 1] != ':')) return {};
    seconds = seconds * 60 + *part;
  }
  return std::chrono::seconds(text.size() == 5 ? seconds * 60 : seconds);
}

std::optional<StepKind> parse_kind(std::string_view text) {
  for (std::size_t kind = 0; kind < enumerators<StepKind>; ++kind)
    if (to_string(StepKind(kind)) == text) return StepKind(kind);
  return {};
}

std::string text_of(std::chrono::seconds time) {
  const auto two = [](auto number) {
    return std::string(number < 10 ? "0" : "") + std::to_string(number);
  };
  const auto seconds = time.count();
  return two(seconds / 3'600) + ":" + two(seconds / 60 % 60) +
         (seconds % 60 == 0 ? "" : ":" + two(seconds % 60));
}

class Parser {
 public:
  Timetable parse(std::string_view text, const std::string& name) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
      fail(name + " is UTF-16: save it as UTF-8");
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      try {
        check_characters(text.substr(0, end));
        take_line(words_of(text.substr(0, end)));
      } catch (const std::invalid_argument& problem) {
        throw std::invalid_argument(name + ":" + std::to_string(number) + ": " + problem.what());
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(timetable_);
  }

 private:
  [[noreturn]] static void fail(const std::string& problem) {
    throw std::invalid_argument(problem);
  }

  // Refuses such characters, because they look like a blank or a hyphen but are neither.
  static void check_characters(std::string_view line) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    line = line.substr(0, line.find('#'));
    if (!std::all_of(line.begin(), line.end(), is_ascii))
      fail("a character that is not ASCII, such as a no-break space or a long dash");
  }

  static std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

  void take_line(Words words) {
    if (words.empty()) return;
    if (words[0] == "days") return take_days(words.subspan(1));
    if (words[0] == "volatility") return take_volatility(words.subspan(1));
    const auto time = parse_time(words[0]);
    const auto kind = words.size() > 1 ? parse_kind(words[1]) : std::nullopt;
    if (!time && words[0].find(':') != words[0].npos)
      fail(quoted(words[0]) + " is not a time: expected HH:MM or HH:MM:SS, up to 23:59:59");
    if (time && !kind && words.size() > 1)
      fail(quoted(words[1]) + " is not a step: expected open, auction, halt, close or uncross");
    if (!time || !kind) fail(std::string(expected_line));
    TimetableStep step{*time, *kind, {}};
    for (const std::string_view word : words.subspan(2)) {
      const auto symbol = parse_symbol_name(word);
      if (!symbol) fail(quoted(word) + " is not a symbol: expected 1 to 32 letters and digits");
      step.symbols.push_back(*symbol);
    }
    if (!timetable_.steps.empty()) check_order(timetable_.steps.back(), step);
    timetable_.steps.push_back(std::move(step));
  }

  // Refuses a step for every symbol at the time of the step before it, because it would hide that
  // step.
  static void check_order(const TimetableStep& before, const TimetableStep& step) {
    if (step.time < before.time)
      fail("expected a time from " + text_of(before.time) + " on, that of the step before");
    if (step.time == before.time && step.symbols.empty())
      fail("expected a time after " + text_of(before.time) +
           ", that of the step before, or symbols (to open and halt at once, close)");
  }

  void take_days(Words words) {
    if (timetable_.days != Timetable::every_day || words.empty()) fail_days();
    timetable_.days = 0;
    for (const std::string_view word : words) {
      const std::size_t dash = word.find('-');
      std::size_t day = day_of(word.substr(0, dash));
      const std::size_t last = dash == word.npos ? day : day_of(word.substr(dash + 1));
      while (timetable_.days |= std::uint8_t(1 << day), day != last) day = (day + 1) % 7;
    }
  }
  static std::size_t day_of(std::string_view word) {
    const auto found = std::find(day_names.begin(), day_names.end(), word);
    if (found == day_names.end()) fail_days();
    return std::size_t(found - day_names.begin());
  }
  [[noreturn]] static void fail_days() {
    fail("expected days once, with days of sun, mon, tue, wed, thu, fri, sat: days mon-fri");
  }

  void take_volatility(Words words) {
    const auto seconds = words.size() == 1 ? parse_number<std::uint32_t>(words[0]) : std::nullopt;
    if (timetable_.volatility || !seconds || *seconds == 0 || *seconds > volatility_s_max)
      fail("expected volatility once, with seconds from 1 to " + std::to_string(volatility_s_max));
    timetable_.volatility = std::chrono::seconds(*seconds);
  }

  Timetable timetable_;
};

}  // namespace

std::string describe(const TimetableStep& step) {
  return text_of(step.time) + " " + std::string(to_string(step.kind));
}

Timetable parse_timetable(std::string_view text, const std::string& name) {
  return Parser().parse(text, name);
}

Timetable read_timetable(const std::string& path) {
  std::string text(file_bytes_max + 1, '\0');
  std::ifstream file(path);
  file.read(text.data(), std::streamsize(text.size()));
  if (!file.is_open() || file.bad())
    throw std::invalid_argument("the timetable " + path +
                                " cannot be read: " + std::strerror(errno));
  text.resize(std::size_t(file.gcount()));
  if (text.size() > file_bytes_max)
    throw std::invalid_argument("the timetable " + path + " has more than " +
                                std::to_string(file_bytes_max) + " bytes");
  return parse_timetable(text, path);
}

}  // namespace exchange
