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

#include "client/classroom/pseudonyms.hpp"
#include "client/connection/socket.hpp"
#include "engine/ids.hpp"

namespace exchange::classroom {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t students_max = 5'000, shown_as_bytes_max = 40;
constexpr const char *students_name = "keys.csv", *bots_name = "bots.csv",
                     *scenario_name = "scenario.toml", *timetable_name = "timetable",
                     *operator_key_name = "operator.key";
// What follows the columns of the roster.
const CsvRow own_columns{"account", "shown as", "key", "link"};

std::string read(const std::string& file) {
  std::ostringstream text;
  std::ifstream in(file);
  if (!in || !(text << in.rdbuf()))
    throw std::invalid_argument(file + " cannot be read, or is empty");
  return text.str();
}

CsvTable read_table(const std::string& file) try {
  return parse_csv(read(file));
} catch (const std::invalid_argument& error) {
  const std::string why = error.what();
  throw std::invalid_argument(why.starts_with(file) ? why : file + ", " + why);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char one) { return char(std::tolower(one)); });
  return text;
}

constexpr std::size_t nowhere = std::size_t(-1);

// The first column whose name is one of these.
std::size_t column(const CsvRow& heading, std::initializer_list<const char*> names) {
  for (const char* name : names)
    for (std::size_t i = 0; i < heading.size(); ++i)
      if (lower(heading[i]) == name) return i;
  return nowhere;
}

// The column that tells students apart.
std::size_t identity_column(const CsvRow& heading) {
  const std::size_t at = column(heading, {"email", "e-mail", "email address", "mail", "id",
                                          "username", "student id", "sis user id"});
  return at == nowhere ? 0 : at;
}

// Nothing if no column has names: then nothing else of the roster may go on a leaderboard.
std::optional<std::string> name_of(const CsvRow& heading, const CsvRow& row) {
  const std::size_t whole = column(heading, {"name", "full name", "student", "student name"});
  if (whole != nowhere) return row[whole];
  const std::size_t first = column(heading, {"first name", "firstname", "forename", "given name"}),
                    last = column(heading, {"last name", "lastname", "surname", "family name"});
  if (first == nowhere || last == nowhere) return {};
  return row[first] + " " + row[last];
}

// As far as it fits, in whole characters of UTF-8.
std::string clipped(std::string name) {
  std::erase_if(name, [](unsigned char one) { return one < ' ' || one == 0x7f; });
  if (name.size() > shown_as_bytes_max) {
    std::size_t end = shown_as_bytes_max;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
    name.resize(end);
  }
  const std::size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "" : name.substr(begin, end - begin + 1);
}

CsvTable read_roster(const std::string& file, bool with_names) {
  CsvTable roster = read_table(file);
  if (with_names && !name_of(roster.heading, roster.heading))
    throw std::invalid_argument(file +
                                " has no column 'name', and none of 'first name' and 'last name', "
                                "for the leaderboard; 'anonymous = true' needs none");
  const std::size_t identity = identity_column(roster.heading);
  std::set<std::string> seen;
  for (const CsvRow& row : roster.rows)
    if (!seen.insert(row[identity]).second)
      throw std::invalid_argument(file + ": two students have the " + roster.heading[identity] +
                                  " '" + row[identity] + "'");
  if (roster.rows.size() > students_max)
    throw std::invalid_argument(file + ": more than " + std::to_string(students_max) + " students");
  return roster;
}

// Of columns that write() has written, and a teacher may have moved.
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

// The columns that a class before has of its own; of students who left the roster the rest too.
struct Before {
  std::map<std::string, CsvRow> own;      // by identity
  std::map<std::string, CsvRow> rosters;  // the same, in the columns of the new roster
  std::uint64_t next_account;
  std::set<std::string> names;
};

Before read_before(const std::string& file, const CsvTable& roster, std::uint64_t first_account) {
  Before before{.next_account = first_account};
  if (!fs::exists(file)) return before;
  const CsvTable table = read_table(file);
  const std::string& wanted = roster.heading[identity_column(roster.heading)];
  const OwnColumns own = own_columns_of(table, file);
  const auto of = [&](const std::string& name) { return column(table.heading, {name.c_str()}); };
  const std::size_t identity = of(lower(wanted));
  if (identity == nowhere)
    throw std::invalid_argument(file + " has no column '" + wanted +
                                "', so its keys cannot be found again; another --folder begins a "
                                "new class");
  for (const CsvRow& row : table.rows) {
    CsvRow of_roster;
    for (const std::string& name : roster.heading)
      of_roster.push_back(of(lower(name)) == nowhere ? "" : row[of(lower(name))]);
    before.names.insert(row[own.shown_as]);
    before.next_account = std::max(before.next_account, number_of(row[own.account], file) + 1);
    before.own[row[identity]] = {row[own.account], row[own.shown_as], row[own.key], ""};
    before.rosters[row[identity]] = std::move(of_roster);
  }
  return before;
}

// `taken`: accounts of bots.
CsvTable with_keys(const CsvTable& roster, Before before, const Scenario& scenario,
                   const std::set<std::string>& taken, const std::string& page,
                   std::size_t& added) {
  CsvTable table = roster;
  table.heading.insert(table.heading.end(), own_columns.begin(), own_columns.end());
  const std::size_t identity = identity_column(roster.heading);
  // In an order of their own, where the number of an account must not tell who it is.
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < roster.rows.size(); ++i)
    if (!before.own.contains(roster.rows[i][identity])) fresh.push_back(i);
  std::random_device random;
  if (scenario.anonymous) std::shuffle(fresh.begin(), fresh.end(), random);
  added = fresh.size();
  for (const std::size_t i : fresh) {
    const CsvRow& row = roster.rows[i];
    std::string shown_as = scenario.anonymous ? new_pseudonym(before.names, random)
                                              : clipped(name_of(roster.heading, row).value_or(""));
    while (taken.contains(std::to_string(before.next_account))) ++before.next_account;
    const std::string account = std::to_string(before.next_account++), key = made_key();
    if (shown_as.empty()) shown_as = account;
    if (!parse_account_name(shown_as))
      throw std::invalid_argument("the roster has the name '" + shown_as +
                                  "', which is not UTF-8: save it as \"CSV UTF-8\"");
    before.own[row[identity]] = {account, shown_as, key, ""};
    before.rosters[row[identity]] = row;
  }
  for (const CsvRow& row : roster.rows) before.rosters.erase(row[identity]);
  for (auto& [gone, row] : before.rosters) table.rows.push_back(std::move(row));
  for (CsvRow& row : table.rows) {
    CsvRow own = before.own.at(row[identity]);
    own[3] = page + "/#sign-in=" + own[0] + ":" + own[2];
    row.insert(row.end(), own.begin(), own.end());
  }
  return table;
}

std::vector<std::string> names_of_bots(const Scenario& scenario) {
  std::map<CharacterKind, unsigned> counts;
  std::vector<std::string> names;
  for (const Scenario::Bots& bots : scenario.bots)
    for (unsigned i = 0; i < bots.count; ++i)
      names.push_back(std::string(exchange::name_of(bots.character)) + " " +
                      std::to_string(++counts[bots.character]));
  return names;
}

CsvTable table_of_bots(const std::string& file, const Scenario& scenario) {
  CsvTable table{.heading = {"name", "account", "key"}};
  std::map<std::string, CsvRow> before;
  if (fs::exists(file))
    for (const CsvRow& row : rows_of_bots(file)) before[row[0]] = row;
  // Students may still come.
  std::uint64_t next = scenario.first_account + students_max;
  for (const auto& [name, row] : before) next = std::max(next, number_of(row[1], file) + 1);
  for (const std::string& name : names_of_bots(scenario)) {
    const auto found = before.find(name);
    table.rows.push_back(found != before.end() ? found->second
                                               : CsvRow{name, std::to_string(next++), made_key()});
    if (found != before.end()) before.erase(found);
  }
  // Bots of another scenario may come back.
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

std::size_t ClassFolder::write(const std::string& roster_file, const std::string& scenario_file,
                               const std::string& page) {
  const std::string scenario_text = read(scenario_file);
  const Scenario scenario = parse_scenario(scenario_text, scenario_file);
  const CsvTable roster = read_roster(roster_file, !scenario.anonymous);
  const Before before = read_before(file(students_name), roster, scenario.first_account);
  std::size_t added = 0;
  const CsvTable bots = table_of_bots(file(bots_name), scenario);
  std::set<std::string> taken;
  for (const CsvRow& row : bots.rows) taken.insert(row[1]);
  const CsvTable students = with_keys(roster, before, scenario, taken,
                                      scenario.page.empty() ? page : scenario.page, added);
  if (fs::create_directories(path_)) fs::permissions(path_, fs::perms::owner_all);
  if (!fs::exists(operator_key_file())) write_private(operator_key_file(), made_key() + "\n");
  write_private(file(bots_name), to_csv(bots));
  write_private(file(timetable_name), scenario.timetable);
  write_private(file(scenario_name), scenario_text);
  write_private(file(students_name), to_csv(students));
  return added;
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
                        .shown_as = row[own.shown_as],
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
  }
  return text_of(document);
}

std::string shares_of(Members members) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("create");
  std::map<std::string, pugi::xml_node> symbols;
  for (const Member* member : members) {
    pugi::xml_node rules = root.append_child("set-account");
    set(rules, "id", member->account);
    set(rules, "name", member->shown_as);
    for (const auto& [name, value] : member->limits) set(rules, name, value);
    for (const auto& [symbol, shares] : member->start.shares) {
      pugi::xml_node& node = symbols[symbol];
      if (!node) set(node = root.append_child("symbol"), "sym", symbol);
      pugi::xml_node account = node.append_child("account");
      set(account, "id", member->account);
      account.text() = shares.c_str();
    }
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
