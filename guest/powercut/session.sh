#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest that checks what drives contain after power cuts, one after the other: the host writes
# contents into the drives' files and a line to the console, and reads one from there.
# scarplib/powercut/check_guest.py is its other end; it also writes /scarp/check-functions, which
# says what is between the drives and the mounted folder.
#
# in:   NUMBER BYTES LIMIT        of the promises, and seconds for each check
# out:  scarp-check: NUMBER NAME=ok,NAME=failed,… BYTES [again]
#       BYTES: of the checks' output; again: this guest is of no use any more

work=/tmp/check
mkdir -p $work
. /scarp/check-functions

# 4 KiB of settings, then the promises; from 8 MiB on the output.
take() {
    for device in $SCARP_CHECK_DRIVES $SCARP_CHECK_CONTROL; do
        blockdev --flushbufs "$device"
    done
    dd if="$SCARP_CHECK_CONTROL" bs=4096 count=1 iflag=direct 2>/dev/null | tr -d '\0' >$work/settings
    blocks=$((($1 + 4095) / 4096))
    dd if="$SCARP_CHECK_CONTROL" bs=4096 skip=1 count=$blocks iflag=direct 2>/dev/null |
        head -c "$1" >$work/promises
    . $work/settings
}

give() {
    head -c 1048576 $work/out >$work/told
    dd if=$work/told of="$SCARP_CHECK_CONTROL" bs=4096 seek=2048 conv=notrunc,fsync 2>/dev/null
    wc -c <$work/told
}

verdict() { # NAME STATUS
    case $2 in
    0) word=ok ;;
    137) word=stopped again=again && echo "stopped after $limit s" >>$work/out ;;
    *) word=failed && echo "ended with status $2" >>$work/out ;;
    esac
    verdicts="$verdicts,$1=$word"
}

# A file of /scarp/checks, or none, in this folder.
run() { # FILE FOLDER
    [ -e "/scarp/checks/$1" ] || return 0
    echo "--- $1" >>$work/out
    # busybox leaves a process behind that watches the time: it must not stand in the folder.
    # shellcheck disable=SC2016
    in_root busybox timeout -s KILL "$limit" sh -c 'cd "$2" && exec "/scarp/checks/$1"' sh \
        "$1" "$2" >>$work/out 2>&1 </dev/null
}

check() {
    verdicts='' again='' busy=''
    : >$work/out
    if bring_up >>$work/out 2>&1; then
        for name in $SCARP_CHECKS; do
            run "$name" "$SCARP_DIR"
            status=$?
            eval "status_$name=$status"
        done
        if ! take_down >>$work/out 2>&1; then
            again=again busy=busy
            echo "it could not be unmounted after the checks" >>$work/out
        fi
    else
        for name in $SCARP_CHECKS; do
            verdicts="$verdicts,$name=refused"
        done
        give_up >>$work/out 2>&1 || again=again
        return
    fi
    for name in $SCARP_CHECKS; do
        eval "status=\$status_$name"
        # shellcheck disable=SC2154
        if [ "$status" = 0 ] && [ -e "/scarp/checks/$name.after" ]; then
            # What could not be looked at has not passed.
            status=1
            if [ -z "$busy" ]; then
                run "$name.after" /
                status=$?
            fi
        fi
        verdict "$name" "$status"
    done
    end_after >>$work/out 2>&1 || again=again
}

echo "scarp-check: ready"
while read -r number bytes limit; do
    take "$bytes"
    check
    echo "scarp-check: $number ${verdicts#,} $(give) $again"
done
