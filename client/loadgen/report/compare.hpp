#pragma once
// `loadgen compare A.json B.json …`: did B, and each further one, do worse than A? Every figure as
// a ratio B/A with a 95 % interval; exit code 1 where one is worse by more than the tolerance and
// its interval leaves out no change.
//
// Where both sides have several runs, the interval comes from the runs: Welch's t interval of the
// difference of the means of the logarithms. Logarithms, since noise multiplies: a ratio and its
// inverse count alike. Welch, since it holds for two or three runs a side, where a bootstrap has
// too few values to draw from and comes out too narrow, and since the sides need not spread alike.
// Runs are never paired: that one was made next to another cannot be seen in the files, and for a
// few runs pairing costs more degrees of freedom than it gains. Runs made in turn (ABAB) only widen
// the interval.
//
// With one run on a side the spread comes from its seconds: those after the warm-up, without the
// last, which may be partial, in at most 20 batches of neighbours, since seconds near each other
// are alike; relative errors of the batch means add up around the ratio of the whole runs' figures.
// This cannot know how much one run differs from the next, so it understates the uncertainty, and
// the text says so.
//
// Ten figures at 95 % each: now and then one interval leaves out no change by luck. The tolerance
// is there for that.

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/described.hpp"
#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

// cannot_tell: too few runs or seconds.
BOOST_DEFINE_ENUM_CLASS(Verdict, better, worse, no_difference_seen, cannot_tell, not_measured)

struct MetricComparison {
  std::string name, unit;
  // of several runs: the geometric mean; NaN: not measured
  double a = 0, b = 0;
  double ratio = 0;                                   // b / a; NaN where one is missing or 0
  std::optional<std::pair<double, double>> interval;  // of the ratio, 95 %
  Verdict verdict = Verdict::not_measured;
  bool beyond_tolerance = false;
};

struct Comparison {
  double tolerance_percent = 0;
  bool intervals_from_runs = false;  // else from seconds
  std::vector<MetricComparison> metrics;
  std::vector<std::string> unlike;  // how the runs were not made alike
  std::vector<std::string> warnings;
  std::vector<std::string> regressions;  // sentences; empty: none
};

// Each side: the reports of one or several runs.
Comparison compare(const std::vector<Json>& a, const std::vector<Json>& b,
                   double tolerance_percent);

// The subcommand: argv[0] is its name. Exit code: 0 no regression, 1 regression, 2 usage or a file
// that cannot be used, 4 throughput or response p99 without an interval.
int compare_main(int argc, const char* const* argv, std::ostream& out, std::ostream& errors);
int compare_main(int argc, const char* const* argv);  // to stdout and stderr

}  // namespace exchange::loadgen
