#include "course/conformance/run.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/version.hpp"

namespace exchange::conformance {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t line_bytes_max = 100, form_bytes_max = 300, causes_shown = 8,
                      exchanges_shown = 3, exchange_bytes_max = 300;

std::string to_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string one_decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

// Makes a server's text safe for a terminal and for XML: UTF-8, without control characters and
// without characters that XML forbids.
std::string printable(const std::string& text) {
  const std::string valid = Json::parse(to_text(text)).get<std::string>();
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const std::string_view rest = std::string_view(valid).substr(i);
    const bool c1_control = rest.starts_with('\xC2') && rest[1] < '\xA0',
               no_character = rest.starts_with("\uFFFE") || rest.starts_with("\uFFFF"),
               control = std::iscntrl(static_cast<unsigned char>(valid[i])) != 0;
    if (!c1_control && !no_character && (!control || valid[i] == '\n' || valid[i] == '\t')) {
      out += valid[i];
      continue;
    }
    out += '?';
    i += c1_control ? 1 : no_character ? 2 : 0;
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out = by;
  for (const char c : printable(text)) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

std::string style_sentence(const Style& style) {
  return std::string("Replies come ") + (style.length_lines ? "after a length line" : "bare") +
         (style.per_request ? ", and the server closes after each"
                            : ", any number on one connection") +
         (style.wants_newline ? "; requests must end with a newline" : "") +
         (style.wants_end ? "; requests must be followed by the end of the stream" : "") + ".";
}

std::string summary(const ConformanceReport& report) {
  std::string text = "Score " + one_decimal(report.score()) + " of 100, " +
                     std::to_string(report.points()) + " of " +
                     std::to_string(report.points_max()) + " points. Kept";
  for (const Level level : {Level::must, Level::should, Level::ours}) {
    unsigned kept = 0, all = 0;
    for (const RuleResult& result : report.rules) {
      if (result.rule.level != level || !result.rule.untested.empty()) continue;
      ++all;
      kept += result.outcome == RuleOutcome::kept;
    }
    text += std::string(level == Level::must ? ": " : ", ") + std::to_string(kept) + " of " +
            std::to_string(all) + " " + to_string(level);
  }
  return text;
}

// Returns the last exchanges, shortened.
std::string end_of_conversation(const RuleResult& result) {
  std::string text;
  const std::size_t all = result.conversation.size();
  for (std::size_t i = all - std::min(all, exchanges_shown); i < all; ++i) {
    const auto& [sent, got] = result.conversation[i];
    const std::string reply = got.empty() ? "(nothing)" : shortened(got, exchange_bytes_max);
    text += indented(shortened(sent, exchange_bytes_max), "sent  ") + "\n" +
            indented(reply, "got   ") + "\n";
  }
  return text;
}

// Returns "M1 M7": the numbers of the rules.
std::string numbers_of(const std::vector<const RuleResult*>& rules) {
  std::string text;
  for (const RuleResult* const one : rules) text += (text.empty() ? "" : " ") + one->rule.number;
  return text;
}

std::string on_one_line(const std::string& text, std::size_t bytes_max = line_bytes_max) {
  std::string line = printable(text);
  std::ranges::replace(line, '\n', ' ');
  return shortened(line, bytes_max);
}

// Lists what to fix first: the broken rules, the most points first.
std::string causes_text(const ConformanceReport& report) {
  const std::vector<Cause> causes = report.causes();
  if (causes.empty()) return {};
  std::string text = "\nMend first (points that it gives, rule, level):\n";
  for (std::size_t i = 0; i < std::min(causes.size(), causes_shown); ++i) {
    const RuleResult& result = *causes[i].rule;
    char line[64];
    std::snprintf(line, sizeof line, "%5s  %-4s %-6s ",
                  ("+" + std::to_string(causes[i].points)).c_str(), result.rule.number.c_str(),
                  to_string(result.rule.level));
    text += line + on_one_line(result.rule.sentence) + "\n";
    text += std::string(19, ' ') + on_one_line(result.why) + "\n";
    if (!causes[i].blocks.empty())
      text += std::string(19, ' ') +
              on_one_line("cannot be tested before: " + numbers_of(causes[i].blocks)) + "\n";
  }
  if (causes.size() > causes_shown)
    text += "  and " + std::to_string(causes.size() - causes_shown) + " more, below\n";
  return text;
}

// Returns the rules of this level that lost their points, or would have lost them.
std::vector<const RuleResult*> lost(const ConformanceReport& report, Level level) {
  std::vector<const RuleResult*> rules;
  for (const RuleOutcome outcome : {RuleOutcome::broken, RuleOutcome::blocked})
    for (const RuleResult& result : report.rules)
      if (result.rule.level == level && result.outcome == outcome) rules.push_back(&result);
  return rules;
}

std::string in_full(const RuleResult& result) {
  const bool blocked = result.outcome == RuleOutcome::blocked;
  std::string text = "\n" + result.rule.number + " (" + to_string(result.rule.level) + ") is " +
                     to_string(result.outcome) +
                     (result.blocked_by.empty() ? "" : " by " + result.blocked_by) + ": " +
                     printable(result.rule.sentence) + "\n  case: " + result.case_name + "\n  " +
                     printable(result.why) + "\n";
  if (!blocked) text += indented(end_of_conversation(result), "    ") + "\n";
  return text;
}

std::string table_of(const ConformanceReport& report) {
  std::string text = "\nrule  level   result     sentence\n";
  for (const RuleResult& result : report.rules) {
    if (!result.rule.untested.empty()) continue;
    char line[64];
    std::snprintf(line, sizeof line, "%-5s %-7s %-10s ", result.rule.number.c_str(),
                  to_string(result.rule.level), to_string(result.outcome));
    text += line + shortened(result.rule.sentence, line_bytes_max) + "\n";
  }
  return text;
}

}  // namespace

std::string text_of(const ConformanceReport& report, Level shown) {
  const std::string score = summary(report) + " (seed " + std::to_string(report.seed) + ", " +
                            one_decimal(report.seconds) + " s).\n";
  std::string text = score + style_sentence(report.style) + "\n";
  if (!report.stopped.empty()) text += "Ended early: " + printable(report.stopped) + "\n";
  for (const std::string& error : report.test_errors)
    text += "Error of this test, not of the server: " + on_one_line(error, form_bytes_max) + "\n";
  for (const std::string& form : report.form)
    text += "Differs in form alone: " + on_one_line(form, form_bytes_max) + "\n";
  text += causes_text(report);
  if (const auto ours = lost(report, Level::ours); !ours.empty() && shown != Level::ours)
    text += "\nNot shared with this exchange, without loss of points (--level ours shows them): " +
            numbers_of(ours) + "\n";
  if (shown == Level::ours) text += table_of(report);
  std::string rules;
  for (const Level level : {Level::must, Level::should, Level::ours})
    if (level <= shown)
      for (const RuleResult* const result : lost(report, level)) rules += in_full(*result);
  if (!report.all_kept())
    rules +=
        "\nThe rules are in docs/protocol.md; course/docs/minimal-server.md is the short way to "
        "those of the level must.\n";
  if (!rules.empty()) text += rules + score;
  return text;
}

std::string to_json(const ConformanceReport& report) {
  Json json{{"program", std::string("conformance ") + version()},
            {"server", report.server},
            {"seed", report.seed},
            {"seconds", report.seconds},
            {"style",
             {{"framing", report.style.length_lines ? "length" : "bare"},
              {"connection", report.style.per_request ? "per-request" : "persistent"},
              {"trailing_newline", report.style.wants_newline},
              {"end_of_stream", report.style.wants_end}}},
            {"stopped", report.stopped},
            {"restarts", report.restarts},
            {"points", report.points()},
            {"points_max", report.points_max()},
            {"score", report.score()},
            {"causes", Json::array()},
            {"rules", Json::array()},
            {"form", report.form},
            {"test_errors", report.test_errors}};
  for (const Cause& cause : report.causes()) {
    Json blocks = Json::array();
    for (const RuleResult* const blocked : cause.blocks) blocks.push_back(blocked->rule.number);
    json["causes"].push_back(
        {{"rule", cause.rule->rule.number}, {"points", cause.points}, {"blocks", blocks}});
  }
  for (const RuleResult& result : report.rules) {
    Json rule{{"rule", result.rule.number},
              {"level", to_string(result.rule.level)},
              {"sentence", result.rule.sentence},
              {"result", to_string(result.outcome)},
              {"cases", result.cases},
              {"case", result.case_name},
              {"why", result.why},
              {"blocked_by", result.blocked_by},
              {"conversation", Json::array()}};
    for (const Exchanged& one : result.conversation)
      rule["conversation"].push_back({{"sent", one.sent}, {"got", one.got}});
    json["rules"].push_back(std::move(rule));
  }
  return to_text(json, 1) + "\n";
}

}  // namespace exchange::conformance
