#!/usr/bin/env bash
# Installs what is missing, builds (Release) and runs the whole test suite. The last line counts tests.
# Arguments go to ctest: ./test.sh -R engine
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
case "${1-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/install-dependencies.sh" --test
cd "$here"
cmake --preset release -DEXCHANGE_TESTS=ON
cmake --build build
status=0
# Tests that lose a race beside others run alone (RUN_SERIAL, testing/CMakeLists.txt); the longest begin first (COST).
# One more at a time than there are cores, as many wait more than they work.
ctest --test-dir build --parallel "$(($(nproc) + 1))" --verbose --no-tests=error "$@" | tee build/tests.log || status=$?
# What failed stands somewhere in the log: the end of each failed test's output, once more.
sed -n '/^The following tests FAILED/,$ s/^[[:space:]]*\([0-9]*\) - .*/\1/p' build/tests.log |
  while read -r test; do sed -n "/^$test: /p" build/tests.log | tail -n 60; done
# Catch2 closes a binary's output with its number of test cases; a test without such a line counts as one.
awk '
  { test = $1 + 0 }  # of a line of output: "12: text"
  /^[0-9]+: .*All tests passed \(.* in [0-9]+ test case/ { sub(/.* in /, ""); passed_in[test] = $1; counted[test] = 1; next }
  /^[0-9]+: test cases:/ {
    line = $0; counted[test] = 1
    if (match(line, /[0-9]+ passed/)) passed_in[test] = substr(line, RSTART) + 0
    if (match(line, /[0-9]+ failed/)) failed_in[test] = substr(line, RSTART) + 0
  }
  # So does unittest of Python; skipped tests count as neither.
  /^[0-9]+: Ran [0-9]+ tests? in / { passed_in[test] = $3; counted[test] = 1; next }
  /^[0-9]+: (OK|FAILED) \(/ {
    if (match($0, /skipped=[0-9]+/)) passed_in[test] -= substr($0, RSTART + 8, RLENGTH - 8)
    if (match($0, /failures=[0-9]+/)) failed_in[test] += substr($0, RSTART + 9, RLENGTH - 9)
    if (match($0, /errors=[0-9]+/)) failed_in[test] += substr($0, RSTART + 7, RLENGTH - 7)
    passed_in[test] -= failed_in[test]
    next
  }
  match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/) {
    test = substr($0, index($0, "#") + 1) + 0
    ok = /Passed/
    passed += counted[test] ? passed_in[test] : ok
    failed += failed_in[test]
    if (!ok && !/Skipped/ && !failed_in[test]) failed += 1
  }
  END { printf "%d passed, %d failed\n", passed, failed }' build/tests.log
exit "$status"
