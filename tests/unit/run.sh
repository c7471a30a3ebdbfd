#!/bin/sh
# Builds the engine with sanitizers and every check, and runs its unit tests, and those of tests/hw:
# each test of each program is a process of its own, as many at once as there are cores.
# run.sh [-m slow] [NAME…]: only tests whose names begin with one of these, such as /buffer; -m slow has more
# seeds, and cuts the power at more events.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tap"
# A test that does not end is killed after so many seconds of processor time, however busy the host.
options='' limit=900
[ "${1:-}" != -m ] || { options="-m $2" limit=36000; shift 2; }
export work options limit
make() { sh "$top/tests/hunt/make.sh" -f tests/unit/unit.mk "$@"; }

make all >&2
G_TEST_SRCDIR="$top/tests/qtest"
export G_TEST_SRCDIR
list=$work/list
: >"$list"
for made in $(make list); do
    # A second name for it: another build may put a new program in its place meanwhile.
    program=$work/$(basename "$made")
    ln "$made" "$program" 2>/dev/null || cp "$made" "$program"
    # A program that cannot name its tests must not lose them.
    sh "$top/tests/test-names.sh" "$program" >"$work/names"
    sed "s|^|$program |" "$work/names" >>"$list"
done

# Each name that docs/laws.md has is a test's, exactly.
sed 's/^[^ ]* //' "$list" | sort -u >"$work/names"
grep -oE '`/[a-z][A-Za-z0-9_./+-]*`' "$top/docs/laws.md" | tr -d '`' | sort -u >"$work/named"
if [ -s "$work/named" ] && missing=$(comm -13 "$work/names" "$work/named") && [ -z "$missing" ]; then
    echo "ok 1 docs/laws.md names tests that there are"
else
    echo "not ok 1 docs/laws.md names tests that there are"
    echo "$missing" | sed 's/^/# no test: /'
fi >"$work/tap/docs-laws"

for name in "$@"; do
    awk -v name="$name" 'index($2, name) == 1 { print; n++ } END { exit !n }' "$list" >>"$work/some" || {
        echo "run.sh: no test's name begins with '$name'; all begin with one of:" \
            $(sed 's|^[^ ]* \(/[^/]*\).*|\1|' "$list" | sort -u) >&2
        exit 1
    }
done
[ $# -eq 0 ] || { sort -u "$work/some" >"$list"; rm "$work/tap/docs-laws"; }

xargs -P "$(nproc)" -L 1 sh -c '
    out=$work/tap/$(basename "$0")$(echo "$1" | tr /+ __)
    ulimit -S -t "$limit"
    # shellcheck disable=SC2086
    "$0" --tap -p "$1" $options >"$out" 2>&1
    status=$?
    # A line of the shell, then one of the test: its own time, and the kernel for it, as 1m2.345s.
    times >"$out.times"
    { read -r _; read -r user kernel; } <"$out.times"
    rm "$out.times"
    echo "$user $kernel $1" >>"$work/spent"
    echo "# $1: ended with $status, after $user"
    [ $status -eq 0 ] || grep -q "^not ok" "$out" || echo "not ok 1 $1: ended with $status" >>"$out"' <"$list"

awk '{ split($1, u, "m"); split($2, k, "m"); s = u[1] * 60 + u[2] + k[1] * 60 + k[2]; total += s
       printf "# %7.1f s  %s\n", s, $3 }
     END { printf "# %7.1f s of processor time in all; the longest:\n", total }' "$work/spent" |
    sort -k2,2 -n -r | head -n 12

# One plan for all.
number=0
failed=0
for tap in "$work"/tap/*; do
    number=$((number + 1))
    name=$(grep -m1 -E '^(not )?ok ' "$tap" | sed -E 's/^(not )?ok [0-9]+ //')
    if grep -q '^ok ' "$tap" && ! grep -q '^not ok' "$tap"; then
        echo "ok $number $name"
    else
        failed=$((failed + 1))
        echo "not ok $number $name"
        tail -n 25 "$tap" | sed 's/^/# /'
    fi
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$number" -gt 0 ] && [ "$failed" -eq 0 ]
