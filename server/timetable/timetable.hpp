#pragma once
// Timetable holds the content of the file of --timetable: at which times of a day trading changes,
// and for which symbols (docs/trading-days.md). A value; any thread.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/described.hpp"
#include "engine/ids.hpp"
#include "engine/rules.hpp"

namespace exchange {

BOOST_DEFINE_FIXED_ENUM_CLASS(StepKind, std::uint8_t, open, auction,
                              halt,    // executes nothing that an auction collected
                              close,   // ends an auction, then halts
                              uncross  // ends an auction, and begins the next one
)
// Returns the values that trading takes, one after the other, with no other command between them.
inline std::vector<Trading> trading_of(StepKind kind) {
  switch (kind) {
    case StepKind::open: return {Trading::open};
    case StepKind::auction: return {Trading::auction};
    case StepKind::halt: return {Trading::halted};
    case StepKind::close: return {Trading::open, Trading::halted};
    case StepKind::uncross: return {Trading::open, Trading::auction};
  }
  return {};
}

struct TimetableStep {
  std::chrono::seconds time;  // since midnight, local time
  StepKind kind;
  std::vector<SymbolName> symbols;  // empty: every symbol
  bool operator==(const TimetableStep&) const = default;
};
std::string describe(const TimetableStep& step);  // "10:40 auction", for logs

struct Timetable {
  static constexpr std::uint8_t every_day = 0b111'1111;
  std::vector<TimetableStep> steps;  // times do not descend; of equal ones the later step counts
  std::uint8_t days = every_day;     // bit 0: Sunday, as tm_wday; at least one
  // How long an auction lasts that an order started (Trading::volatility).
  std::optional<std::chrono::seconds> volatility;
  bool operator==(const Timetable&) const = default;
};

// `name` is the name of the file. Throws std::invalid_argument, whose message gives the file, the
// line and what is expected there.
Timetable parse_timetable(std::string_view text, const std::string& name);
// Throws the same, also if the file cannot be read.
Timetable read_timetable(const std::string& path);

}  // namespace exchange
