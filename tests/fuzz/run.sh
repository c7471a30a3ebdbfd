#!/bin/sh
# Fuzzes the parsers for a while each: run.sh [SECONDS]. With clang by libFuzzer, else with gcc and a
# driver that mutates the seeds. Ends non-zero at the first crash, whose input is printed.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-10}
case $seconds in
    '' | *[!0-9]* | 0*) echo "run.sh: '$seconds': a whole number of seconds, from 1" >&2; exit 1 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libraries="glib-2.0 zlib libzstd"
sources=$(find "$top/ftl" -name '*.c' ! -path '*/replay/main.c' | sort)

printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n);\nint LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }\n' >"$work/try.c"
if clang -fsanitize=fuzzer,address -o "$work/try" "$work/try.c" 2>/dev/null; then
    compiler="clang -fsanitize=fuzzer" driver=
else
    compiler=gcc driver=$top/tests/fuzz/driver.c
fi

mkdir "$work/seeds"
# The first byte of a seed chooses the format of fuzz-trace.c; '0' is 48, of 12.
seed() { printf '%b' "$2" >"$work/seeds/$1"; }
seed msr '1128166385295514663,hm,0,Write,9056014336,2048,2833\n'
seed systor '2Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.13,0.8,R,0,512,512\n'
seed spc '30,20941264,8192,W,0.551706\n'
seed fiu '489966522969723 4270 nfsd 18579576 8 W 6 0 d6\n'
seed blkparse '5  8,16   3   5  0.000026421  3645  D   R 4938888 + 256 [java]\n'
seed fio2 '6fio version 2 iolog\n/dev/a add\n/dev/a write 0 4096\n'
seed fio3 '7fio version 3 iolog\n1 /dev/a trim 0 4096\n'
seed mqsim '8938513000 4 264719034 16 0\n'
seed heimdall '90.000 0 11562803200 4096 1\n'
seed disksim ':26.214000\t0\t303574\t1\t0\n'
seed cmdlog ';SCARPCM1\0050\000\000\000\000\000\000\000'
seed generator 'mixed,requests=100,size=8192,theta=900,hot=100,hot_share=900,burst=3,idle_us=7'
printf '80 1 2 3 0\n' | gzip >"$work/gz" && { printf '0'; cat "$work/gz"; } >"$work/seeds/gzip"

done=0
for target in "$top"/tests/fuzz/fuzz-*.c; do
    name=$(basename "$target" .c)
    # shellcheck disable=SC2046,SC2086
    $compiler -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
        -I"$top/ftl" -I"$top/ftl/replay" $(pkg-config --cflags $libraries) \
        -o "$work/$name" "$target" $driver $sources $(pkg-config --libs $libraries)
    cp -r "$work/seeds" "$work/corpus"
    status=0
    "$work/$name" -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -timeout=10 \
        -artifact_prefix="$work/crash-" "$work/corpus" >"$work/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 40 "$work/log"
        for file in "$work"/crash-*; do
            [ -e "$file" ] && od -An -c "$file" | head -n 40
        done
        echo "not ok $((done + 1)) $name"
        exit 1
    fi
    done=$((done + 1))
    echo "ok $done $name: $(tail -n 1 "$work/log")"
    rm -rf "$work/corpus"
done
echo "1..$done"
