#pragma once
// Runs the cases against a server, and starts it again if it died. Thread: main.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "course/conformance/rules.hpp"
#include "course/conformance/talk.hpp"

namespace exchange::conformance {

inline constexpr unsigned rounds_max = 20;  // enough ids of nine digits

struct ConformanceOptions {
  TargetOptions target;
  std::uint64_t seed = 1;
  unsigned rounds = 3;          // of each case, with other data
  std::set<std::string> rules;  // tested alone; empty: all
  bool strict = false;          // replies byte for byte
};

// kept: each case passed. broken: one did not. blocked: what a case needs did not work, because
// another rule is broken. untested: no case, or the server was gone. not_judged: this program
// failed in a case; the rule does not count.
enum class RuleOutcome { kept, broken, blocked, untested, not_judged };
const char* name_of(RuleOutcome outcome);

struct RuleResult {
  Rule rule;
  RuleOutcome outcome = RuleOutcome::untested;
  unsigned cases = 0;     // passed
  std::string case_name;  // that did not
  std::string why;
  std::string blocked_by;  // the broken rule to mend first, where it is blocked and that is known
  std::vector<Exchanged> conversation;  // of that case: the end of it
};

// A broken rule, and what depends on it.
struct Cause {
  const RuleResult* rule;
  std::vector<const RuleResult*> blocks;
  unsigned points;  // of all these
};

struct ConformanceReport {
  std::string server;
  std::uint64_t seed = 0;
  double seconds = 0;
  Style style;
  std::string stopped;  // why it ended early; empty: it did not
  unsigned restarts = 0;
  std::vector<RuleResult> rules;
  std::vector<std::string> form;         // what differs from docs/protocol.md in form alone
  std::vector<std::string> test_errors;  // what this program could not do, each with its case

  unsigned points() const;
  unsigned points_max() const;
  double score() const;  // 0 to 100
  // Of must and should.
  bool all_kept() const;
  // What to mend first: the broken rules that cost points, their own or those of rules that they
  // block; most points first.
  std::vector<Cause> causes() const;
};

// Called before each case: for a progress line.
using Look = std::function<void(std::size_t done, std::size_t of, const std::string& name)>;

// Throws client::Unreachable if no server is there. Interrupted by a signal, it reports what it
// has.
ConformanceReport run(const ConformanceOptions& options, const Look& look);

}  // namespace exchange::conformance
