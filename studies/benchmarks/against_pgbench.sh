#!/usr/bin/env bash
# Durable orders per second of each policy on PostgreSQL against pgbench, which commits one row per
# transaction over as many connections to the same database, in interleaved rounds; prints the
# median of each and of the ratios to pgbench of the same round. Nothing is pinned.
#   against_pgbench.sh URL [rounds=5] [requests=300000] [loadgen options]
# URL is a database that may be filled, such as postgresql://user@localhost/test. pgbench has 200
# connections, or as many as max_connections allows.
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
case "${1-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
if ! command -v pgbench >/dev/null; then
  echo "pgbench is missing: install the Debian package postgresql-contrib or postgresql to compare with it"
  exit 0
fi
url=${1:?usage: against_pgbench.sh URL [rounds] [requests] [loadgen options]}
shift
peer=pgbench PINNED=no
source "$(dirname "${BASH_SOURCE[0]}")/peer.sh"
shift $(($# < 2 ? $# : 2))
trap 'psql -q "$url" -c "DROP TABLE IF EXISTS pgbench_rows"; rm -rf "$folder"' EXIT

# An order is some 100 bytes. A fifth of the requests: pgbench is that much slower. Third column of
# its log: microseconds of a transaction.
peer_round() {
  local rate
  echo "INSERT INTO pgbench_rows (value) VALUES (repeat('x', 100));" >"$folder/insert.sql"
  rate=$(cd "$folder" && pgbench -n -c "$connections" -j 2 -t $((requests / 5 / connections)) -f insert.sql -l --log-prefix=log "$url" 2>/dev/null |
    awk '/^tps/ { print $3 }')
  awk '{ print $3 }' "$folder"/log* | sort -n | awk -v rate="$rate" '{ us[NR] = $1 } END { print rate, us[int(NR * 0.99)] / 1000, 0 }'
  rm -f "$folder"/log*
}

allowed=$(psql -qAt "$url" -c "SHOW max_connections")
connections=$((allowed - 10 < 200 ? allowed - 10 : 200))
echo "pgbench with $connections connections"
psql -q "$url" -c "SET client_min_messages = warning; CREATE TABLE IF NOT EXISTS pgbench_rows (id bigserial PRIMARY KEY, value text NOT NULL)"
compare_with_peer --store "$url" "$@"
