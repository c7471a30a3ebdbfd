# SPDX-License-Identifier: GPL-2.0-or-later
# The SSD array as an engine of fio, on small drives that are overwritten until they collect.

. /scarp/ktap.sh
. /scarp/array_server.sh

# The library that the engine was linked with.
export LD_LIBRARY_PATH=/scarp
drives=$(echo $small | tr ' ' :)
cache=cache_bytes=3145728

engine() { # OPTIONS…: of fio
    fio --name=e --ioengine=external:/scarp/array-fio.so --drives=$drives --keys=$cache \
        --rw=randwrite --bs=4k --iodepth=32 --thread=1 --size=100% "$@"
}

verified() { # OPTIONS…: what is written is read again, and is right
    engine --verify=crc32c --verify_header_seed=1 --verify_fatal=1 "$@"
}

# The guest has one processor, so that all else here is without them.  What the kernel has for a
# ring has other names than fio's own threads.
threads_while() { # OPTIONS…: into $most; how many fio had at most
    verified "$@" &
    load=$!
    most=0
    while kill -0 $load 2>/dev/null; do
        now=$(cat /proc/[0-9]*/task/*/comm 2>/dev/null | grep -c '^fio')
        [ "$now" -le $most ] || most=$now
        usleep 20000
    done
    wait $load
}

a_thread_for_each_drive() {
    threads_while --drive_threads=0 --randseed=4 --size=4m || return 1
    alone=$most
    threads_while --drive_threads=1 --randseed=3 --fsync=2000 || return 1
    echo "$alone threads, and $most with one for each of three drives"
    [ $alone -gt 0 ] && [ $most -eq $((alone + 3)) ]
}

refusals() {
    says "has no label of an array" engine --size=1m && format "" $small &&
        says "slot: no such key" engine --size=1m --keys=slot=1
}

in_collections() {
    for seed in 1 ${SCARP_TEST_ALL:+2}; do
        before=$(stat_of gc_runs $SCARP_CTRL1)
        verified --randseed=$seed --fsync=2000 || return 1
    done
    [ "$(stat_of gc_runs $SCARP_CTRL1)" -gt "$before" ]
}

# A block device has sectors; the engine has none.  Each page is read, changed and written, and
# there are twice as many as the cache has room for.
unaligned() { # KEYS
    verified --bs=128 --size=6m --io_size=2m --randseed=5 --keys=$cache"$1"
}

# The same array, whichever way it is used.
read_by_the_device() {
    engine --verify=crc32c --do_verify=0 --size=16m --randseed=9 --end_fsync=1 && start $small &&
        fio --name=e --filename=$device --direct=1 --ioengine=io_uring --rw=randwrite --bs=4k \
            --verify=crc32c --verify_fatal=1 --verify_only=1 --size=16m --randseed=9 && stop
}

# Errors, not a hang.
a_drive_that_goes() {
    controller=${SCARP_CTRL1#/dev/}
    engine --time_based --runtime=3600 --fsync=2000 >/tmp/load 2>&1 &
    load=$!
    # fio takes long to begin; then in the middle of writes that reach the drive.
    before=$(stat_of writes $SCARP_CTRL1)
    until [ "$(stat_of writes $SCARP_CTRL1)" -gt $((before + 1000)) ]; do
        kill -0 $load || return 1
        usleep 50000
    done
    echo 1 >/sys/class/nvme/$controller/device/remove
    wait $load && return 1
    cat /tmp/load
    grep -qi "input/output error" /tmp/load
}

check "refused without labels, and with a key that is none" refusals
check "fio verify of what overwrites leave under GC" in_collections
check_long "the same, a thread for each drive" a_thread_for_each_drive
check_long "fio verify, writes of 512 bytes to 64 KiB" verified --bsrange=512-64k --fsync=500 --size=24m
check_long "fio verify, 128 bytes at a time" unaligned ""
check_long "the same without the flusher" unaligned ,flusher=0
check "what the engine wrote is there for the block device" read_by_the_device
check_long "a drive that is removed: errors, not a hang" a_drive_that_goes
plan
