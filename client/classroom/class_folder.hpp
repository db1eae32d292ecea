#pragma once
// ClassFolder is what the teacher keeps of a class: its members, and all keys. What the class does
// and owns is in the exchange. Files, which other users cannot read:
//   keys.csv      the roster, and of each student account, name on the leaderboard, key and link
//   bots.csv      the same of each bot
//   scenario.toml, timetable, operator.key
// Thread: the caller's. All throw std::invalid_argument, with the file, if one cannot be used, and
// std::system_error if one cannot be written.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "client/classroom/csv.hpp"
#include "client/classroom/scenario.hpp"
#include "client/connection/socket.hpp"

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

// What makes a class, or changes it.
struct NewClass {
  std::string roster, scenario;         // files
  std::string page;                     // where the links lead, unless the scenario says it
  std::vector<std::string> names = {};  // columns of the roster; empty: those of usual headings
  std::string identity = {};            // the same: what tells students apart
  // Throws std::invalid_argument if the exchange would refuse the scenario for this number of
  // students.
  std::function<void(const Scenario& scenario, std::size_t students)> check = {};
};
struct Written {
  std::size_t added = 0;             // students who are new
  std::vector<std::string> remarks;  // sentences about the roster, which the teacher should read
};

class ClassFolder {
 public:
  explicit ClassFolder(std::string path) : path_(std::move(path)) {}

  bool exists() const;
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }
  // Held by the command that changes the class. Throws if another one has it.
  client::Descriptor locked() const;

  // Writes the folder; a class that is there keeps its accounts, names and keys, and students who
  // are new in the roster get new ones. All errors of the files are found before.
  Written write(const NewClass& wanted);
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
// With their cash, keys, limits and names. Executed again, it changes none of the first two.
std::string accounts_of(Members members);
// Shares that accounts are given.
struct Gift {
  std::string account, symbol, shares;
};
std::string gifts_of(std::span<const Gift> gifts);

// Of 192 random bits.
std::string made_key();
// A file that other users cannot read: afterwards it is the old one or the new one, whatever
// happens in between.
void write_private(const std::string& file, const std::string& text);

}  // namespace exchange::classroom
