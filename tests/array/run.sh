#!/bin/sh
# Builds the array's core and its simulator with sanitizers and runs their tests.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
core=$(find "$top/guest/array" -maxdepth 1 -name '*.c')

number=0
failed=0
for test in "$top"/tests/array/test-*.c; do
    program=$work/$(basename "$test" .c)
    # shellcheck disable=SC2046,SC2086
    cc -std=gnu11 -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined \
       -fno-sanitize-recover=all -I"$top/guest/array" -I"$top/tests/array" -I"$top/ftl" \
       $(pkg-config --cflags glib-2.0) -o "$program" "$test" $core "$top/guest/array/sim/workload.c" \
       $(pkg-config --libs glib-2.0)
    # A program that cannot name its tests must not lose them.
    "$program" -l >"$work/names"
    grep '^/' "$work/names" >"$work/tests"
    while read -r name; do
        number=$((number + 1))
        if timeout 900 "$program" --tap -p "$name" >"$work/tap" 2>&1 &&
           grep -q '^ok ' "$work/tap"; then
            echo "ok $number $name"
        else
            failed=$((failed + 1))
            echo "not ok $number $name"
            tail -n 25 "$work/tap" | sed 's/^/# /'
        fi
    done <"$work/tests"
done

sh "$top/guest/array/sim/build.sh" "$work/scarp-array" -O1 -fno-lto -fsanitize=address,undefined \
    -fno-sanitize-recover=all
python3 "$top/tests/array/test_sim.py" "$work/scarp-array" >"$work/sim" || true
grep -v '^1\.\.' "$work/sim" || true
number=$((number + $(sed -n 's/^1\.\.//p' "$work/sim")))
failed=$((failed + $(grep -c '^not ok' "$work/sim" || true)))
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$number" -gt 0 ] && [ "$failed" -eq 0 ]
