#!/usr/bin/env bash
# Installs what is missing, builds (Release) and starts the exchange on port 12345 with an embedded SQLite
# store, exchange.db, in the current folder; the dashboard is at http://127.0.0.1:8080/. Arguments go to the server: ./run.sh --port 4000 --policy pool
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for argument in "$@"; do
  case $argument in
    -h | --help)  # builds nothing
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      if [ -x "$here/build/bin/server" ]; then exec "$here/build/bin/server" --help; fi
      echo "The options of the server: docs/options.md"
      exit ;;
  esac
done
"$here/install-dependencies.sh"
(cd "$here" && cmake --preset release >&2 && cmake --build build --target server exchange-cli loadgen demo-bots >&2)
exec "$here/build/bin/server" "$@"
