#!/bin/sh
# Builds the SSD array with sanitizers, and runs its tests: each test of each program is a process of
# its own, as many at once as there are cores.  `run.sh -m slow` makes 20 times as many random runs.
# With FIO_SOURCES, a folder of fio's configured sources, fio's engine is tested too.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
asan="-fsanitize=address,undefined -fno-sanitize-recover=all"
flags="-std=gnu11 -g1 -O1 -Wall -Wextra -Werror -I$top/guest/array -I$top/guest/array/uring \
       -I$top/tests/array -I$top/ftl $(pkg-config --cflags glib-2.0)"
options=$*
# Seconds of processor time for one test, however busy the host.
limit=900
[ -z "$options" ] || limit=36000
export work options limit
mkdir "$work/tap"
: >"$work/list"

# core FOLDER SANITIZERS: the array's core, and what is beside it
core() {
    mkdir "$work/$1"
    for source in "$top"/guest/array/*.c "$top/guest/array/sim/workload.c"; do
        # shellcheck disable=SC2086
        cc $flags $2 -c -o "$work/$1/$(basename "$source" .c).o" "$source"
    done
}

# add PROGRAM PREFIX: its tests, and what their names begin with
add() {
    # A program that cannot name its tests must not lose them.
    sh "$top/tests/test-names.sh" "$1" >"$work/names"
    sed "s|^|$1 $2|" "$work/names" >>"$work/list"
}

# skip NAME REASON: said, and counted as skipped
skip() {
    echo "ok 1 $1 # SKIP $2" >"$work/tap/skip-$1"
}

core address "$asan"
for test in "$top"/tests/array/test-*.c; do
    program=$work/$(basename "$test" .c)
    # shellcheck disable=SC2046,SC2086
    cc $flags $asan -o "$program" "$test" "$work"/address/*.o $(pkg-config --libs glib-2.0)
    add "$program" ""
done

# On io_uring, where there is one; its threads are watched as well.
uring=
for name in uring ring threads keep drives drive_labels; do
    uring="$uring $top/guest/array/uring/$name.c"
done
for kind in address thread; do
    if ! pkg-config --exists liburing; then
        skip "uring-$kind" "liburing-dev is not installed"
        continue
    fi
    sanitizers=$asan
    if [ "$kind" = thread ]; then
        sanitizers="-fsanitize=thread -DTHREADS_WATCHED=1"
        core thread "$sanitizers"
    fi
    for test in uring keep drives; do
        program=$work/$test-$kind
        # shellcheck disable=SC2046,SC2086
        cc $flags $sanitizers -o "$program" "$top/tests/array/uring/test-$test.c" $uring "$work/$kind"/*.o \
           $(pkg-config --libs glib-2.0) -luring -lpthread
        code=0
        "$program" -l >/dev/null 2>"$work/why" || code=$?
        if [ "$code" = 77 ] || grep -q "unexpected memory mapping" "$work/why"; then
            skip "$test-$kind" "$(head -n 1 "$work/why")"
        else
            add "$program" "$kind:"
        fi
    done
done

# The simulator has the whole engine in it: that of the unit tests, with every law after each event.
make() { sh "$top/tests/hunt/make.sh" -f tests/unit/unit.mk "$@"; }
make linked >&2
for source in "$top"/guest/array/sim/*.c; do
    # shellcheck disable=SC2046,SC2086
    [ "$source" = "$top/guest/array/sim/workload.c" ] ||
        cc $flags $asan $(pkg-config --cflags zlib libzstd) -c -o "$work/address/sim-$(basename "$source" .c).o" "$source"
done
# shellcheck disable=SC2046
cc -no-pie $asan -o "$work/scarp-array" $(make list-linked) "$work"/address/*.o \
   $(pkg-config --libs glib-2.0 zlib libzstd) -lm
echo "python3 $top/tests/array/test_sim.py $work/scarp-array" >>"$work/list"
if [ -z "${FIO_SOURCES-}" ]; then
    skip fio "FIO_SOURCES names no folder with fio's configured sources"
elif ! command -v fio >/dev/null; then
    skip fio "fio is not installed"
else
    echo "python3 $top/tests/array/test_fio.py $FIO_SOURCES" >>"$work/list"
fi

# The longest first, so that the short ones fill what they leave.
{ grep -E 'python3|random|uring' "$work/list"; grep -vE 'python3|random|uring' "$work/list"; } |
    xargs -P "$(nproc)" -L 1 sh -c '
    ulimit -S -t "$limit"
    status=0
    if [ "$0" = python3 ]; then
        name=$(basename "$1")
        out=$work/tap/$name
        python3 "$1" "$2" >"$out" 2>&1 || status=$?
    else
        name=$1
        path=${1#*:}
        out=$work/tap/$(echo "$1" | tr /: __)
        # shellcheck disable=SC2086
        "$0" --tap -p "$path" $options >"$out.raw" 2>&1 || status=$?
        sed "s|^\(.*ok [0-9]* \)$path|\1$name|" "$out.raw" >"$out"
        rm "$out.raw"
    fi
    echo "# $name: ended with $status"
    if [ $status -ne 0 ]; then
        grep -q "^not ok" "$out" || echo "not ok 1 $name: ended with $status" >>"$out"
    elif ! grep -q "^ok " "$out"; then
        echo "not ok 1 $name: has no result" >>"$out"
    fi'

# One plan for all.
for tap in "$work"/tap/*; do
    grep -E '^(not )?ok ' "$tap"
    grep -q '^not ok' "$tap" && tail -n 25 "$tap" | sed 's/^/# /'
done | awk '
    sub(/^ok [0-9]+/, "ok " n + 1) { n++; if (/# SKIP/) skipped++ }
    sub(/^not ok [0-9]+/, "not ok " n + 1) { n++; failed++ }
    { print }
    END {
        print "1.." n
        print n - failed - skipped " passed, " failed + 0 " failed, " skipped + 0 " skipped"
        exit !n || failed > 0
    }'
