#!/usr/bin/env bash
# Durable requests per second of each policy against a bare Boost.Asio echo server with the same bytes under
# the same client, in interleaved rounds; prints the median of each and of the ratios to the echo
# of the same round. Needs two CPUs.
#   against_echo.sh [rounds=5] [requests=300000] [loadgen options, such as --store URL]
# PINNED=no leaves server and client to the kernel (for PostgreSQL, which needs a CPU of its own).
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
case "${1-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
peer=echo
peer_round() { loadgen_figures --connect "127.0.0.1:$port" --reply-check off --server-pid "$pid"; }
source "$(dirname "${BASH_SOURCE[0]}")/peer.sh"
shift $(($# < 2 ? $# : 2))

"${pin_server[@]}" "$bin/echo_server" >"$folder/ready" &
pid=$!
trap 'kill "$pid"; rm -rf "$folder"' EXIT
while ! [ -s "$folder/ready" ]; do sleep 0.05; done
port=$(sed 's/.*port=//' "$folder/ready")
compare_with_peer "$@"
