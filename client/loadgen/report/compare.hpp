#pragma once
// `loadgen compare A.json B.json …` shows whether B, and each further one, did worse than A. It
// prints every figure as a ratio B/A with a 95 % interval. The exit code is 1 if a figure is worse
// by more than the tolerance and its interval excludes "no change".
//
// If both sides have several runs, the interval comes from the runs: Welch's t interval of the
// difference of the means of the logarithms. It uses logarithms because noise multiplies: a ratio
// and its inverse count alike. It uses Welch's interval because this works for two or three runs a
// side, where a bootstrap has too few values to draw from and gives too narrow intervals, and
// because the two sides need not have the same spread. Runs are never paired: the files do not show
// that one run was made next to another, and for a few runs pairing costs more degrees of freedom
// than it gains. Runs made in turn (ABAB) only widen the interval.
//
// If a side has only one run, the spread comes from its seconds: those after the warm-up, without
// the last one if it is partial. They form at most 20 batches of neighbours, because neighbouring
// seconds are similar; the relative errors of the batch means are added around the ratio of the
// whole runs' figures. This method does not see how much one run differs from the next, so it
// understates the uncertainty, and the text says so.
//
// There are ten figures at 95 % each: sometimes one interval excludes "no change" by chance. The
// tolerance covers this.

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/described.hpp"
#include "client/loadgen/report/json.hpp"

namespace exchange::loadgen {

// cannot_tell: there are too few runs or seconds.
BOOST_DEFINE_ENUM_CLASS(Verdict, better, worse, no_difference_seen, cannot_tell, not_measured)

struct MetricComparison {
  std::string name, unit;
  // of several runs: the geometric mean; NaN: not measured
  double a = 0, b = 0;
  double ratio = 0;                                   // b / a; NaN if one is missing or 0
  std::optional<std::pair<double, double>> interval;  // of the ratio, 95 %
  Verdict verdict = Verdict::not_measured;
  bool beyond_tolerance = false;
};

struct Comparison {
  double tolerance_percent = 0;
  bool intervals_from_runs = false;  // false: from seconds
  std::vector<MetricComparison> metrics;
  std::vector<std::string> unlike;  // the differences between the conditions of the runs
  std::vector<std::string> warnings;
  std::vector<std::string> regressions;  // sentences; empty: no regression
};

// Compares two sides: each has the reports of one or several runs.
Comparison compare(const std::vector<Json>& a, const std::vector<Json>& b,
                   double tolerance_percent);

// The subcommand: argv[0] is its name. Exit code: 0 no regression; 1 regression; 2 usage error, or
// a file that cannot be used; 4 throughput or response p99 without an interval.
int compare_main(int argc, const char* const* argv, std::ostream& out, std::ostream& errors);

}  // namespace exchange::loadgen
