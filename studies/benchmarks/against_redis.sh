#!/usr/bin/env bash
# Durable orders per second of each policy against SETs of a redis-server with appendfsync always, which
# redis-benchmark sends over as many connections, in interleaved rounds; prints the median of each
# and of the ratios to redis of the same round. Needs two CPUs; both keep their files in TMPDIR.
#   against_redis.sh [rounds=5] [requests=300000] [loadgen options, such as --store URL]
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
case "${1-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
for program in redis-server redis-benchmark; do
  command -v "$program" >/dev/null && continue
  echo "$program is missing: install the Debian packages redis-server and redis-tools to compare with it"
  exit 0
done
peer=redis
source "$(dirname "${BASH_SOURCE[0]}")/peer.sh"
shift $(($# < 2 ? $# : 2))

cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$pid/stat"; }
# Values as long as an order. The columns of --csv: test, rps, average, min, p50, p95, p99, max
peer_round() {
  local before after line
  before=$(cpu_ticks)
  line=$("${pin_client[@]}" redis-benchmark -p "$port" -t set -c 200 -n "$requests" -r 100000 -d 150 --csv | tail -1)
  after=$(cpu_ticks)
  awk -F , -v ticks=$((after - before)) -v hertz="$(getconf CLK_TCK)" -v requests="$requests" \
    '{ gsub("\"", ""); print $2, $7, ticks / hertz / requests * 1e6 }' <<<"$line"
}

port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${pin_server[@]}" redis-server --port "$port" --bind 127.0.0.1 --dir "$folder" --save '' \
  --appendonly yes --appendfsync always >"$folder/log" &
pid=$!
trap 'kill "$pid"; wait "$pid" 2>/dev/null || true; rm -rf "$folder"' EXIT
for ((i = 0; i < 100; ++i)); do
  redis-cli -p "$port" ping >/dev/null 2>&1 && break
  kill -0 "$pid" || { cat "$folder/log"; exit 1; }
  sleep 0.05
done
compare_with_peer "$@"
