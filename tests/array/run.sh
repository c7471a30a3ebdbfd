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

# build NAME SANITIZERS SOURCE... [-l...]: a test program
build() {
    program=$work/$1
    sanitizers=$2
    shift 2
    # shellcheck disable=SC2046,SC2086
    cc -std=gnu11 -g -O1 -Wall -Wextra -Werror $sanitizers -I"$top/guest/array" -I"$top/guest/array/uring" \
       -I"$top/tests/array" -I"$top/ftl" $(pkg-config --cflags glib-2.0) -o "$program" "$@" $core \
       $(pkg-config --libs glib-2.0) ${libraries-}
}

# Run each test of the program by itself.
run() {
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
}

asan="-fsanitize=address,undefined -fno-sanitize-recover=all"
for test in "$top"/tests/array/test-*.c; do
    build "$(basename "$test" .c)" "$asan" "$test" "$top/guest/array/sim/workload.c"
    run
done

# On io_uring, where there is one; its threads are watched as well.
uring="$top/tests/array/uring/test-uring.c $top/guest/array/uring/uring.c $top/guest/array/uring/drives.c"
libraries="-luring -lpthread"
for sanitizers in "$asan" -fsanitize=thread; do
    if ! pkg-config --exists liburing; then
        echo "# liburing-dev is not installed: its tests are skipped"
        break
    fi
    # shellcheck disable=SC2086
    build test-uring "$sanitizers" $uring
    code=0
    "$program" -l >/dev/null 2>"$work/why" || code=$?
    if [ "$code" = 77 ]; then
        echo "# $(cat "$work/why"): its tests are skipped"
        break
    fi
    run
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
