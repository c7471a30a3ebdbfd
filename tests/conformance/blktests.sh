#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# blktests with the drive as its device, one test after the other; their verdicts are in the files
# that its `check` leaves.

. /scarp/say.sh

mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t configfs configfs /sys/kernel/config 2>/dev/null
cd /src || exit 1
# Some tests have no end of their own; a test of the "quick" set ignores the limit.
cat >config <<END
TEST_DEVS=($SCARP_DEV)
TIMEOUT=$SCARP_TIMEOUT
NORMAL_USER=nobody
END
for name in $SCARP_TESTS; do
    say begin "blktests/$name"
    # A test before it may have removed the drive from the bus and found it again.
    for _ in 1 2 3 4 5; do
        [ -b "$SCARP_DEV" ] && break
        sleep 1
    done
    ./check -o "$SCARP_OUT/results" "$name" >"$SCARP_OUT/log" 2>&1
    cat "$SCARP_OUT/log" >>"$SCARP_OUT/check.log"
    # A test may run under several conditions, each with a folder of its own.
    files=$(ls -d "$SCARP_OUT"/results/*/"$name" 2>/dev/null)
    if [ -n "$files" ]; then
        status=$(sed -n 's/^status\t//p' $files)
    else
        # What a whole group needs is missing.
        status=$(grep -o 'not run' "$SCARP_OUT/log" | head -n 1)
    fi
    case $status in
    *fail*) say fail "blktests/$name" "$(sed -n 's/^reason\t//p' $files)" ;;
    *pass*) say pass "blktests/$name" ;;
    *"not run"*) say skip "blktests/$name" "$(sed -n '/not run/{n;s/^ *//;p;q}' "$SCARP_OUT/log")" ;;
    *) say fail "blktests/$name" "it left no result: $(tail -n 1 "$SCARP_OUT/log")" ;;
    esac
done
exit 0
