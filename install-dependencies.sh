#!/usr/bin/env bash
# Installs what building and testing need, as Debian or Ubuntu packages, where it is missing.
# Sourced by run.sh and test.sh; does nothing where everything is there.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libpqxx-dev libpugixml-dev catch2 libsqlite3-dev libspdlog-dev
          libcli11-dev postgresql netcat-openbsd)

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

missing=()
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
# Boost 1.81 or newer: Debian 12 calls it libboost1.81-dev (its libboost-dev is 1.74), later ones libboost-dev.
if ! installed libboost1.81-dev && ! installed libboost1.83-dev; then
  if ((${#missing[@]} == 0)); then missing=(); fi
  missing+=(libboost)
fi

if ((${#missing[@]} > 0)); then
  sudo=
  if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
  # On a machine without a database server, installing PostgreSQL must not start one.
  $sudo apt-get update -qq
  for i in "${!missing[@]}"; do
    if [ "${missing[$i]}" = libboost ]; then
      missing[i]=libboost-dev
      for boost in libboost1.83-dev libboost1.81-dev; do
        if apt-cache show "$boost" >/dev/null 2>&1; then missing[i]=$boost; break; fi
      done
    fi
  done
  echo "installing: ${missing[*]}" >&2
  DEBIAN_FRONTEND=noninteractive $sudo -E apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi
