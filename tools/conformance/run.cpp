#include "tools/conformance/run.hpp"

#include <chrono>

#include "client/connection/command_line.hpp"
#include "tools/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

constexpr std::size_t exchanges_shown = 8;

// What remains of a rule's cases if the server is gone.
void give_up(ConformanceReport& report, const std::set<std::string>& planned) {
  for (RuleResult& result : report.rules)
    if (result.outcome == RuleOutcome::untested && result.cases == 0 &&
        result.rule.untested.empty() && planned.contains(result.rule.number))
      result.why = "the server was gone";
}

class Runner {
 public:
  Runner(const ConformanceOptions& options, const Look& look)
      : options_(options), look_(look), target_(options.target), source_(unused_digits()) {}

  ConformanceReport run() {
    const auto start = std::chrono::steady_clock::now();
    report_.server = options_.target.address;
    report_.seed = options_.seed;
    for (Rule& rule : all_rules())
      if (options_.rules.empty() || options_.rules.contains(rule.number)) {
        report_.rules.push_back({.rule = std::move(rule)});
        report_.rules.back().why = report_.rules.back().rule.untested;
      }
    std::vector<Case> cases;
    std::set<std::string> planned;
    for (const Case& one : all_cases())
      if (find(one.rule)) {
        cases.push_back(one);
        planned.insert(one.rule);
      }
    if (find_style()) run(cases);
    if (!report_.stopped.empty()) give_up(report_, planned);
    report_.style = target_.style();
    report_.restarts = target_.restarts();
    if (!other_form_.empty()) {
      report_.form.push_back(other_form_);
      if (RuleResult* const r1 = find("R1"); r1 && options_.strict) {
        r1->outcome = RuleOutcome::broken;
        r1->case_name = "byte for byte";
        r1->why = other_form_;
      }
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  // Digits of the clock: accounts of two runs against one server must not be the same. Few: others
  // may keep ids in 32 bits.
  static std::string unused_digits() {
    const std::string clock = client::prefix_from_clock();
    return std::to_string(10'000 + std::stoull(clock) * 7'919 % 90'000);
  }

  RuleResult* find(const std::string& rule) {
    for (RuleResult& result : report_.rules)
      if (result.rule.number == rule) return &result;
    return nullptr;
  }

  bool find_style() {
    try {
      const std::string first = source_.account();
      target_.find_style(first, source_.account());
      return true;
    } catch (const NoAnswer& error) {
      report_.stopped =
          std::string("the first request, which creates an account, got no reply: ") + error.what();
      return false;
    }
  }

  void run(const std::vector<Case>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (client::stop_flag()) throw client::Interrupted();
      look_(i, cases.size(), std::string(cases[i].rule) + " " + cases[i].name);
      RuleResult& result = *find(cases[i].rule);
      const unsigned rounds = cases[i].once ? 1 : options_.rounds;
      for (unsigned round = 0; round < rounds; ++round) {
        source_.seed(options_.seed * 1'000'003 + i * 1'009 + round);
        if (run_once(cases[i], result)) continue;
        if (!target_.answers() && !target_.restart()) {
          report_.stopped = "the server does not answer any more, since the case '" +
                            std::string(cases[i].name) + "' of " + cases[i].rule;
          return;
        }
        break;
      }
    }
  }

  bool run_once(const Case& one, RuleResult& result) {
    Talk talk(target_, source_);
    const auto fail = [&](RuleOutcome outcome, const char* why) {
      if (result.outcome == RuleOutcome::broken || result.outcome == outcome) return;
      result.outcome = outcome;
      result.case_name = one.name;
      result.why = why;
      result.conversation = talk.conversation();
      if (result.conversation.size() > exchanges_shown)
        result.conversation.erase(result.conversation.begin(),
                                  result.conversation.end() - exchanges_shown);
    };
    bool passed = false;
    try {
      one.run(talk);
      ++result.cases;
      if (result.outcome == RuleOutcome::untested) result.outcome = RuleOutcome::kept;
      passed = true;
    } catch (const Broken& error) {
      if (const std::string reason = one.rule == std::string("T17") ? why_no_judgement() : "";
          reason.empty())
        fail(RuleOutcome::broken, error.what());
      else
        fail(RuleOutcome::blocked, (reason + ". " + error.what()).c_str());
    } catch (const NoAnswer& error) {
      fail(RuleOutcome::broken, error.what());
    } catch (const Blocked& error) {
      fail(RuleOutcome::blocked, error.what());
    }
    if (other_form_.empty()) other_form_ = talk.other_form();
    return passed;
  }

  // What many clients get can be explained only if each of them gets right results alone.
  std::string why_no_judgement() const {
    static const std::set<std::string> relied_on{"R3", "R8", "T6", "N9"};
    for (const RuleResult& result : report_.rules)
      if (result.outcome == RuleOutcome::broken &&
          (result.rule.number.starts_with("M") || relied_on.contains(result.rule.number)))
        return "results are wrong with one client already: " + result.rule.number + " is broken";
    return {};
  }

  const ConformanceOptions& options_;
  const Look& look_;
  Target target_;
  Source source_;
  ConformanceReport report_;
  std::string other_form_;
};

}  // namespace

const char* name_of(RuleOutcome outcome) {
  constexpr const char* names[] = {"kept", "broken", "blocked", "untested"};
  return names[std::size_t(outcome)];
}

unsigned ConformanceReport::points() const {
  unsigned sum = 0;
  for (const RuleResult& result : rules)
    if (result.outcome == RuleOutcome::kept) sum += points_of(result.rule.level);
  return sum;
}

unsigned ConformanceReport::points_max() const {
  unsigned sum = 0;
  for (const RuleResult& result : rules)
    if (result.rule.untested.empty()) sum += points_of(result.rule.level);
  return sum;
}

double ConformanceReport::score() const {
  const unsigned max = points_max();
  return max == 0 ? 0 : 100.0 * points() / max;
}

bool ConformanceReport::all_kept() const {
  for (const RuleResult& result : rules)
    if (result.rule.level != Level::ours && result.rule.untested.empty() &&
        result.outcome != RuleOutcome::kept)
      return false;
  return true;
}

ConformanceReport run(const ConformanceOptions& options, const Look& look) {
  return Runner(options, look).run();
}

}  // namespace exchange::conformance
