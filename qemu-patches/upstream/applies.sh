#!/bin/sh
# Which patches of the series apply to other sources of QEMU, as text: applies.sh SOURCES...
# Each is tried alone, then after those before it (or what of them applied).
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
patches=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ $# -gt 0 ] || { echo "applies.sh: name a folder with QEMU's sources, unpacked" >&2; exit 1; }
for tree in "$@"; do
    [ -f "$tree/VERSION" ] || { echo "applies.sh: $tree: no VERSION in it" >&2; exit 1; }
done

# Only what the series touches: QEMU is large.
files=$(sed -n 's|^--- a/||p' "$patches"/*.patch | sort -u)

applies() { (cd "$1" && patch -p1 --forward --batch --silent --dry-run -i "$2" >/dev/null 2>&1); }

for tree in "$@"; do
    mkdir "$work/alone" "$work/after"
    (cd "$tree" && for file in $files; do [ ! -e "$file" ] || echo "$file"; done) |
        tar -c -C "$tree" -T - | tee "$work/tar" | tar -x -C "$work/alone"
    tar -x -C "$work/after" -f "$work/tar"
    echo "QEMU $(cat "$tree/VERSION")"
    while read -r name; do
        alone=no after=no
        ! applies "$work/alone" "$patches/$name" || alone=yes
        ! applies "$work/after" "$patches/$name" || after=yes
        # What applies of one that does not is left in: the next ones may need it.
        (cd "$work/after" && patch -p1 --forward --batch --silent -i "$patches/$name" >/dev/null 2>&1) || true
        echo "${name%%-*}: alone: $alone, in the series: $after"
    done <"$patches/series"
    rm -r "$work/alone" "$work/after"
done
