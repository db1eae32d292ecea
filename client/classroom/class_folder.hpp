#pragma once
// ClassFolder is what the teacher keeps of a class: its members, and all keys. What the class does
// and owns is in the exchange. Files, which other users cannot read:
//   keys.csv      the roster, and of each student account, name on the leaderboard, key and link
//   bots.csv      the same of each bot
//   scenario.toml, timetable, operator.key
// Thread: the caller's. All throw std::invalid_argument, with the file, if one cannot be used, and
// std::system_error if one cannot be written.

#include <span>
#include <string>
#include <vector>

#include "client/classroom/csv.hpp"
#include "client/classroom/scenario.hpp"

namespace exchange::classroom {

struct Member {
  std::string account, key;
  std::string shown_as;  // on the leaderboard
  Start start;
  Attributes limits = {};  // of <set-account>
};
struct Bot : Member {
  Scenario::Bots character;
  Scenario::Instrument instrument;
};

class ClassFolder {
 public:
  explicit ClassFolder(std::string path) : path_(std::move(path)) {}

  bool exists() const;
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }

  // Writes the folder; a class that is there keeps its accounts, names and keys, and students who
  // are new in the roster get new ones. Returns how many are new. `page`: where the links lead,
  // unless the scenario says it.
  std::size_t write(const std::string& roster_file, const std::string& scenario_file,
                    const std::string& page);
  // Reads it.
  Scenario scenario() const;
  // keys.csv without keys and links; `account`: the column of the accounts.
  CsvTable students_table(std::size_t& account) const;
  std::vector<Member> students(const Scenario& scenario) const;
  std::vector<Bot> bots(const Scenario& scenario) const;
  // The file of the operator's key; write() makes it if it is missing.
  std::string operator_key_file() const;

 private:
  const std::string path_;
};

// <create> documents, without the operator's key.
using Members = std::span<const Member* const>;
std::string instruments_of(const std::vector<Scenario::Instrument>& instruments);  // halted
std::string rules_of(const std::vector<Scenario::Instrument>& instruments);
std::string accounts_of(Members members);
// What they have but for cash: shares, limits and names. Executed as a whole or not at all, so an
// account that has a name has its shares.
std::string shares_of(Members members);

// Of 192 random bits.
std::string made_key();
// A file that other users cannot read: afterwards it is the old one or the new one, whatever
// happens in between.
void write_private(const std::string& file, const std::string& text);

}  // namespace exchange::classroom
