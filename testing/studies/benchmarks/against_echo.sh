#!/usr/bin/env bash
# Durable requests per second of each policy against a bare Boost.Asio echo server with the same bytes under
# the same client, in interleaved rounds; prints the median of each and of the ratios to the echo
# of the same round. Needs two CPUs.
#   against_echo.sh [rounds=5] [requests=300000] [loadgen options, such as --store URL]
# PINNED=no leaves server and client to the kernel (for PostgreSQL, which needs a CPU of its own).
set -euo pipefail
bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../build/bin" && pwd)
rounds=${1:-5} requests=${2:-300000}
shift $(($# < 2 ? $# : 2))
server_cpus=(--server-cpus 0) client_cpus=(--client-cpus 1) pin=(taskset -c 0)
if [ "${PINNED:-yes}" = no ]; then server_cpus=() client_cpus=() pin=(); fi

folder=$(mktemp -d)
"${pin[@]}" "$bin/echo_server" >"$folder/ready" &
echo_pid=$!
trap 'kill "$echo_pid"; rm -rf "$folder"' EXIT
while ! [ -s "$folder/ready" ]; do sleep 0.05; done
echo_port=$(sed 's/.*port=//' "$folder/ready")

figures() { awk '/^throughput/ { gsub(",", ""); rate = $2 } /^  response/ { p99 = $6 } /^server CPU/ { cpu = $3 } END { print rate, p99, cpu }'; }
for ((round = 0; round < rounds; ++round)); do
  echo "echo $("$bin/loadgen" -c 200 -n "$requests" --connect "127.0.0.1:$echo_port" --reply-check off "${client_cpus[@]}" --server-pid "$echo_pid" | figures)"
  for policy in loop pool thread; do
    echo "$policy $("$bin/loadgen" -c 200 -n "$requests" --policy "$policy" "${server_cpus[@]}" "${client_cpus[@]}" "$@" | figures)"
  done
done | tee "$folder/runs" | sed 's/^/  /' >&2

awk '
  function median(list, n,   i, j, t) {
    for (i = 1; i <= n; ++i) for (j = i + 1; j <= n; ++j) if (list[j] < list[i]) { t = list[i]; list[i] = list[j]; list[j] = t }
    return list[int((n + 1) / 2)]
  }
  $1 == "echo" { echo_rate = $2 }
  { n = ++count[$1]; rate[$1, n] = $2; p99[$1, n] = $3; cpu[$1, n] = $4; ratio[$1, n] = $2 / echo_rate }
  END {
    printf "%-7s %12s %9s %9s %22s   (medians of %d rounds)\n", "server", "requests/s", "to echo", "p99 ms", "server CPU us/request", count["echo"]
    split("echo loop pool thread", names)
    for (k = 1; k <= 4; ++k) {
      name = names[k]
      for (i = 1; i <= count[name]; ++i) { a[i] = rate[name, i]; b[i] = ratio[name, i]; c[i] = p99[name, i]; d[i] = cpu[name, i] }
      printf "%-7s %12d %9.2f %9.2f %22.2f\n", name, median(a, count[name]), median(b, count[name]), median(c, count[name]), median(d, count[name])
    }
  }' "$folder/runs"
