#!/usr/bin/env bash
# Makes a release of the commit that is checked out, from a clean clone: its sources, a Debian package, the programs, and SHA256SUMS.
# Usage: ./release.sh [FOLDER]   (default: release)
set -euo pipefail
unset CDPATH  # a cd that finds its folder there goes astray, and prints
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case "${1:-}" in
  -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;;
  -*) echo "release.sh: unknown option $1" >&2; exit 2 ;;
esac
if [ -n "$(git -C "$here" status --porcelain --untracked-files=no)" ]; then
  echo "release.sh: commit your changes first: a release is made of a commit" >&2
  exit 1
fi
command -v help2man > /dev/null || { echo "release.sh: help2man is missing, which makes the man pages (Debian: help2man)" >&2; exit 1; }
mkdir -p "${1:-release}"
out=$(cd "${1:-release}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$here/install-dependencies.sh"
git clone --quiet "$here" "$work/source"
cd "$work/source"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXCHANGE_TESTS=OFF
cmake --build build --target all man
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' build/CMakeCache.txt)
name=exchange-$version

rm -f "$out"/exchange[-_]"$version"* "$out/SHA256SUMS"
git archive --prefix="$name/" --output="$out/$name.tar.gz" HEAD
cpack --config build/CPackConfig.cmake -B "$work/package"
cp "$work"/package/*.deb "$out"
cmake --install build --component programs --strip --prefix "$work/$name" > /dev/null
tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
  --file "$out/$name-$(uname -m).tar.gz" --directory "$work" "$name"
cd "$out"
sha256sum exchange[-_]"$version"* > SHA256SUMS
cat SHA256SUMS
