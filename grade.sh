#!/bin/sh
# Grades servers of the protocol that others wrote, and writes a table and a page for each to build/grade: installs what is missing,
# builds where there is no load generator yet. Arguments go to course/grader/grade.py: ./grade.sh --server './server {port}', ./grade.sh --help
set -eu
unset CDPATH  # a cd that finds its folder there goes astray, and prints
here=$(cd "$(dirname "$0")" && pwd)
grade() { exec "${PYTHON3:-/usr/bin/python3}" "$here/course/grader/grade.py" "$@"; }
for argument in "$@"; do
  case $argument in -h | --help | --list) grade "$@" ;; esac  # these need no build
done
"$here/install-dependencies.sh" --grade
for program in conformance loadgen server; do
  if ! [ -x "$here/build/bin/$program" ]; then
    (cd "$here" && cmake --preset release && cmake --build build --target server loadgen conformance) >&2
    break
  fi
done
grade "$@"
