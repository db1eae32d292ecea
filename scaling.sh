#!/bin/sh
# Measures how the exchange scales, and writes tables, plots and a page to build/scaling: installs what is missing, builds
# where there is no load generator yet. Arguments go to studies/scaling/run: ./scaling.sh --quick, ./scaling.sh --help
set -eu
unset CDPATH  # a cd that finds its folder there goes astray, and prints
here=$(cd "$(dirname "$0")" && pwd)
for argument in "$@"; do
  case $argument in -h | --help | --list) exec "$here/studies/scaling/run" "$@" ;; esac  # these need no build
done
"$here/install-dependencies.sh" --report
if ! [ -x "$here/build/bin/loadgen" ] || ! [ -x "$here/build/bin/server" ]; then
  (cd "$here" && cmake --preset release && cmake --build build --target server loadgen) >&2
fi
exec "$here/studies/scaling/run" "$@"
