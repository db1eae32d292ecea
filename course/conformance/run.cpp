#include "course/conformance/run.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "client/connection/command_line.hpp"
#include "course/conformance/cases.hpp"

namespace exchange::conformance {
namespace {

constexpr std::size_t exchanges_kept = 8, why_bytes_max = 2'000;

struct Planned {
  Case test;
  std::size_t number;  // in all_cases(): its data do not depend on which rules are tested
};

class Runner {
 public:
  Runner(const ConformanceOptions& options, const Look& look)
      : options_(options),
        look_(look),
        source_(prefix(0)),
        target_(options.target, [this] { return new_account(source_.account()); }) {}

  ConformanceReport run() {
    const auto start = std::chrono::steady_clock::now();
    report_.server = options_.target.address;
    report_.seed = options_.seed;
    for (Rule& rule : all_rules())
      if (options_.rules.empty() || options_.rules.contains(rule.number)) {
        report_.rules.push_back({.rule = std::move(rule)});
        report_.rules.back().why = report_.rules.back().rule.untested;
      }
    const std::vector<Planned> cases = plan();
    try {
      find_style();
      find_unused_ids();
      run(cases);
    } catch (const NotAReply& error) {
      note_wrong_reply(error.what());
      give_up(
          std::string("the first request, which creates an account, got no reply: ") + error.what(),
          "the server gives no replies");
    } catch (const NoReply& error) {
      give_up(error.what(), "the server was gone");
    } catch (const client::Interrupted&) {
      give_up("interrupted by a signal", "the test was interrupted");
    } catch (const TestError& error) {
      report_.test_errors.emplace_back(error.what());
      give_up(std::string("an error of this test: ") + error.what(), "the test failed");
    }
    if (!wrong_reply_.empty()) break_r1("a reply, whatever was asked", wrong_reply_);
    name_blockers();
    report_.style = target_.style();
    report_.restarts = target_.restarts();
    if (!other_form_.empty()) {
      report_.form.push_back(other_form_);
      if (options_.strict) break_r1("byte for byte", other_form_);
    }
    report_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  // A few digits of the clock: other servers may keep ids in 32 bits.
  static std::string prefix(unsigned tries) {
    const std::uint64_t clock = std::stoull(client::prefix_from_clock());
    return std::to_string(1'000 + (clock * 7'919 + tries * 271) % 9'000);
  }

  static std::string new_account(const std::string& id) {
    return "<create><account id=\"" + id + "\" balance=\"1\"/></create>";
  }

  RuleResult* find(const std::string& rule) {
    for (RuleResult& result : report_.rules)
      if (result.rule.number == rule) return &result;
    return nullptr;
  }

  void note_wrong_reply(const std::string& why) {
    if (wrong_reply_.empty()) wrong_reply_ = why;
  }

  // Breaks R1. The replies to the cases of any rule can do so.
  void break_r1(const std::string& case_name, const std::string& why) {
    RuleResult* const r1 = find("R1");
    if (!r1 || r1->outcome == RuleOutcome::broken) return;
    r1->outcome = RuleOutcome::broken;
    r1->case_name = case_name;
    r1->why = shortened(why, why_bytes_max);
    r1->conversation.clear();
  }

  // Names the broken rule behind each blocked one. A blocking rule may itself be blocked: follows
  // the chain. If it was kept by its own cases, nothing is known.
  void name_blockers() {
    for (RuleResult& result : report_.rules) {
      if (result.outcome != RuleOutcome::blocked) continue;
      std::set<std::string> seen;
      std::string by = result.rule.number;
      const RuleResult* at = &result;
      while (at && at->outcome == RuleOutcome::blocked && seen.insert(by).second) {
        by = blockers_[by];
        at = find(by);
      }
      if (!at || at->outcome == RuleOutcome::broken) result.blocked_by = by;
    }
  }

  // Runs rules that give points first. Of these, the case with many clients at once is last: the
  // server may die of it.
  std::vector<Planned> plan() {
    std::vector<Planned> cases;
    for (const Case& one : all_cases()) cases.push_back({one, cases.size()});
    std::erase_if(cases, [&](const Planned& one) { return !find(one.test.rule); });
    std::ranges::stable_sort(cases, {}, [&](const Planned& one) {
      if (one.test.rule == "T17") return 1;
      return find(one.test.rule)->rule.level == Level::ours ? 2 : 0;
    });
    for (const Planned& one : cases) ++left_[one.test.rule];
    return cases;
  }

  // Ends the test: a rule counts as kept only if all of its cases passed.
  void give_up(const std::string& stopped, const std::string& why) {
    report_.stopped = stopped;
    for (RuleResult& result : report_.rules)
      if (left_[result.rule.number] > 0 &&
          (result.outcome == RuleOutcome::untested || result.outcome == RuleOutcome::kept)) {
        result.outcome = RuleOutcome::untested;
        result.why = why;
      }
  }

  void find_style() {
    try {
      target_.find_style();
    } catch (const client::Unreachable&) {
      throw;
    } catch (const NotAReply&) {
      throw;
    } catch (const std::runtime_error& error) {
      throw NoReply(std::string("the first request, which creates an account, got no reply: ") +
                    error.what());
    }
  }

  // Finds ids that no other run against this server has taken.
  void find_unused_ids() {
    constexpr unsigned tries_max = 8;
    for (unsigned tries = 0; tries < tries_max; ++tries) try {
        source_ = Source(prefix(tries));
        if (Talk(target_, source_).ask_one(new_account(source_.prefix())).name == "created") return;
      } catch (const Broken&) {
        return;  // the cases will report it
      }
  }

  void run(const std::vector<Planned>& cases) {
    for (std::size_t done = 0; done < cases.size(); ++done) {
      const auto& [test, number] = cases[done];
      look_(done, cases.size(), test.rule + " " + test.name);
      RuleResult& result = *find(test.rule);
      const unsigned rounds = test.once ? 1 : options_.rounds;
      for (unsigned round = 0; round < rounds; ++round) {
        if (client::stop_flag()) throw client::Interrupted();
        source_.seed(options_.seed * 1'000'003 + number * 1'009 + round);
        if (run_once(test, result, round + 1 == rounds)) continue;
        if (!target_.answers()) restart(test);
        break;
      }
      --left_[test.rule];
    }
  }

  void restart(const Case& after) {
    try {
      target_.restart();
    } catch (const NoReply& error) {
      throw NoReply(std::string("the server does not answer any more, since the case '") +
                    after.name + "' of " + after.rule + ": " + error.what());
    }
  }

  bool run_once(const Case& one, RuleResult& result, bool last) {
    Talk talk(target_, source_);
    const auto fail = [&](RuleOutcome outcome, const std::string& why) {
      if (result.outcome == RuleOutcome::broken || result.outcome == outcome) return;
      result.outcome = outcome;
      result.case_name = one.name;
      const std::string& misread = talk.misread();
      result.why = shortened(why + (misread.empty() ? "" : "; the reply as it came: " + misread),
                             why_bytes_max);
      result.conversation = talk.conversation();
      if (result.conversation.size() > exchanges_kept)
        result.conversation.erase(result.conversation.begin(),
                                  result.conversation.end() - exchanges_kept);
    };
    const auto block = [&](const std::string& by, const std::string& why) {
      if (result.outcome != RuleOutcome::blocked) blockers_[one.rule] = by;
      fail(RuleOutcome::blocked, why);
    };
    bool passed = false;
    try {
      one.run(talk);
      if (last) {  // otherwise the next case would be blamed for this one
        talk.reconnect();
        expect(target_.answers(), "the server does not answer any more after the case");
      }
      ++result.cases;
      if (result.outcome == RuleOutcome::untested) result.outcome = RuleOutcome::kept;
      passed = true;
    } catch (const Broken& error) {
      if (const std::string by = one.rule == "T17" ? broken_with_one_client() : ""; by.empty())
        fail(RuleOutcome::broken, error.what());
      else
        block(by,
              "results are wrong with one client already: " + by + " is broken. " + error.what());
    } catch (const NoReply& error) {
      fail(RuleOutcome::broken, error.what());
    } catch (const Blocked& error) {
      const bool many = one.rule == "T17" && error.by.empty();
      block(many ? broken_with_one_client() : error.by, error.what());
    } catch (const client::Interrupted&) {
      throw;
    } catch (const std::exception& error) {  // errors that a server can cause are caught above
      report_.test_errors.push_back(one.rule + ", " + one.name + ": " + error.what());
      if (result.outcome != RuleOutcome::blocked)
        fail(RuleOutcome::not_judged,
             std::string("an error of this test, not of the server: ") + error.what());
    }
    if (other_form_.empty()) other_form_ = talk.other_form();
    note_wrong_reply(talk.wrong_reply());
    return passed;
  }

  // The results of many clients can be judged only if each client gets right results alone. The
  // cases of T17 try one client too, but do not see all that the other cases see.
  std::string broken_with_one_client() const {
    static const std::set<std::string> relied_on{"R3", "R8", "T6", "T10"};
    for (const RuleResult& result : report_.rules)
      if (result.outcome == RuleOutcome::broken && result.rule.level != Level::ours &&
          (result.rule.number.starts_with("M") || relied_on.contains(result.rule.number)))
        return result.rule.number;
    return {};
  }

  const ConformanceOptions& options_;
  const Look& look_;
  Source source_;
  Target target_;
  ConformanceReport report_;
  std::map<std::string, unsigned> left_;  // cases of a rule that have not run yet
  std::map<std::string, std::string>
      blockers_;  // blocked rule -> the rule that its first blocked case named
  std::string other_form_, wrong_reply_;
};

}  // namespace

const char* to_string(RuleOutcome outcome) {
  constexpr const char* names[] = {"kept", "broken", "blocked", "untested", "not judged"};
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
    if (result.rule.untested.empty() && result.outcome != RuleOutcome::not_judged)
      sum += points_of(result.rule.level);
  return sum;
}

double ConformanceReport::score() const {
  const unsigned max = points_max();
  return max == 0 ? 0 : 100.0 * points() / max;
}

std::vector<Cause> ConformanceReport::causes() const {
  std::vector<Cause> all;
  for (const RuleResult& broken : rules) {
    if (broken.outcome != RuleOutcome::broken) continue;
    Cause cause{&broken, {}, points_of(broken.rule.level)};
    for (const RuleResult& blocked : rules)
      if (blocked.blocked_by == broken.rule.number) {
        cause.blocks.push_back(&blocked);
        cause.points += points_of(blocked.rule.level);
      }
    if (cause.points > 0) all.push_back(std::move(cause));
  }
  std::ranges::stable_sort(all, std::greater(), &Cause::points);
  return all;
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
