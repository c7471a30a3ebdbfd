#!/bin/sh
# Fuzzes the parsers, the engine and the scripts for a while each: run.sh [SECONDS [TARGET...]], a target
# being the middle of fuzz-*.c, or one of scripts.py's. With clang by libFuzzer, else with gcc and a driver
# that mutates the seeds; the scripts by Python's libFuzzer (atheris).
# By libFuzzer also so often each: run.sh 1000000x [TARGET...]; it says what the last tenth brought.
# Ends non-zero at the first crash, whose input is printed, and kept in $FUZZ_KEEP if that is a folder.
# $FUZZ_CORPUS: a folder in which each target keeps what reached something new, and begins with it.
# FUZZ_PACK=1: what such a run began with and found, as few inputs as reach all of it, is packed into
# tests/fuzz/corpus, with which every run begins.
# FUZZ_LAWS=end: a drive's tables are checked when its commands have ended, not after every event, which
# takes 10 times as long; and libFuzzer is told what the parsers compare, not what the engine does: its
# scans of tables took half of the time, and an input's bytes are never in them.
# FUZZ_SANITIZE=none: without sanitizers, three times as fast, to look for inputs for a run with them.
# FUZZ_OPTIONS: more options of libFuzzer's; without -entropic=0, 29 % of a drive's time is its list of rare
# features.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-10}
runs=
case $seconds in
    [1-9]*x) runs=${seconds%x} seconds=0 ;;
esac
case $seconds$runs in
    '' | *[!0-9]* | 0) echo "run.sh: '$seconds': a whole number of seconds, from 1, or of executions with x behind it" >&2; exit 1 ;;
esac
[ $# -eq 0 ] || shift
allowed() { [ -z "$2" ] || [ "$2" = "$3" ] || { echo "run.sh: $1=$2: $3, or nothing" >&2; exit 1; }; }
allowed FUZZ_LAWS "${FUZZ_LAWS:-}" end
allowed FUZZ_SANITIZE "${FUZZ_SANITIZE:-}" none
all="$(cd "$top/tests/fuzz" && ls fuzz-*.c | sed 's/^fuzz-//; s/\.c$//') $(python3 "$top/tests/fuzz/scripts.py" --list)"
all=$(echo $all)
for target in "$@"; do
    case " $all " in *" $target "*) ;; *) echo "run.sh: no target '$target'; there are: $all" >&2; exit 1 ;; esac
done
targets=${*:-$all}
compiled=$(printf '%s\n' $targets | grep -v '^scripts-' || :)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Of whatever a target leaves.
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
libraries="glib-2.0 zlib libzstd"

printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n);\nint LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }\n' >"$work/try.c"
if clang -fsanitize=fuzzer,address -o "$work/try" "$work/try.c" 2>/dev/null; then
    compiler=clang object=-fsanitize=fuzzer-no-link link=-fsanitize=fuzzer driver='' objects=''
else
    compiler=gcc object='' link='' driver=$top/tests/fuzz/driver.c objects=
    [ -z "$runs" ] || [ -z "$compiled" ] || { echo "run.sh: ${runs}x: needs clang's libFuzzer" >&2; exit 1; }
    [ -z "${FUZZ_SANITIZE:-}" ] || { echo "run.sh: FUZZ_SANITIZE: needs clang's libFuzzer" >&2; exit 1; }
fi
[ "${FUZZ_LAWS:-}" = end ] && laws=-O2 || laws='-O1 -DSCARP_CHECKED'
[ "$compiler-${FUZZ_LAWS:-}" = clang-end ] && quiet=-fno-sanitize-coverage=trace-cmp || quiet=
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
[ -z "${FUZZ_SANITIZE:-}" ] || sanitize=
# shellcheck disable=SC2086
flags="-std=gnu11 -g $laws -Wall -Wextra $sanitize
    -I$top/ftl -I$top/ftl/replay -I$top/guest/array $(pkg-config --cflags $libraries)"
flags=$(echo $flags)

mkdir "$work/o"
export work compiler object flags quiet
engine() { find "$top/ftl" -name '*.c' ! -path '*/replay/main.c' ! -path '*/cuts/main.c' ! -path '*/why/main.c'; }
if [ "$compiler" = gcc ] && [ -n "$compiled" ] && [ "${FUZZ_LAWS:-}" != end ]; then
    # The unit tests' objects are the same.
    make() { sh "$top/tests/hunt/make.sh" -f tests/unit/unit.mk "$@"; }
    make objects >&2
    objects=$(make list-objects) link=-no-pie
    engine() { :; }
fi
[ -z "$compiled" ] || { engine; find "$top/guest/array" -maxdepth 1 -name '*.c'
    echo "$top/guest/array/uring/keep.c"; } | sort | xargs -P "$(nproc)" -I{} sh -c '
    case {} in */replay/* | */description*.c | */guest/array/*) quiet= ;; esac
    $compiler $flags $object $quiet -c -o "$work/o/$(echo "{}" | tr / _).o" "{}"'

mkdir "$work/seeds"
# $1: its name, whose beginning is its target's; $2: what it says
seed() { printf '%b' "$2" >"$work/seeds/$1"; }
# The first byte of a seed chooses the format of fuzz-trace.c, from '0' on.
seed trace-msr '1128166385295514663,hm,0,Write,9056014336,2048,2833\n'
seed trace-systor '2Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.13,0.8,R,0,512,512\n'
seed trace-spc '30,20941264,8192,W,0.551706\n'
seed trace-fiu '489966522969723 4270 nfsd 18579576 8 W 6 0 d6\n'
seed trace-blkparse '5  8,16   3   5  0.000026421  3645  D   R 4938888 + 256 [java]\n'
seed trace-fio2 '6fio version 2 iolog\n/dev/a add\n/dev/a write 0 4096\n'
seed trace-fio3 '7fio version 3 iolog\n1 /dev/a trim 0 4096\n'
seed trace-mqsim '8938513000 4 264719034 16 0\n'
seed trace-heimdall '90.000 0 11562803200 4096 1\n'
seed trace-disksim ':26.214000\t0\t303574\t1\t0\n'
seed trace-cmdlog ';SCARPCM1\0050\000\000\000\000\000\000\000'
seed trace-csv '<time,size,op,at,x,device\n1.5,4,"read",8,,1\n2,16,W,0,,0\n3,0,flush,,,1\n'
seed trace-csv-of-its-own '=op=1,offset=2:4096,length=3,time=4:100ns,read=17,write=18,separator=semicolon\n17;8;512;5\n'
seed trace-alibaba '>419,W,8192,4096,1577808144360767\n'
seed trace-tencent '?1538323200,16,8,1,1063\n'
seed trace-vscsi '@#Vscsi Cmd Trace\n0,4096,1,write,16,1000\n'
seed trace-etw 'ADiskRead, TimeStamp, ByteOffset, IOSize, DiskNum\nDiskRead, 10, 0x1000, 0x200, 0\n'
seed trace-msr-header 'BTimestamp,Hostname,DiskNumber\n132000000000000000,own,0,Write,0,4096,0\n'
seed trace-blkparse-completed 'C8,0 2 1 0.1 7 C FWFS 40960 + 16 [0]\n8,0 2 2 0.2 7 C FWS 0 [0]\n'
printf '80 1 2 3 0\n' | gzip >"$work/gz" && { printf '0'; cat "$work/gz"; } >"$work/seeds/trace-gzip"
seed generator 'mixed,requests=100,size=8192,theta=900,hot=100,hot_share=900,burst=3,idle_us=7'
# Small, so that they are not only read but built; then overrides behind a NUL.
small='geometry.channels=2,geometry.blocks_per_plane=24,geometry.pages_per_block=4,geometry.dies_per_chip=1'
for file in "$top"/tests/qtest/tiny.ini "$top"/devices/*.ini; do
    { cat "$file"; printf '\0%s' "$small,ftl.over_provisioning_permille=3000,gc.trigger_free_blocks=1"; } \
        >"$work/seeds/description-$(basename "$file" .ini)"
done
# These are bytes that choose.  Short: libFuzzer begins with inputs as long as the longest, and a long one is
# slow and brings little; it makes them longer by itself.
i=0
while [ "$i" -lt 15 ]; do # drives
    number=$(printf '\\0%03o' "$i")
    seed "image-$i" "\\001$number\\100\\001\\200\\005\\003"
    seed "image-$i-as-it-is" "\\000$number"
    seed "image-$i-swapped" "\\001$number\\020\\000\\202\\006\\004"
    # Pages, contents, versions and logical units that are others.
    seed "image-$i-page" "\\001$number\\005\\000\\204\\000\\002"
    seed "image-$i-contents" "\\001$number\\100\\000\\205\\005\\0377"
    seed "image-$i-version" "\\001$number\\044\\000\\206\\002\\003"
    seed "image-$i-unit" "\\001$number\\060\\000\\207\\005\\007"
    i=$((i + 1))
done
# Of an array: drives, and edits of labels before and after their sums; a kept cache, whole and cut.
seed label-1 '\0000'
seed label-4 '\0203\001\000\000\003\002\060\000\000\000\070\000\000'
seed label-raw '\002\001\020\000\377\000\003\020\001'
seed keep-whole '\0200'
seed keep-edited '\0200\100\000\007\010\001\003\050\002\020'
seed keep-cut '\050\100\000\007'
i=0
while [ "$i" -lt 12 ]; do
    # The same at every run: what a drive and some tens of commands are made of.
    seed "drive-$i" "$(awk -v x="$((i + 7))" 'BEGIN {
        for (n = 0; n < 400; n++) {
            x = (x * 16807) % 2147483647
            printf "\\%04o", int(x / 64) % 256
        }
    }')"
    i=$((i + 1))
done

python3 "$top/tests/fuzz/scripts.py" --seeds "$work/seeds"

done=0
for target in $targets; do
    name=fuzz-$target
    case $target in
    scripts-*)
        python=$(PYTHONPATH="$top/scripts" python3 -c 'from scarplib.build import venv
print(venv.ensure_venv(venv.FUZZ_PACKAGES))' | tail -n 1)
        printf '#!/bin/sh\nexec "%s" "%s" %s "$@"\n' "$python" "$top/tests/fuzz/scripts.py" "$target" >"$work/$name"
        chmod +x "$work/$name"
        ;;
    *)
        # shellcheck disable=SC2046,SC2086
        $compiler $flags $link -o "$work/$name" "$top/tests/fuzz/$name.c" $driver $objects "$work"/o/*.o \
            $(pkg-config --libs $libraries)
        ;;
    esac
    corpus=${FUZZ_CORPUS:+$(mkdir -p "$FUZZ_CORPUS" && cd "$FUZZ_CORPUS" && pwd)/}
    corpus=${corpus:-$work/corpus-}$target
    mkdir -p "$corpus"
    cp "$work/seeds/$target"* "$corpus"
    packed=$top/tests/fuzz/corpus/$target.tar.gz
    [ ! -e "$packed" ] || tar -xzf "$packed" -C "$corpus"
    status=0
    [ -n "$runs" ] && bound="-runs=$runs -print_final_stats=1" || bound=-max_total_time=$seconds
    case $runs-$target in -* | *-scripts-*) ;; *) bound="$bound -print_pcs=1" ;; esac
    # An input without end is a defect.  libFuzzer knows it by the wall clock, and keeps it; processor
    # time ends any other, too, where there is no libFuzzer.
    (
        [ -n "$runs" ] || ulimit -S -t $((seconds + 300))
        # shellcheck disable=SC2086
        exec "$work/$name" $bound -max_len=4096 -rss_limit_mb=2048 -timeout=300 ${FUZZ_OPTIONS:-} \
            -artifact_prefix="$work/crash-" "$corpus"
    ) >"$work/log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 40 "$work/log"
        for file in "$work"/crash-*; do
            [ -e "$file" ] || continue
            od -An -c "$file" | head -n 40
            [ ! -d "${FUZZ_KEEP:-}" ] || cp "$file" "$FUZZ_KEEP/$name-$(basename "$file")"
        done
        echo "not ok $((done + 1)) $name"
        exit 1
    fi
    done=$((done + 1))
    if [ -n "$runs" ] && [ -n "${FUZZ_PACK:-}" ]; then
        mkdir -p "$work/least" "${packed%/*}"
        case $target in
        # atheris starts itself anew for a merge, and cannot.
        scripts-*) python3 "$top/tests/fuzz/scripts.py" --least "$target" "$corpus" "$work/least" ;;
        *) "$work/$name" -set_cover_merge=1 -use_counters=0 -max_len=4096 "$work/least" "$corpus" \
            >"$work/merge" 2>&1 || { tail -n 20 "$work/merge"; exit 1; } ;;
        esac
        tar -C "$work/least" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - . |
            gzip -9n >"$packed"
        rm -rf "$work/least"
    fi
    if [ -n "$runs" ]; then
        # "#N NEW cov: EDGES …" for each input that brought something; before it a line for each place,
        # "NEW_PC: … in FUNCTION …/FILE:LINE".
        echo "ok $done $name: $(awk -v runs="$runs" '
            /NEW_PC: .* in / {
                file = $NF; sub(/:.*/, "", file); sub(/.*\//, "", file)
                waits[file]++
            }
            match($0, / cov: [0-9]+/) {
                cov = substr($0, RSTART + 6, RLENGTH - 6); at = substr($1, 2) + 0
                if (at <= runs * 9 / 10) before = cov
                else for (file in waits) late[file] += waits[file]
                delete waits
            }
            /^Done/ { n = $2; s = $5 }
            END {
                print n " executions in " s " s, " cov " edges, " cov - before " of them in the last tenth"
                fflush()
                for (file in late) print "# " late[file] " in " file | "sort -k2rn -k4"
            }
        ' "$work/log")"
    else
        echo "ok $done $name: $(tail -n 1 "$work/log")"
    fi
done
echo "1..$done"
