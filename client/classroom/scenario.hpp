#pragma once
// Scenario is the content of the teacher's TOML file for a class: the initial assets of each
// student, the instruments, and the bots. A value. Amounts are texts, which the exchange's own
// parser checks.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/classroom/characters.hpp"

namespace exchange::classroom {

using Attributes = std::vector<std::pair<std::string, std::string>>;  // names and values

struct Start {
  std::string cash = "0";
  Attributes shares = {};  // by symbol
};

struct Scenario {
  struct Instrument {
    std::string symbol;
    double price = 100;     // the bots begin here
    Attributes rules = {};  // of <instrument>
  };
  struct Bots {
    CharacterKind character;
    unsigned count = 1;
    std::string symbol = {};  // empty: the symbols of the class in turn
    Start start = {};
    double shares = 10;  // of an order
    double pause_s = 2;  // between its turns
  };

  std::string name = "class";
  std::string page = {};       // address of the dashboard, for the students' links
  bool anonymous = false;      // the leaderboard shows invented names
  std::string timetable = {};  // as in the server's file; empty: 'class start' opens trading
  std::uint64_t first_account = 1001;
  Start student = {};
  Attributes limits = {};  // of <set-account>, for each student
  std::vector<Instrument> instruments = {};
  std::vector<Bots> bots = {};
};

// `file` is its name. Throws std::invalid_argument, which names file and line, and what is expected
// there.
Scenario parse_scenario(std::string_view text, const std::string& file);

}  // namespace exchange::classroom
