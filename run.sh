#!/usr/bin/env bash
# Installs what is missing, builds (Release) and starts the exchange on port 12345 with an embedded SQLite
# store, exchange.db, in the current folder; the dashboard is at http://127.0.0.1:8080/. Arguments go to the server: ./run.sh --port 4000 --policy pool
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/install-dependencies.sh"
(cd "$here" && cmake --preset release $([ -f build/CMakeCache.txt ] || echo -DEXCHANGE_TESTS=OFF) >&2 && cmake --build build --target server exchange-cli exchange-audit loadgen demo-bots >&2)
exec "$here/build/bin/server" "$@"
