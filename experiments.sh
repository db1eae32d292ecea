#!/bin/sh
# Runs the concurrency experiments: installs what is missing, builds, measures. Arguments go to build/bin/experiments:
# ./experiments.sh, ./experiments.sh locks, ./experiments.sh --quick, ./experiments.sh --list. With `--docs FOLDER` it also writes
# FOLDER/experiments.md with tables, plots and figures, of all experiments or, with --partial, of those that ran.
# The figures are kept in build/experiments.json.
set -eu
unset CDPATH  # a cd that finds its folder there goes astray, and prints
here=$(cd "$(dirname "$0")" && pwd)
docs= partial= json=$here/build/experiments.json
for argument in "$@"; do
  case $argument in
    -h | --help)  # builds nothing, nor does --list
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      if [ -x "$here/build/bin/experiments" ]; then exec "$here/build/bin/experiments" --help; fi
      exit ;;
    --list)
      if [ -x "$here/build/bin/experiments" ]; then exec "$here/build/bin/experiments" --list; fi
      for text in "$here"/studies/experiments/text/*.md; do basename "$text" .md; done
      exit ;;
  esac
done
left=$#
while [ "$left" -gt 0 ]; do
  left=$((left - 1))
  argument=$1
  shift
  case $argument in
    --docs | --json)
      if [ "$left" -eq 0 ]; then echo "experiments.sh: $argument wants a value" >&2; exit 2; fi
      left=$((left - 1))
      if [ "$argument" = --docs ]; then docs=$1; else json=$1; fi
      shift ;;
    --docs=*) docs=${argument#*=} ;;
    --json=*) json=${argument#*=} ;;
    --partial) partial=--partial ;;
    *) set -- "$@" "$argument" ;;
  esac
done

"$here/install-dependencies.sh" --test
if [ -n "$docs" ]; then "$here/install-dependencies.sh" --report; fi
(cd "$here" && cmake --preset release -DEXCHANGE_TESTS=ON && cmake --build build --target experiments) >&2
status=0
"$here/build/bin/experiments" "$@" --json "$json" || status=$?
# A check that does not hold (1) belongs on the page; an invalid command line (2) leaves nothing to write.
if [ -n "$docs" ] && [ "$status" -le 1 ]; then "$here/studies/experiments/document" "$json" --docs "$docs" $partial; fi
exit "$status"
