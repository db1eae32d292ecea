# What against_echo.sh, against_redis.sh and against_pgbench.sh share: interleaved rounds of a peer and of the policies,
# then the medians. Sourced after `peer` (its name) and peer_round() (prints "rate p99_ms cpu_us" of one run) are defined.
# Arguments: [rounds=5] [requests=300000] [loadgen options, such as --store URL]

# A run of the load generator: requests per second, p99 in ms, server CPU in microseconds per request.
loadgen_figures() {
  "$bin/loadgen" -c 200 -n "$requests" "${client_cpus[@]}" "$@" |
    awk '/^throughput/ { gsub(",", ""); rate = $2 } /^  response/ { p99 = $6 } /^server CPU/ { cpu = $3 } END { print rate, p99, cpu }'
}

compare_with_peer() {
  for ((round = 0; round < rounds; ++round)); do
    echo "$peer $(peer_round)"
    for policy in loop pool thread; do
      echo "$policy $(loadgen_figures --policy "$policy" "${server_cpus[@]}" "$@")"
    done
  done | tee "$folder/runs" | sed 's/^/  /' >&2

  awk -v peer="$peer" '
    function median(list, n,   i, j, t) {
      for (i = 1; i <= n; ++i) for (j = i + 1; j <= n; ++j) if (list[j] < list[i]) { t = list[i]; list[i] = list[j]; list[j] = t }
      return list[int((n + 1) / 2)]
    }
    $1 == peer { peer_rate = $2 }
    { n = ++count[$1]; rate[$1, n] = $2; p99[$1, n] = $3; cpu[$1, n] = $4; ratio[$1, n] = $2 / peer_rate }
    END {
      printf "%-7s %12s %9s %9s %22s   (medians of %d rounds)\n", "server", "requests/s", "to " peer, "p99 ms", "server CPU us/request", count[peer]
      split(peer " loop pool thread", names)
      for (k = 1; k <= 4; ++k) {
        name = names[k]
        for (i = 1; i <= count[name]; ++i) { a[i] = rate[name, i]; b[i] = ratio[name, i]; c[i] = p99[name, i]; d[i] = cpu[name, i] }
        printf "%-7s %12d %9.2f %9.2f %22.2f\n", name, median(a, count[name]), median(b, count[name]), median(c, count[name]), median(d, count[name])
      }
    }' "$folder/runs"
}

unset CDPATH
bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../build/bin" && pwd)
rounds=${1:-5} requests=${2:-300000}
server_cpus=(--server-cpus 0) client_cpus=(--client-cpus 1) pin_server=(taskset -c 0) pin_client=(taskset -c 1)
if [ "${PINNED:-yes}" = no ]; then server_cpus=() client_cpus=() pin_server=() pin_client=(); fi
folder=$(mktemp -d)
