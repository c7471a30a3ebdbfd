#!/bin/sh
# The array's hunt: random arrays, requests, faults and restarts, by the number of a scenario (docs/array.md).
# run.sh [release|checked] [options; --help names them]: checked has sanitizers, and the cache's laws at every turn.
# run.sh test [SECONDS [release|checked]]: the corpus, then for so long scenarios whose numbers follow from the
# commit, as TAP; by one of the two programs, or half of the time by each.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build() { make -s -C "$top" -f tests/hunt-array/hunt.mk -j"$(nproc)" "$@" >&2; }

what=release
case ${1:-} in
    release | checked | test) what=$1; shift ;;
esac
if [ "$what" != test ]; then
    build "$what"
    exec "$top/build/hunt-array/$what/hunt-array" "$@"
fi

seconds=${1:-30}
case ${2:-} in
    release | checked) programs=$2 ;;
    *) programs='release checked' seconds=$((seconds / 2)) ;;
esac
# shellcheck disable=SC2086
build $programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The same scenarios for the same commit, others for the next one.
commit=$(git -C "$top" rev-parse --short=8 HEAD 2>/dev/null || echo 1)
seed=$((0x$commit % 1000000000 * 1000000))
number=0
failed=0
say() { # $1: 0 if it is so; $2: what
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number $2"; else failed=$((failed + 1)); echo "not ok $number $2"; fi
}
for binary in $programs; do
    for file in "$top"/tests/hunt-array/corpus/*.hunt; do
        status=0
        "$top/build/hunt-array/$binary/hunt-array" --replay "$file" >"$work/log" || status=$?
        sed 's/^/# /' "$work/log"
        say "$status" "corpus/$(basename "$file"), $binary"
    done
done
for binary in $programs; do
    status=0
    "$top/build/hunt-array/$binary/hunt-array" --seed "$seed" --seconds "$seconds" --keep "$top/out/hunt-array" >"$work/log" || status=$?
    sed 's/^/# /' "$work/log"
    say "$status" "commit $commit: make hunt-array ARGS='$binary --seed $seed --seconds $seconds'"
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
