#pragma once
// Runs the cases against a server, restarts it if it died, and reports what it keeps. Thread: main.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "course/conformance/rules.hpp"
#include "course/conformance/talk.hpp"

namespace exchange::conformance {

inline constexpr unsigned rounds_max = 20;  // small enough for ids of nine digits

struct ConformanceOptions {
  TargetOptions target;
  std::uint64_t seed = 1;
  unsigned rounds = 3;          // of each case, with other data
  std::set<std::string> rules;  // tests only these; empty: all
  bool strict = false;          // compares replies byte for byte
};

// kept: each case passed. broken: a case failed. blocked: the preparation of a case failed, because
// another rule is broken. untested: there is no case, or the server was unavailable. not_judged:
// this program failed in a case; the rule does not count.
enum class RuleOutcome { kept, broken, blocked, untested, not_judged };
const char* to_string(RuleOutcome outcome);

struct RuleResult {
  Rule rule;
  RuleOutcome outcome = RuleOutcome::untested;
  unsigned cases = 0;     // number of cases passed
  std::string case_name;  // the case that failed
  std::string why;
  std::string blocked_by;  // the broken rule to fix first, if the rule is blocked and this is known
  std::vector<Exchanged> conversation;  // the end of the failed case
};

// A broken rule, and the rules that depend on it.
struct Cause {
  const RuleResult* rule;
  std::vector<const RuleResult*> blocks;
  unsigned points;  // of all these rules
};

struct ConformanceReport {
  std::string server;
  std::uint64_t seed = 0;
  double seconds = 0;
  Style style;
  std::string stopped;  // why it ended early; empty: it ran to its end
  unsigned restarts = 0;
  std::vector<RuleResult> rules;
  std::vector<std::string> form;         // differences from docs/protocol.md in form alone
  std::vector<std::string> test_errors;  // failures of this program, each with its case

  unsigned points() const;
  unsigned points_max() const;
  double score() const;  // 0 to 100
  // Whether the server keeps all rules of the levels must and should.
  bool all_kept() const;
  // Returns what to fix first: the broken rules that cost points, their own or those of rules that
  // they block; most points first.
  std::vector<Cause> causes() const;
};

// Called before each case, for a progress line.
using Look = std::function<void(std::size_t done, std::size_t of, const std::string& name)>;

// Throws client::Unreachable if no server can be reached. After an interruption by a signal it
// reports the results so far.
ConformanceReport run(const ConformanceOptions& options, const Look& look);

// Writes a report as text (course/docs/conformance.md shows it): on one screen what to fix first;
// then the rules up to the level `shown` that the server does not keep. Everything that a server
// sent is escaped. Pure, as is the next.
std::string text_of(const ConformanceReport& report, Level shown = Level::should);
std::string to_json(const ConformanceReport& report);

}  // namespace exchange::conformance
