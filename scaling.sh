#!/bin/sh
# Measures how the exchange scales, and writes tables, plots and a page to build/scaling: installs what is missing, builds
# where there is no load generator yet. Arguments go to testing/studies/scaling/run: ./scaling.sh --quick, ./scaling.sh --help
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/install-dependencies.sh" --report
if ! [ -x "$here/build/bin/loadgen" ] || ! [ -x "$here/build/bin/server" ]; then
  (cd "$here" && cmake --preset release && cmake --build build --target server loadgen) >&2
fi
exec "$here/testing/studies/scaling/run" "$@"
