# SPDX-License-Identifier: GPL-2.0-or-later
# What the guest's suites share.  KTAP in /results/ktap: kselftest's habits, no framework.

number=0
log=/results/ktap
echo "KTAP version 1" >$log

check() { # NAME COMMAND…: one test
    number=$((number + 1))
    name=$1
    shift
    if "$@" >/tmp/out 2>&1; then
        echo "ok $number $name" >>$log
    else
        echo "not ok $number $name" >>$log
        { head -n 5 /tmp/out; echo ...; tail -n 12 /tmp/out; } | sed 's/^/# /' >>$log
    fi
    echo "test $number: $name"
}

stat_of() { # NAME [CONTROLLER]: a statistic of the drive
    scarp-stats "${2:-$SCARP_CTRL}" "$1" | sed 's/.* //'
}

bytes_of() {
    echo $(($(cat /sys/class/block/${1#/dev/}/size) * 512))
}

plan() {
    echo "1..$number" >>$log
}
