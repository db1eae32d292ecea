#pragma once
// ClassFolder is the teacher's data of a class: its members and all keys. The exchange has the
// actions and possessions of the class. Files, which other users cannot read:
//   keys.csv      the roster, and the account, leaderboard name, key and link of each student
//   bots.csv      the same for each bot
//   scenario.toml, timetable, operator.key
// Thread: the caller's. All functions throw std::invalid_argument, with the file, if a file cannot
// be used, and std::system_error if one cannot be written.

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

// The input that creates or changes a class.
struct NewClass {
  std::string roster, scenario;         // files
  std::string page;                     // the target of the links, unless the scenario names it
  std::vector<std::string> names = {};  // columns of the roster; empty: those with usual headings
  std::string identity = {};            // the same, for the columns that identify a student
  // Throws std::invalid_argument if the exchange would refuse the scenario for this number of
  // students.
  std::function<void(const Scenario& scenario, std::size_t students)> check = {};
};
struct Written {
  std::size_t added = 0;             // new students
  std::vector<std::string> remarks;  // sentences about the roster for the teacher
};

class ClassFolder {
 public:
  explicit ClassFolder(std::string path) : path_(std::move(path)) {}

  bool exists() const;
  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }
  // Returns the lock that a command holds while it changes the class. Throws if another command
  // holds it.
  client::Descriptor locked() const;

  // Writes the folder. An existing class keeps its accounts, names and keys, and new students in
  // the roster get new ones. Finds all errors in the files before it writes.
  Written write(const NewClass& wanted);
  // Reads the scenario from the folder.
  Scenario scenario() const;
  // Returns keys.csv without keys and links; `account`: the column of the accounts.
  CsvTable students_table(std::size_t& account) const;
  std::vector<Member> students(const Scenario& scenario) const;
  std::vector<Bot> bots(const Scenario& scenario) const;
  // Returns the file of the operator's key; write() creates it if it is missing.
  std::string operator_key_file() const;

 private:
  const std::string path_;
};

// <create> documents, without the operator's key.
using Members = std::span<const Member* const>;
std::string instruments_of(const std::vector<Scenario::Instrument>& instruments);  // halted
std::string rules_of(const std::vector<Scenario::Instrument>& instruments);
// Includes cash, keys, limits and names. If it is executed again, it does not change cash and keys.
std::string accounts_of(Members members);
// Shares that an account is given.
struct Gift {
  std::string account, symbol, shares;
};
std::string gifts_of(std::span<const Gift> gifts);

// Returns a key of 192 random bits.
std::string made_key();
// Writes a file that other users cannot read. Afterwards the file has the old or the new content,
// whatever happens during the write.
void write_private(const std::string& file, const std::string& text);

}  // namespace exchange::classroom
