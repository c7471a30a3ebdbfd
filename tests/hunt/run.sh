#!/bin/sh
# The hunt: random drives, schemes and hosts, by the number of a scenario (docs/hunt.md).
# run.sh [release|checked] [options; --help names them]: checked has sanitizers, and every law after every event.
# run.sh test [SECONDS [release|checked]]: the corpus, then for so long scenarios whose numbers follow from the
# commit, as TAP; by one of the two programs, or half of the time by each.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build() { sh "$top/tests/hunt/make.sh" -f tests/hunt/hunt.mk "$@" >&2; }

what=release
case ${1:-} in
    release | checked | test) what=$1; shift ;;
esac
if [ "$what" != test ]; then
    build "$what"
    exec "$top/build/hunt/$what/hunt" "$@"
fi

seconds=${1:-60}
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
    for file in "$top"/tests/hunt/corpus/*.hunt; do
        status=0
        "$top/build/hunt/$binary/hunt" --replay "$file" >"$work/log" || status=$?
        sed 's/^/# /' "$work/log"
        say "$status" "corpus/$(basename "$file"), $binary"
    done
done
# Runs that are repeated from their logs, and forked.  A log that is spoiled must be found, by 1,000 forks.
hunt="$top/build/hunt/${programs%% *}/hunt"
status=0
"$hunt" --forks --seed "$seed" --count 100 --keep "$top/out/hunt" >"$work/log" || status=$?
sed 's/^/# /' "$work/log"
say "$status" "commit $commit: make hunt ARGS='--forks --seed $seed --count 100'"
for plant in switch arrival; do
    status=0
    "$hunt" --forks --plant $plant --count 100 --first --no-shrink --keep "$work" >"$work/log" || status=1
    say "$((1 - status))" "a spoiled log is found: --forks --plant $plant"
done
for binary in $programs; do
    [ "$seconds" -gt 0 ] || continue
    status=0
    "$top/build/hunt/$binary/hunt" --seed "$seed" --seconds "$seconds" --keep "$top/out/hunt" >"$work/log" || status=$?
    sed 's/^/# /' "$work/log"
    say "$status" "commit $commit: make hunt ARGS='$binary --seed $seed --seconds $seconds'"
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$number" -gt 0 ] && [ "$failed" -eq 0 ]
