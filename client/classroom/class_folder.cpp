#include "client/classroom/class_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "client/classroom/background.hpp"
#include "client/classroom/pseudonyms.hpp"
#include "client/classroom/unicode.hpp"
#include "engine/ids.hpp"

namespace exchange::classroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t students_max = 5'000, shown_as_bytes_max = 40;
constexpr const char *students_name = "keys.csv", *bots_name = "bots.csv",
                     *scenario_name = "scenario.toml", *timetable_name = "timetable",
                     *operator_key_name = "operator.key", *lock_name = "class.lock";
// The columns after those of the roster.
const CsvRow own_columns{"account", "shown as", "key", "link"};

std::string read(const std::string& file) {
  std::ostringstream text;
  std::ifstream in(file);
  if (!in || !(text << in.rdbuf()))
    throw std::invalid_argument(file + " cannot be read, or is empty");
  try {
    return to_utf8(text.str());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ": " + error.what());
  }
}

CsvTable read_table(const std::string& file) {
  const std::string text = read(file);
  try {
    return parse_csv(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ", " + error.what());
  }
}

std::string joined(const std::vector<std::string>& parts, const char* between = ", ") {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  const std::size_t shown = std::min(most, names.size());
  return joined({names.begin(), names.begin() + std::ptrdiff_t(shown)}) +
         (shown < names.size() ? " and " + std::to_string(names.size() - shown) + " more" : "");
}

constexpr std::size_t nowhere = std::size_t(-1);

// Returns the first column whose name is one of these.
std::size_t column(const CsvRow& heading, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (std::size_t i = 0; i < heading.size(); ++i)
      if (folded(without_guard(heading[i])) == folded(name)) return i;
  return nowhere;
}

// Headings used by course systems and spreadsheets, in English and German.
const std::vector<std::string> identity_names{
    "email",          "e-mail",       "email address", "e-mail address",
    "e-mail-adresse", "mail",         "emailadresse",  "id",
    "username",       "benutzername", "anmeldename",   "student id",
    "sis user id",    "id number",    "id-nummer",     "kennung",
    "matrikelnummer", "matrikelnr",   "matrikelnr.",   "matrikel-nr."},
    whole_names{"name",         "full name",          "student",
                "student name", "vollständiger name", "vor- und nachname",
                "studierende",  "teilnehmer"},
    first_names{"first name", "firstname", "forename", "given name", "vorname", "vorname(n)"},
    last_names{"last name", "lastname", "surname", "family name", "nachname", "familienname"};

// The meaning of the columns of a roster.
struct RosterColumns {
  std::vector<std::size_t> names;     // empty: then a leaderboard may show no other column
  std::vector<std::size_t> identity;  // the columns that identify a student
};

RosterColumns columns_of(const CsvRow& heading, const NewClass& wanted) {
  const auto chosen = [&](const std::string& name) {
    const std::size_t at = column(heading, {name});
    if (at == nowhere)
      throw std::invalid_argument(wanted.roster + " has no column '" + name +
                                  "'; its columns are " + joined(heading));
    return at;
  };
  RosterColumns columns;
  for (const std::string& name : wanted.names) columns.names.push_back(chosen(name));
  if (columns.names.empty()) {
    const std::size_t whole = column(heading, whole_names), first = column(heading, first_names),
                      last = column(heading, last_names);
    if (whole != nowhere)
      columns.names = {whole};
    else if (first != nowhere && last != nowhere)
      columns.names = {first, last};
  }
  const std::size_t usual = column(heading, identity_names);
  if (!wanted.identity.empty())
    columns.identity = {chosen(wanted.identity)};
  else if (usual != nowhere)
    columns.identity = {usual};
  else
    columns.identity = columns.names.empty() ? std::vector<std::size_t>{0} : columns.names;
  return columns;
}

std::string text_of_cells(const CsvRow& row, const std::vector<std::size_t>& columns) {
  std::vector<std::string> cells;
  for (const std::size_t at : columns) cells.push_back(without_guard(row[at]));
  return joined(cells, " ");
}

std::string key_of(const CsvRow& row, const std::vector<std::size_t>& identity) {
  return folded(text_of_cells(row, identity));
}

// Cuts the text to shown_as_bytes_max, without splitting a UTF-8 character.
std::string clipped(const std::string& text) {
  std::string name = visible(text);
  if (name.size() > shown_as_bytes_max) {
    std::size_t end = shown_as_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    name.resize(end);
  }
  while (name.ends_with(' ')) name.pop_back();
  return name;
}

// Excludes rows of an export that are not students: the points of Canvas, its test student, and
// rows without a student above both. course/grader/gradebook.py has the same rule.
bool is_student(const CsvRow& row, bool is_canvas) {
  if (folded(row[0]).find("points possible") != std::string::npos) return false;
  return !is_canvas || (!folded(row[0]).empty() && folded(row[0]) != "student, test");
}

bool is_of_canvas(const CsvRow& heading) {
  const std::vector<std::string> first{"student", "lastname", "firstname", "id", "sis user id"};
  return column({heading[0]}, first) == 0 && column(heading, {"section"}) != nowhere;
}

std::string line(std::size_t number) { return "line " + std::to_string(number); }

struct Roster {
  CsvTable table;  // its students, each once
  RosterColumns columns;
};

Roster read_roster(const NewClass& wanted, bool with_names, std::vector<std::string>& remarks) {
  const std::string& file = wanted.roster;
  CsvTable all = read_table(file);
  const RosterColumns columns = columns_of(all.heading, wanted);
  if (with_names && columns.names.empty())
    throw std::invalid_argument(
        file +
        " has no column 'name', and none of 'first name' and 'last name', for the "
        "leaderboard; its columns are " +
        joined(all.heading) +
        ". --name-column COLUMN chooses one (twice: first and last name); 'anonymous = true' in "
        "the scenario needs none");
  std::vector<std::string> identity_heading;
  for (const std::size_t at : columns.identity) identity_heading.push_back(all.heading[at]);
  const std::string called = joined(identity_heading, " and ");
  Roster roster{.columns = columns};
  CsvTable& table = roster.table;
  table.heading = all.heading;
  table.separator = all.separator;
  table.has_mark = all.has_mark;
  const bool is_canvas = is_of_canvas(all.heading);
  std::map<std::string, std::size_t> seen;  // rows by identity
  std::vector<std::string> left_out, unidentified, repeated;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    CsvRow& row = all.rows[i];
    if (!is_student(row, is_canvas)) {
      const std::string name = visible(row[0]);
      left_out.push_back(line(all.lines[i]) + (name.empty() ? "" : " (" + name + ")"));
      continue;
    }
    const std::string key = key_of(row, columns.identity),
                      name = visible(text_of_cells(row, columns.names));
    if (with_names && !parse_account_name(clipped(name)))
      throw std::invalid_argument(file + ", " + line(all.lines[i]) + ": the name '" + name +
                                  "' is not UTF-8: save the file as \"CSV UTF-8\"");
    if (key.empty()) {
      unidentified.push_back(line(all.lines[i]) + (name.empty() ? "" : " (" + name + ")"));
      continue;
    }
    const auto [known, is_new] = seen.try_emplace(key, table.rows.size());
    if (!is_new) {
      const std::size_t before = known->second;
      const std::string both =
          "lines " + std::to_string(table.lines[before]) + " and " + std::to_string(all.lines[i]);
      // If only the name identifies them, they may be two students.
      const bool is_same = columns.identity != columns.names && !columns.names.empty() &&
                           key_of(row, columns.names) == key_of(table.rows[before], columns.names);
      const std::string text = visible(text_of_cells(row, columns.identity));
      if (!is_same)
        throw std::invalid_argument(file + ": two students have the " + called + " '" + text +
                                    "', in " + both +
                                    "; --id-column COLUMN chooses another column to tell them "
                                    "apart");
      repeated.push_back(text + " (" + both + ")");
      continue;
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(all.lines[i]);
  }
  if (!unidentified.empty())
    throw std::invalid_argument(file + ": students without " + called +
                                ", which tells them apart: " + listed(unidentified) +
                                ". Fill it in, or choose another column with --id-column COLUMN");
  if (table.rows.size() > students_max)
    throw std::invalid_argument(file + ": more than " + std::to_string(students_max) + " students");
  if (!left_out.empty())
    remarks.push_back(file + ": left out, since it is not a student: " + listed(left_out));
  if (!repeated.empty())
    remarks.push_back(file + ": one account for a student who is there twice: " + listed(repeated));
  return roster;
}

// The columns that write() has written. A teacher may have moved them.
struct OwnColumns {
  std::size_t account, shown_as, key, link;
};
OwnColumns own_columns_of(const CsvTable& table, const std::string& file) {
  const auto at = [&](const std::string& name) {
    const auto found = std::find(table.heading.rbegin(), table.heading.rend(), name);
    if (found == table.heading.rend())
      throw std::invalid_argument(file + " has no column '" + name + "'");
    return std::size_t(table.heading.rend() - found - 1);
  };
  return {at(own_columns[0]), at(own_columns[1]), at(own_columns[2]), at(own_columns[3])};
}

std::uint64_t number_of(const std::string& account, const std::string& file) {
  std::uint64_t number = 0;
  const char* const end = account.data() + account.size();
  if (const auto read = std::from_chars(account.data(), end, number);
      read.ec != std::errc() || read.ptr != end)
    throw std::invalid_argument(file + ": '" + account + "' is not the number of an account");
  return number;
}

std::vector<CsvRow> rows_of_bots(const std::string& file) {
  CsvTable table = read_table(file);
  if (table.heading != CsvRow{"name", "account", "key"})
    throw std::invalid_argument(file + " has not the columns name, account and key");
  return std::move(table.rows);
}

// The students that the class already has.
struct Before {
  struct Student {
    CsvRow of_roster;  // in the columns of the new roster
    std::string identity, key;
    CsvRow own;
    bool is_in_roster = false;
  };
  std::vector<Student> students;
  std::uint64_t next_account;
  std::set<std::string> names;

  // Returns nothing if the class does not have the student. If several have one identity, which an
  // edited file may contain, returns the one with the same spelling, else the first.
  Student* find(const std::string& identity, const std::string& key) {
    Student* found = nullptr;
    for (Student& one : students)
      if (one.key == key && !one.is_in_roster && (found == nullptr || one.identity == identity))
        found = &one;
    return found;
  }
};

std::string without_zeros(const std::string& digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

Before read_before(const std::string& file, const Roster& roster, std::uint64_t first_account) {
  Before before{.next_account = first_account};
  if (!fs::exists(file)) return before;
  const CsvTable table = read_table(file);
  const OwnColumns own = own_columns_of(table, file);
  const CsvRow& heading = roster.table.heading;
  std::vector<std::size_t> identity;
  for (const std::size_t at : roster.columns.identity) {
    identity.push_back(column(table.heading, {heading[at]}));
    if (identity.back() == nowhere)
      throw std::invalid_argument(file + " has no column '" + heading[at] +
                                  "', so its keys cannot be found again: --id-column COLUMN "
                                  "chooses one that it has; another --folder begins a new class");
  }
  for (const CsvRow& row : table.rows) {
    CsvRow of_roster;
    for (const std::string& name : heading) {
      const std::size_t at = column(table.heading, {name});
      of_roster.push_back(at == nowhere ? "" : without_guard(row[at]));
    }
    const std::string shown_as = without_guard(row[own.shown_as]);
    before.names.insert(shown_as);
    before.next_account = std::max(before.next_account, number_of(row[own.account], file) + 1);
    before.students.push_back({.of_roster = std::move(of_roster),
                               .identity = text_of_cells(row, identity),
                               .key = key_of(row, identity),
                               .own = {row[own.account], shown_as, row[own.key], ""}});
  }
  return before;
}

// Returns the student who is not in the roster yet and whose id is this number except for leading
// zeros. Two ids may differ in these zeros alone, so the name must be the same; returns null if
// several match.
Before::Student* find_without_zeros(const std::string& number, const CsvRow& row,
                                    const Roster& roster, Before& before) {
  const std::vector<std::size_t>& names = roster.columns.names;
  Before::Student* found = nullptr;
  for (Before::Student& one : before.students) {
    if (one.is_in_roster || without_zeros(one.key) != number) continue;
    if (key_of(one.of_roster, names) != key_of(row, names)) continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found;
}

// Returns the row of keys.csv of each student of the roster; null for new students.
std::vector<Before::Student*> known_students(const Roster& roster, Before& before) {
  std::vector<Before::Student*> known;
  std::map<std::string, std::size_t> numbers;  // ids of the roster without zeros: their count
  const std::vector<std::size_t>& identity = roster.columns.identity;
  const auto note = [&](Before::Student* one) {
    if (one != nullptr) one->is_in_roster = true;
    return one;
  };
  for (const CsvRow& row : roster.table.rows) {
    const std::string key = key_of(row, identity);
    ++numbers[without_zeros(key)];
    known.push_back(note(before.find(text_of_cells(row, identity), key)));
  }
  // A spreadsheet that saved one of the files has changed the id 00123 to 123.
  for (std::size_t i = 0; i < known.size(); ++i) {
    const CsvRow& row = roster.table.rows[i];
    const std::string number = without_zeros(key_of(row, identity));
    if (known[i] == nullptr && !number.empty() && numbers[number] == 1)
      known[i] = note(find_without_zeros(number, row, roster, before));
  }
  return known;
}

// `taken`: accounts of bots.
CsvTable with_keys(const Roster& roster, Before before, const Scenario& scenario,
                   const std::set<std::string>& taken, const std::string& page, Written& written) {
  std::vector<CsvRow> rows = roster.table.rows, own(rows.size());
  const std::vector<Before::Student*> known = known_students(roster, before);
  // In random order if the number of an account must not show who the student is.
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (known[i] != nullptr)
      own[i] = known[i]->own;
    else
      fresh.push_back(i);
  std::random_device random;
  if (scenario.anonymous) std::shuffle(fresh.begin(), fresh.end(), random);
  written.added = fresh.size();
  for (const std::size_t i : fresh) {
    std::string shown_as = scenario.anonymous
                               ? new_pseudonym(before.names, random)
                               : clipped(text_of_cells(rows[i], roster.columns.names));
    while (taken.contains(std::to_string(before.next_account))) ++before.next_account;
    const std::string account = std::to_string(before.next_account++);
    if (shown_as.empty()) shown_as = account;
    own[i] = {account, shown_as, made_key(), ""};
  }
  std::map<std::string, std::vector<std::string>> accounts;  // by name on the leaderboard
  for (const CsvRow& one : own) accounts[folded(one[1])].push_back(one[0]);
  for (const auto& [shown_as, all] : accounts)
    if (all.size() > 1) {
      const auto first = std::find_if(own.begin(), own.end(),
                                      [&](const CsvRow& one) { return one[0] == all.front(); });
      written.remarks.push_back("the leaderboard shows accounts " + listed(all) + " as '" +
                                (*first)[1] +
                                "': 'exchange-cli admin name ACCOUNT NAME' gives one another name");
    }
  std::vector<std::string> gone;
  for (const Before::Student& one : before.students)
    if (!one.is_in_roster) {
      gone.push_back(visible(one.identity));
      rows.push_back(one.of_roster);
      own.push_back(one.own);
    }
  if (!gone.empty())
    written.remarks.push_back("not in the roster now, but with an account of before: " +
                              listed(gone));
  CsvTable table = roster.table;
  table.heading.insert(table.heading.end(), own_columns.begin(), own_columns.end());
  table.rows = std::move(rows);
  table.lines.clear();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    own[i][3] = page + "/#sign-in=" + own[i][0] + ":" + own[i][2];
    table.rows[i].insert(table.rows[i].end(), own[i].begin(), own[i].end());
    for (std::string& cell : table.rows[i]) cell = harmless(cell);
  }
  for (std::string& name : table.heading) name = harmless(name);
  return table;
}

std::vector<std::string> names_of_bots(const Scenario& scenario) {
  std::map<CharacterKind, unsigned> counts;
  std::vector<std::string> names;
  for (const Scenario::Bots& bots : scenario.bots)
    for (unsigned i = 0; i < bots.count; ++i)
      names.push_back(std::string(exchange::to_string(bots.character)) + " " +
                      std::to_string(++counts[bots.character]));
  return names;
}

// `students`: their accounts.
CsvTable table_of_bots(const std::string& file, const Scenario& scenario,
                       const std::set<std::string>& students) {
  CsvTable table{.heading = {"name", "account", "key"}};
  std::map<std::string, CsvRow> before;
  if (fs::exists(file))
    for (const CsvRow& row : rows_of_bots(file)) before[row[0]] = row;
  // Leaves account numbers for students who join later.
  std::uint64_t next = scenario.first_account + students_max;
  for (const auto& [name, row] : before) next = std::max(next, number_of(row[1], file) + 1);
  for (const std::string& name : names_of_bots(scenario)) {
    const auto found = before.find(name);
    while (students.contains(std::to_string(next))) ++next;
    table.rows.push_back(found != before.end() ? found->second
                                               : CsvRow{name, std::to_string(next++), made_key()});
    if (found != before.end()) before.erase(found);
  }
  // Bots of another scenario may be used again.
  for (auto& [name, row] : before) table.rows.push_back(std::move(row));
  return table;
}

void set(pugi::xml_node node, const std::string& name, const std::string& value) {
  node.append_attribute(name.c_str()) = value.c_str();
}

std::string text_of(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
  return out.str();
}

std::string creation_of(const std::vector<Scenario::Instrument>& instruments, bool is_new) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("create");
  for (const Scenario::Instrument& one : instruments) {
    if (!is_new && one.rules.empty()) continue;
    if (is_new) set(root.append_child("symbol"), "sym", one.symbol);
    pugi::xml_node rules = root.append_child("instrument");
    set(rules, "sym", one.symbol);
    for (const auto& [name, value] : one.rules) set(rules, name, value);
    if (is_new) set(rules, "trading", "halted");
  }
  return text_of(document);
}

}  // namespace

bool ClassFolder::exists() const { return fs::exists(file(students_name)); }

client::Descriptor ClassFolder::locked() const {
  client::Descriptor held = lock(file(lock_name));
  if (!held) throw std::invalid_argument("another command changes the class in " + path_ + " now");
  return held;
}

Written ClassFolder::write(const NewClass& wanted) {
  Written written;
  const std::string scenario_text = read(wanted.scenario);
  const Scenario scenario = parse_scenario(scenario_text, wanted.scenario);
  const Roster roster = read_roster(wanted, !scenario.anonymous, written.remarks);
  if (wanted.check) wanted.check(scenario, roster.table.rows.size());
  std::string page = scenario.page.empty() ? wanted.page : scenario.page;
  while (page.ends_with('/')) page.pop_back();
  if (fs::create_directories(path_)) fs::permissions(path_, fs::perms::owner_all);
  const client::Descriptor held = locked();  // two at once would create two keys of one account
  const Before before = read_before(file(students_name), roster, scenario.first_account);
  std::set<std::string> accounts;
  for (const Before::Student& student : before.students) accounts.insert(student.own[0]);
  const CsvTable bots = table_of_bots(file(bots_name), scenario, accounts);
  std::set<std::string> taken;
  for (const CsvRow& row : bots.rows) taken.insert(row[1]);
  const CsvTable students = with_keys(roster, before, scenario, taken, page, written);
  if (!fs::exists(operator_key_file())) write_private(operator_key_file(), made_key() + "\n");
  write_private(file(bots_name), to_csv(bots));
  write_private(file(timetable_name), scenario.timetable);
  write_private(file(scenario_name), scenario_text);
  write_private(file(students_name), to_csv(students));
  return written;
}

std::string ClassFolder::operator_key_file() const { return file(operator_key_name); }

Scenario ClassFolder::scenario() const {
  if (!exists())
    throw std::invalid_argument("there is no class in " + path_ +
                                ": 'class init ROSTER SCENARIO' makes one");
  return parse_scenario(read(file(scenario_name)), file(scenario_name));
}

CsvTable ClassFolder::students_table(std::size_t& account) const {
  CsvTable table = read_table(file(students_name));
  const OwnColumns own = own_columns_of(table, file(students_name));
  const auto erase = [&](CsvRow& row) {
    for (const std::size_t at : {std::max(own.key, own.link), std::min(own.key, own.link)})
      row.erase(row.begin() + std::ptrdiff_t(at));
  };
  erase(table.heading);
  for (CsvRow& row : table.rows) erase(row);
  account = own.account - (own.key < own.account) - (own.link < own.account);
  return table;
}

std::vector<Member> ClassFolder::students(const Scenario& scenario) const {
  const CsvTable table = read_table(file(students_name));
  const OwnColumns own = own_columns_of(table, file(students_name));
  std::vector<Member> students;
  for (const CsvRow& row : table.rows)
    students.push_back({.account = row[own.account],
                        .key = row[own.key],
                        .shown_as = without_guard(row[own.shown_as]),
                        .start = scenario.student,
                        .limits = scenario.limits});
  return students;
}

std::vector<Bot> ClassFolder::bots(const Scenario& scenario) const {
  const std::vector<CsvRow> rows = rows_of_bots(file(bots_name));
  if (rows.size() < names_of_bots(scenario).size())
    throw std::invalid_argument(file(bots_name) + " has fewer bots than " + file(scenario_name) +
                                ": 'class init' makes them");
  std::vector<Bot> bots;
  for (const Scenario::Bots& kind : scenario.bots)
    for (unsigned i = 0; i < kind.count; ++i) {
      const CsvRow& row = rows[bots.size()];
      const auto& all = scenario.instruments;
      const auto named = std::find_if(all.begin(), all.end(),
                                      [&](const auto& one) { return one.symbol == kind.symbol; });
      const auto& instrument = named != all.end() ? *named : all[i % all.size()];
      bots.push_back(
          {Member{
               .account = row.at(1), .key = row.at(2), .shown_as = row.at(0), .start = kind.start},
           kind, instrument});
    }
  return bots;
}

std::string instruments_of(const std::vector<Scenario::Instrument>& instruments) {
  return creation_of(instruments, true);
}
std::string rules_of(const std::vector<Scenario::Instrument>& instruments) {
  return creation_of(instruments, false);
}

std::string accounts_of(Members members) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("create");
  for (const Member* member : members) {
    pugi::xml_node account = root.append_child("account");
    set(account, "id", member->account);
    set(account, "balance", member->start.cash);
    set(account, "key", member->key);
    pugi::xml_node rules = root.append_child("set-account");
    set(rules, "id", member->account);
    set(rules, "name", member->shown_as);
    for (const auto& [name, value] : member->limits) set(rules, name, value);
  }
  return text_of(document);
}

std::string gifts_of(std::span<const Gift> gifts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("create");
  std::map<std::string, pugi::xml_node> symbols;
  for (const Gift& gift : gifts) {
    pugi::xml_node& node = symbols[gift.symbol];
    if (!node) set(node = root.append_child("symbol"), "sym", gift.symbol);
    pugi::xml_node account = node.append_child("account");
    set(account, "id", gift.account);
    account.text() = gift.shares.c_str();
  }
  return text_of(document);
}

void write_private(const std::string& file, const std::string& text) {
  const std::string draft = file + ".new";
  const auto check = [&](bool done) {
    if (!done) throw std::system_error(errno, std::generic_category(), "cannot write " + file);
  };
  const client::Descriptor out(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  check(bool(out));
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(out.number(), text.data() + at, text.size() - at);
    check(written > 0);
    at += std::size_t(written);
  }
  check(::fsync(out.number()) == 0 && std::rename(draft.c_str(), file.c_str()) == 0);
}

std::string made_key() {
  unsigned char bytes[24];
  if (::getentropy(bytes, sizeof bytes) != 0)
    throw std::runtime_error("the system gives no random bytes for a key");
  std::string key;
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) key += "0123456789abcdef"[digit];
  return key;
}

}  // namespace exchange::classroom
