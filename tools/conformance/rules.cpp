#include "tools/conformance/rules.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/embedded_file.hpp"

namespace exchange {
std::span<const EmbeddedFile> protocol_page();
}

namespace exchange::conformance {
namespace {

// A rule with origin "course" is a must, one with origin "ours" is ours, but for these.
const std::set<std::string, std::less<>> should_be_kept{
    "F2",   // few clients send other characters
    "F9",   // many servers close after each reply, and their clients know it
    "F10",  // as F9
    "R6",   // as F9
    "T9",   // other listing orders are a matter of form
    "R10",  // most servers print a sell's open shares with a minus
    "X11",  // the course says no word on other roots
    "X16",  // some XML libraries accept it
    "F8",  "F11", "X4", "X5", "X6", "C3", "C7", "C11", "T8", "T11", "T16", "N1", "N9"};

// Why no case tests a rule.
const std::map<std::string, std::string, std::less<>> untested{
    {"F15", "depends on buffers of the network"},
    {"F17", "the words of an error are for people"},
    {"F19", "takes as long as the server's patience"},
    {"F20", "the words of an error are for people"},
    {"F21", "the words of an error are for people"},
    {"R2", "every case relies on it"},
    {"R4", "needs the power to kill the server: ./grade.sh does"},
    {"R5", "an option of the server; replies are read with and without length lines"},
    {"R7", "an option of the server"},
    {"R9", "every case relies on it: no case reads the words of an error"},
    {"R13", "takes 100,000 executions"},
    {"C13", "cannot be seen from outside"},
    {"C14", "would use up the cash that the server may have in all"},
    {"T12", "an option of the server"},
    {"T13", "an option of the server"},
    {"E21", "looks like E20 from outside"},
    {"E23", "takes 100,000 orders"},
    {"E24", "takes the idle time"},
    {"E25", "needs the power to stop the server"},
    {"K1", "an option of the server"},
    {"K2", "takes 16,384 connections"},
    {"K3", "takes 12,288 connections"},
    {"K4", "takes 12,288 connections"},
    {"K5", "takes 600 seconds"},
    {"K6", "takes 60 seconds"},
    {"K7", "takes more memory than a test should"},
    {"K8", "needs the power to stop the server"},
    {"K9", "an option of the server"},
    {"K10", "an option of the server"},
    {"K11", "an option of the server"},
};

Level level_of(const Rule& rule) {
  if (should_be_kept.contains(rule.number)) return Level::should;
  return rule.course ? Level::must : Level::ours;
}

}  // namespace

const char* name_of(Level level) {
  return level == Level::must ? "must" : level == Level::should ? "should" : "ours";
}

// "- **F1** Sentence. (course: …)", over one or more lines.
std::vector<Rule> read_rules(std::string_view page) {
  std::vector<Rule> rules;
  constexpr std::string_view start = "\n- **";
  for (std::size_t at = page.find(start); at != std::string_view::npos;
       at = page.find(start, at + 1)) {
    const std::size_t begin = at + start.size(), number_end = page.find("** ", begin);
    std::size_t end = page.find('\n', number_end);
    while (end != std::string_view::npos && page.substr(end).starts_with("\n  "))
      end = page.find('\n', end + 1);
    std::string text;
    for (const char c : page.substr(number_end + 3, end - number_end - 3))
      if (c != '\n' && !(c == ' ' && text.ends_with(' ')))
        text += c;
      else if (!text.ends_with(' '))
        text += ' ';
    Rule rule{.number = std::string(page.substr(begin, number_end - begin))};
    const std::size_t origin = std::max(text.rfind(" (course: ") + 1, text.rfind(" (ours: ") + 1);
    rule.course = origin != 0 && text.substr(origin).starts_with("(course");
    rule.sentence = origin != 0 ? text.substr(0, origin - 1) : text;
    rule.level = level_of(rule);
    if (const auto found = untested.find(rule.number); found != untested.end())
      rule.untested = found->second;
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::vector<Rule> all_rules() { return read_rules(protocol_page().front().content); }

}  // namespace exchange::conformance
