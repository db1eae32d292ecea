#include "timetable/time_zone.hpp"

#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>

namespace exchange {
namespace {

// Returns true for a name in the time zone database, or a path to a file of its format (man 3
// tzset, tzfile(5)).
bool is_file_of_zone(const std::string& name) {
  const char* const folder = std::getenv("TZDIR");
  const std::string path =
      name.starts_with('/') ? name
                            : (folder != nullptr ? folder : "/usr/share/zoneinfo") + ("/" + name);
  std::string magic(4, '\0');
  return std::ifstream(path, std::ios::binary).read(magic.data(), 4) && magic == "TZif";
}

// Returns true for a rule in POSIX's form, such as CET-1CEST,M3.5.0,M10.5.0/3.
bool is_rule(const std::string& text) {
  static const std::string name = "([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)",
                           time = "[0-9]{1,3}(:[0-5]?[0-9]){0,2}",
                           day = "(J[0-9]{1,3}|[0-9]{1,3}|M[0-9]{1,2}\\.[1-5]\\.[0-6])",
                           change = day + "(/[+-]?" + time + ")?";
  static const std::regex rule(name + "[+-]?" + time + "(" + name + "([+-]?" + time + ")?(," +
                               change + "," + change + ")?)?");
  return std::regex_match(text, rule);
}

}  // namespace

void require_time_zone() {
  const char* const set = std::getenv("TZ");
  if (set == nullptr) return;
  std::string zone = set;
  if (zone.starts_with(':')) zone.erase(0, 1);
  if (zone.empty() || zone == "UTC" || zone == "GMT") return;  // known without a database
  if (is_file_of_zone(zone) || is_rule(zone)) return;
  throw std::invalid_argument("TZ='" + std::string(set) +
                              "' names no time zone of this machine, and --timetable depends on "
                              "it: use a name as Europe/Zurich, with no blanks or quotes (Debian: "
                              "package tzdata), or unset it for the zone of the machine");
}

}  // namespace exchange
