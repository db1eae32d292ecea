#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that are missing for building (with --test: for testing; with --report: for the
# reports of studies; with --grade: for grading). run.sh, test.sh, grade.sh and studies call it; it does nothing if all are installed.
set -euo pipefail
case "${1-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac

packages=(g++ cmake ninja-build pkg-config libpqxx-dev libpq-dev libpugixml-dev libsqlite3-dev libspdlog-dev libcli11-dev
          nlohmann-json3-dev libjs-chart.js libedit-dev libssl-dev libutf8proc-dev netcat-openbsd python3 sqlite3)
optional=()  # if the distribution has them; otherwise the tests that need them are skipped, and grading has no sandbox, with a message
if [ "${1-}" = --test ]; then
  packages+=(catch2 postgresql python3-yaml libtbb-dev tzdata libcrypt-dev libxml2-dev openssl)
  optional+=(bubblewrap libexpat1-dev clang-format-14 black chromium golang-go help2man python3-jsonschema python3-venv python3-websockets liburing-dev libboost-fiber1.83-dev libboost-fiber1.81-dev)
fi
if [ "${1-}" = --grade ]; then optional+=(bubblewrap); fi
# python3-matplotlib needs scipy or munkres; scipy brings Boost 1.74, which conflicts with ours
if [ "${1-}" = --report ]; then packages+=(python3-matplotlib python3-munkres python3-numpy python3-scour postgresql); fi

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
boosts=(libboost1.83-dev libboost1.81-dev)  # Debian 12's libboost-dev is 1.74, too old
boost_there=no
for boost in "${boosts[@]}"; do if installed "$boost"; then boost_there=yes; fi; done
add_optional() {
  for package in "${optional[@]}"; do
    if ! installed "$package" && apt-cache show "$package" >/dev/null 2>&1; then missing+=("$package"); fi
  done
}
if [ "${#missing[@]}" -eq 0 ] && [ "$boost_there" = yes ]; then
  add_optional
  if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi
  optional=()
fi

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }
as_root apt-get update -qq
if [ "$boost_there" = no ]; then
  for boost in "${boosts[@]}" libboost-dev; do
    if apt-cache show "$boost" >/dev/null 2>&1; then missing+=("$boost"); break; fi
  done
fi
add_optional
echo "installing: ${missing[*]}" >&2
# The tests start PostgreSQL clusters of their own; the package does not have to start one.
if [[ " ${missing[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
  as_root mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  -o Dpkg::Options::=--force-confold "${missing[@]}" >&2
