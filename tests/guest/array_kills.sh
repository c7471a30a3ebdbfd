# SPDX-License-Identifier: GPL-2.0-or-later
# The server of an array is killed, SCARP_KILLS times at random moments, and the next one recovers
# the device: what was acknowledged before a flush that ended is there, and no sector holds anything
# that was not written to it.

. /scarp/ktap.sh
. /scarp/array_server.sh

pages=1536 # twice the cache
keys=--keys=cache_bytes=3145728

random=$SCARP_SEED
dice() { # BELOW: into $dice; a random number, the same in each run
    random=$(((random * 1103515245 + 12345) & 0x7fffffff))
    dice=$(((random >> 8) % $1))
}

# Between a writer's first request and 60 ms later.
killed_once() { # SEED
    dice 60000
    rm -f /tmp/writing
    /scarp/versions write $device $pages /tmp/state "$1" >/tmp/writing 2>&1 &
    writer=$!
    until [ -s /tmp/writing ]; do
        kill -0 $writer || return 1
        usleep 1000
    done
    usleep $dice
    killed || return 1
    # It waits for a request that the kernel will send again.
    kill -KILL $writer
    start --recover=${device#/dev/ublkb} $keys $small || return 1
    wait $writer
    if ! /scarp/versions check $device $pages /tmp/state >/tmp/checked; then
        echo "kill $1, after $dice us"
        cat /tmp/writing /tmp/checked
        return 1
    fi
    promised=$((promised + $(sed 's/.*pages, \([0-9]*\) of.*/\1/' /tmp/checked)))
}

kills() {
    promised=0
    start $keys $small || return 1
    for kill in $(seq "$SCARP_KILLS"); do
        killed_once $((SCARP_SEED + kill)) || return 1
        echo "kill $kill: $(cat /tmp/checked)"
        [ $((kill % 10)) != 0 ] || echo "$kill killed" >/dev/console
    done
    # A check that never looks at anything promised would prove nothing.
    stop && [ $promised -gt $((SCARP_KILLS * pages / 4)) ]
}

# Into deep collection, where writes take long.
overwritten() {
    start --keys=cache_bytes=3145728 $small || return 1
    for round in 1 2; do
        fio --name=w --filename=$device --direct=1 --ioengine=io_uring --iodepth=32 --bs=4k \
            --rw=randwrite --randseed=$round || return 1
    done
    dd if=/dev/zero of=$device bs=64k count=$((pages / 16)) oflag=direct && stop &&
        [ "$(stat_of gc_runs $SCARP_CTRL1)" -gt 0 ]
}

format "" $small
check "drives that collect" overwritten
check "killed $SCARP_KILLS times under load, recovered: what was flushed is there" kills
plan
