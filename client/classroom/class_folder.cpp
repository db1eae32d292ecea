#include "client/classroom/class_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <pugixml.hpp>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "client/classroom/pseudonyms.hpp"
#include "client/connection/socket.hpp"

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

// The old file or the new one, whatever happens in between.
void write(const std::string& file, const std::string& text) {
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

std::string name_of(const CsvRow& heading, const CsvRow& row) {
  const std::size_t whole = column(heading, {"name", "full name", "student"});
  if (whole != nowhere) return row[whole];
  const std::size_t first = column(heading, {"first name", "firstname", "given name"}),
                    last = column(heading, {"last name", "lastname", "surname", "family name"});
  if (first == nowhere || last == nowhere) return row[identity_column(heading)];
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

CsvTable read_roster(const std::string& file) {
  CsvTable roster = read_table(file);
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
  const auto of = [&](const std::string& name) {
    return std::size_t(std::find(table.heading.begin(), table.heading.end(), name) -
                       table.heading.begin());
  };
  if (table.heading.size() <= own_columns.size() || of(wanted) == table.heading.size())
    throw std::invalid_argument(file + " has no column '" + wanted +
                                "', so its keys cannot be found again; another --folder begins a "
                                "new class");
  for (const CsvRow& row : table.rows) {
    const CsvRow own(row.end() - std::ptrdiff_t(own_columns.size()), row.end());
    CsvRow of_roster;
    for (const std::string& name : roster.heading)
      of_roster.push_back(of(name) == table.heading.size() ? "" : row[of(name)]);
    before.names.insert(own[1]);
    before.next_account = std::max<std::uint64_t>(before.next_account, std::stoull(own[0]) + 1);
    before.own[row[of(wanted)]] = own;
    before.rosters[row[of(wanted)]] = std::move(of_roster);
  }
  return before;
}

CsvTable with_keys(const CsvTable& roster, Before before, const Scenario& scenario,
                   const std::string& page, std::size_t& added) {
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
                                              : clipped(name_of(roster.heading, row));
    const std::string account = std::to_string(before.next_account++), key = made_key();
    if (shown_as.empty()) shown_as = account;
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
    for (const CsvRow& row : read_table(file).rows) before[row.at(0)] = row;
  // Students may still come.
  std::uint64_t next = scenario.first_account + students_max;
  for (const auto& [name, row] : before)
    next = std::max<std::uint64_t>(next, std::stoull(row.at(1)) + 1);
  for (const std::string& name : names_of_bots(scenario)) {
    const auto found = before.find(name);
    table.rows.push_back(found != before.end() ? found->second
                                               : CsvRow{name, std::to_string(next++), made_key()});
  }
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

}  // namespace

bool ClassFolder::exists() const { return fs::exists(file(students_name)); }

std::size_t ClassFolder::write(const std::string& roster_file, const std::string& scenario_file,
                               const std::string& page) {
  const CsvTable roster = read_roster(roster_file);
  const std::string scenario_text = read(scenario_file);
  const Scenario scenario = parse_scenario(scenario_text, scenario_file);
  const Before before = read_before(file(students_name), roster, scenario.first_account);
  std::size_t added = 0;
  const CsvTable students =
      with_keys(roster, before, scenario, scenario.page.empty() ? page : scenario.page, added);
  const CsvTable bots = table_of_bots(file(bots_name), scenario);
  fs::create_directories(path_);
  fs::permissions(path_, fs::perms::owner_all);
  if (!fs::exists(operator_key_file())) classroom::write(operator_key_file(), made_key() + "\n");
  classroom::write(file(bots_name), to_csv(bots));
  classroom::write(file(timetable_name), scenario.timetable);
  classroom::write(file(scenario_name), scenario_text);
  classroom::write(file(students_name), to_csv(students));
  return added;
}

std::string ClassFolder::operator_key_file() const { return file(operator_key_name); }

Scenario ClassFolder::scenario() const {
  if (!exists())
    throw std::invalid_argument("there is no class in " + path_ +
                                ": 'class init ROSTER SCENARIO' makes one");
  return parse_scenario(read(file(scenario_name)), file(scenario_name));
}

CsvTable ClassFolder::students_table() const { return read_table(file(students_name)); }

std::vector<Member> ClassFolder::students(const Scenario& scenario) const {
  std::vector<Member> students;
  for (const CsvRow& row : students_table().rows) {
    const auto own = row.end() - std::ptrdiff_t(own_columns.size());
    students.push_back({.account = own[0],
                        .key = own[2],
                        .shown_as = own[1],
                        .start = scenario.student,
                        .limits = scenario.limits});
  }
  return students;
}

std::vector<Bot> ClassFolder::bots(const Scenario& scenario) const {
  const CsvTable table = read_table(file(bots_name));
  std::vector<Bot> bots;
  for (const Scenario::Bots& kind : scenario.bots)
    for (unsigned i = 0; i < kind.count; ++i) {
      const CsvRow& row = table.rows.at(bots.size());
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

std::string instruments_of(const Scenario& scenario) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("create");
  for (const Scenario::Instrument& one : scenario.instruments) {
    set(root.append_child("symbol"), "sym", one.symbol);
    pugi::xml_node rules = root.append_child("instrument");
    set(rules, "sym", one.symbol);
    for (const auto& [name, value] : one.rules) set(rules, name, value);
    set(rules, "trading", "halted");
  }
  return text_of(document);
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
