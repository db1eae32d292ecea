#!/usr/bin/env bash
# Gradescope runs this once, as root, when it makes the image of the assignment. The programs of the grader are in this zip, with
# their libraries: only Python and what the submissions need is installed.
set -euo pipefail
here=/autograder/source
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "$@"; }

apt-get update -qq
read -ra packages < "$here/packages"
install python3 util-linux "${packages[@]}"
python3 -c 'import tomllib' 2>/dev/null || install python3-tomli  # before Python 3.11
id grader >/dev/null 2>&1 || useradd --create-home --user-group grader  # submissions do not run as root
for program in conformance loadgen server; do
  "$here/build/bin/$program" --help >/dev/null || { echo "this image cannot run $program of the grader" >&2; exit 1; }
done
