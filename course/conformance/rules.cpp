#include "course/conformance/rules.hpp"

#include <array>
#include <map>
#include <stdexcept>

#include "base/embedded_file.hpp"

namespace exchange {
std::span<const EmbeddedFile> protocol_page();
}

namespace exchange::conformance {
namespace {

// The reasons why no case tests a rule.
const std::map<std::string, std::string, std::less<>> untested{
    {"D1", "an option of the server"},
    {"D2", "an option of the server"},
    {"D4", "an option of the server"},
    {"D8", "the journal is the server's own"},
    {"F15", "depends on buffers of the network"},
    {"F17", "the words of an error are for people"},
    {"F19", "takes as long as the server's patience"},
    {"F20", "the words of an error are for people"},
    {"F21", "the words of an error are for people"},
    {"F23", "the words of an error are for people"},
    {"F24", "an option of the server"},
    {"F25", "an option of the server"},
    {"G2", "the leaderboard is not on the wire"},
    {"G3", "the leaderboard is not on the wire"},
    {"G4", "the leaderboard is not on the wire"},
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
    {"T20", "an option of the server"},
    {"E21", "looks like E20 from outside"},
    {"E23", "takes 100,000 orders"},
    {"E24", "takes the idle time"},
    {"E25", "needs the power to stop the server"},
    {"L1", "an option of the server"},
    {"L2", "an option of the server"},
    {"L3", "takes more executions than a test should make"},
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
    {"K12", "an option of the server"},
};

constexpr std::array levels{Level::must, Level::should, Level::ours};

}  // namespace

const char* to_string(Level level) {
  return level == Level::must ? "must" : level == Level::should ? "should" : "ours";
}

// Parses "- **F1** Sentence. (must: …)", over one or more lines.
std::vector<Rule> all_rules() {
  const std::string_view page = protocol_page().front().content;
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
    std::size_t sentence_end = std::string::npos;
    for (const Level level : levels)
      if (const std::size_t mark = text.rfind(" (" + std::string(to_string(level)) + ": ");
          mark != std::string::npos && (sentence_end == std::string::npos || mark > sentence_end)) {
        sentence_end = mark;
        rule.level = level;
      }
    if (sentence_end == std::string::npos)
      throw std::invalid_argument("rule " + rule.number + " has no level");
    rule.sentence = text.substr(0, sentence_end);
    if (const auto found = untested.find(rule.number); found != untested.end())
      rule.untested = found->second;
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace exchange::conformance
