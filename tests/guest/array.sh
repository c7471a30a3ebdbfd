# SPDX-License-Identifier: GPL-2.0-or-later
# The SSD array as a block device (ublk).  Drives 0 to 2 are small, to be overwritten until they
# collect; 3 to 5 take file systems.

. /scarp/ktap.sh
. /scarp/array_server.sh

large="$SCARP_DEV3 $SCARP_DEV4 $SCARP_DEV5"

verify() { # OPTIONS…: of fio
    fio --name=v --filename=$device --direct=1 --ioengine=io_uring --iodepth=32 --bs=4k \
        --rw=randwrite --verify=crc32c --verify_header_seed=1 --verify_fatal=1 "$@"
}

refused() { # LINE COMMAND…: it fails, and says this in one line
    says "$@" && [ "$(wc -l </tmp/said)" = 1 ]
}

labels() {
    refused "has no label of an array" /scarp/array-ublk $small &&
        refused "--frobnicate: allowed: --keys" /scarp/array-ublk --frobnicate $small &&
        format "" $small && refused "belongs to an array" /scarp/array-format $small &&
        refused "slot: no such key" /scarp/array-ublk --keys=slot=1 $small &&
        refused "--drive-threads=2: allowed:" /scarp/array-ublk --drive-threads=2 $small
}

heads() { # DRIVES…: of the labels, and of the first data
    for drive in "$@"; do
        dd if=$drive bs=64k count=32 iflag=direct 2>/dev/null | md5sum
    done
}

# Each in one line that names what is wrong, and not a byte is written: neither a label nor data.
bad_sets() {
    set -- $small
    free=${large#* } # drives without a label
    before=$(heads $small $large)
    mkfs.ext4 -q -F ${large%% *} && mount -t ext4 ${large%% *} /mnt || return 1
    mounted=$(heads ${large%% *})
    refused "0 drives: must be from 1 to" /scarp/array-format &&
        refused "0 drives: must be from 1 to" /scarp/array-ublk &&
        refused "they must be equal" /scarp/array-format --force $1 ${free%% *} &&
        refused "stripe_bytes=12288: must divide" \
            /scarp/array-format --force --keys=stripe_bytes=12288 $free &&
        refused "is in use" /scarp/array-format --force ${large%% *} $free &&
        refused "is in use" /scarp/array-format --force $1 $1 &&
        refused "2 drives given, but the array has 3" /scarp/array-ublk $1 $2 &&
        refused "has no label of an array" /scarp/array-ublk $1 $2 ${free%% *} &&
        [ "$(heads ${large%% *})" = "$mounted" ] && umount /mnt || return 1
    # One that belongs to another array, which is in use, and then is not.
    format "" $free && start $free || return 1
    others=$(heads $free)
    refused "is in use" /scarp/array-format --force $free &&
        refused "is in use" /scarp/array-ublk $1 $2 ${free%% *} && stop &&
        refused "belongs to another array" /scarp/array-ublk $1 $2 ${free%% *} &&
        [ "$(heads $free)" = "$others" ] && [ "$(heads $small)" = "$(echo "$before" | head -n 3)" ]
}

begins_and_ends() {
    start $small || return 1
    all=0
    for drive in $small; do
        all=$((all + $(bytes_of $drive) - 1048576))
    done
    [ "$(bytes_of $device)" = $all ] && refused "is in use" /scarp/array-ublk $small &&
        [ "$(cat /sys/block/${device#/dev/}/queue/write_cache)" = "write back" ] && stop
}

# Each overwrite has a seed of its own: data of an earlier one are wrong, as fio's headers say.
in_collections() { # KEYS SEEDS…
    start --keys=cache_bytes=3145728"$1" $small || return 1
    shift
    for seed in "$@"; do
        before=$(stat_of gc_runs $SCARP_CTRL1)
        verify --randseed=$seed --fsync=2000 || return 1
    done
    stop && [ "$(stat_of gc_runs $SCARP_CTRL1)" -gt "$before" ]
}

# The guest has one processor, so that all else here is without them.
a_thread_for_each_drive() {
    start --drive-threads=1 --keys=cache_bytes=3145728 $small || return 1
    threads=$(ls /proc/$server/task | wc -l)
    verify --randseed=4 --fsync=2000 && stop && [ "$threads" -ge 4 ]
}

of_all_sizes() {
    start --keys=cache_bytes=3145728 $small || return 1
    verify --bsrange=512-128k --bs_unaligned=0 --fsync=100 && stop
}

# With the cache in a file, all that was acknowledged is there, flushed or not; and who writes while
# the server is killed, again and again, only waits.
killed_under_load() { # TIMES SIZE
    keep="--keys=cache_bytes=3145728 --keep=/dev/array-keep"
    start $keep $small || return 1
    verify --randseed=3 --size=$2 >/tmp/verified 2>&1 &
    load=$!
    for round in $(seq $1); do
        usleep $((round * 30011))
        kill -0 $load && killed && start --recover=${device#/dev/ublkb} $keep $small || return 1
    done
    if ! wait $load; then
        cat /tmp/verified
        return 1
    fi
    stop && [ ! -e /dev/array-keep ]
}

# A mounted file system goes on.
killed_under_a_file_system() {
    keep=--keep=/dev/array-keep
    start $keep $large && mkfs.ext4 -q -F $device && mount -t ext4 $device /mnt || return 1
    for i in 1 2 3; do
        mkdir -p /mnt/d$i && dd if=/dev/urandom of=/mnt/d$i/file bs=64k count=$((i * 20)) || return 1
        [ $i = 3 ] || sync
        killed && refused "/dev/other: is not there" \
            /scarp/array-ublk --recover=${device#/dev/ublkb} --keep=/dev/other $large &&
            start --recover=${device#/dev/ublkb} $keep $large || return 1
    done
    (cd /mnt && find . -type f -exec sha256sum {} \; >/tmp/sums) && umount /mnt && stop &&
        start $large && fsck.ext4 -f -n $device && mount -t ext4 $device /mnt &&
        (cd /mnt && sha256sum -c /tmp/sums) && umount /mnt && stop
}

# What a flush covered is there for the next server, though this one is killed.
killed_after_a_flush() {
    start $small || return 1
    verify --do_verify=0 --randseed=9 --size=16m --end_fsync=1 && killed &&
        start --recover=${device#/dev/ublkb} $small &&
        verify --verify_only=1 --randseed=9 --size=16m && stop
}

# What the core is asked, and what it decides: run.py asks a core on simulated drives the same.
recorded() {
    start --keys=cache_bytes=3145728 --record=/results/record $small && before=$(stat_of gc_runs $SCARP_CTRL1) &&
        fio --name=r --filename=$device --direct=1 --ioengine=io_uring --iodepth=32 \
            --bsrange=512-16k --bs_unaligned=0 --rw=randrw --rwmixread=30 --fsync=200 \
            --number_ios=8000 --randseed=7 &&
        blkdiscard -o 1048576 -l 4194304 $device && stop &&
        [ "$(stat_of gc_runs $SCARP_CTRL1)" -gt "$before" ] && [ -s /results/record ] &&
        refused "--record: excludes --keep" /scarp/array-ublk --record=/tmp/r --keep=/dev/k $small
}

# Another array's server may not go on with a mounted device.
recovered_by_another() {
    format "" $large && start $small || return 1
    number=${device#/dev/ublkb}
    verify --do_verify=0 --randseed=11 --size=4m --end_fsync=1 && killed &&
        refused "the ublk device is not this array's" /scarp/array-ublk --recover=$number $large &&
        start --recover=$number $small && verify --verify_only=1 --randseed=11 --size=4m && stop
}

# A device whose server was killed can go, too; and one with a server stays.
removed() {
    start $small || return 1
    number=${device#/dev/ublkb}
    refused "has a server" /scarp/array-ublk --remove=$number && [ -b "$device" ] && killed &&
        /scarp/array-ublk --remove=$number && ! ls /dev/ublkb$number /dev/ublkc$number 2>/dev/null
}

# Wherever a start fails (here for want of file descriptors), it leaves no device behind.
failed_starts() {
    failed=0
    for n in 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
        rm -f /tmp/ready
        (ulimit -n $n && exec /scarp/array-ublk $small) >/tmp/ready 2>/tmp/errors &
        server=$!
        while [ ! -s /tmp/ready ] && kill -0 $server 2>/dev/null; do
            usleep 10000
        done
        if [ -s /tmp/ready ]; then
            read -r device </tmp/ready
            stop && [ $failed -ge 4 ]
            return
        fi
        failed=$((failed + 1))
        wait $server && return 1
        for i in 1 2 3 4 5 6 7 8 9 10; do
            ls /dev/ublkc* >/dev/null 2>&1 && usleep 100000
        done
        if ls /dev/ublkc* || [ ! -s /tmp/errors ]; then
            echo "with $n descriptors: a device, or no error"
            return 1
        fi
    done
    return 1
}

no_device() { # a moment after it was removed
    for i in 1 2 3 4 5 6 7 8 9 10; do
        ls /dev/ublk[bc]* >/dev/null 2>&1 || return 0
        usleep 100000
    done
    ls /dev/ublk[bc]*
    return 1
}

# Killed when the device is added and not started: with a descriptor too few it tries for 5 s there.
killed_before_it_served() {
    for n in 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        rm -f /tmp/ready
        (ulimit -n $n && exec /scarp/array-ublk $small) >/tmp/ready 2>/tmp/errors &
        server=$!
        until ls /dev/ublkc* >/dev/null 2>&1 || ! kill -0 $server 2>/dev/null; do
            usleep 10000
        done
        usleep 300000
        if [ -s /tmp/ready ]; then
            echo "with $n descriptors it serves, and was never between"
            return 1
        fi
        if ls /dev/ublkc* >/dev/null 2>&1; then
            number=$(ls /dev/ublkc* | sed 's/[^0-9]*//')
            kill -KILL $server
            wait $server
            /scarp/array-ublk --remove=$number && no_device
            return
        fi
        wait $server && return 1
    done
    return 1
}

told_to_end() { # MICROSECONDS OPTIONS… DRIVES…: so long after it began; 143: it knew no signals yet
    after=$1
    shift
    /scarp/array-ublk "$@" >/tmp/ready 2>/tmp/errors &
    server=$!
    usleep $after
    kill -TERM $server
    wait $server
    status=$?
    [ $status = 0 ] || [ $status = 143 ] || { cat /tmp/errors && return 1; }
}

# Whenever it is told to end, also while it starts or recovers (0.4 s), it leaves no device behind.
# Six moments: each costs the host seven seconds of its processor.
ended_at_any_moment() {
    for n in 1 2 3 4 5 6; do
        told_to_end $((n * 74011)) $small && ! ls /dev/ublk[bc]* 2>/dev/null || return 1
        start $small && killed || return 1
        told_to_end $((n * 74011)) --recover=${device#/dev/ublkb} $small || return 1
        # What it could not even begin to recover waits for the next one.
        [ $status = 0 ] || /scarp/array-ublk --remove=${device#/dev/ublkb} || return 1
        ! ls /dev/ublk[bc]* 2>/dev/null || return 1
    done
}

# A terminal that goes away is no reason to lose what was not flushed; nohup is one to go on.
ended_by_hangup() {
    start $small || return 1
    dd if=/dev/urandom of=/tmp/random bs=64k count=4 && dd if=/tmp/random of=$device bs=64k oflag=direct || return 1
    kill -HUP $server && wait $server && [ ! -e "$device" ] && start $small &&
        dd if=$device of=/tmp/back bs=64k count=4 && cmp /tmp/random /tmp/back && stop || return 1
    trap "" HUP # as nohup does
    start $small
    started=$?
    trap - HUP
    [ $started = 0 ] && kill -HUP $server && usleep 300000 && kill -0 $server && stop
}

# Memory pressure makes the kernel write through the server: it may wait for no memory itself.
never_waits_for_memory() {
    start $small || return 1
    locked=$(sed -n 's/^VmLck:[^0-9]*\([0-9]*\) kB$/\1/p' /proc/$server/status)
    flags=$(cut -d' ' -f9 /proc/$server/stat)
    # PF_MEMALLOC_NOIO, and all of the cache is locked.
    stop && [ "$locked" -gt 4000 ] && [ $((flags / 524288 % 2)) = 1 ]
}

# What was written is on the drives, so the device goes as it does after any other server.
not_recorded() {
    start --record=/dev/full $small && dd if=/dev/urandom of=/tmp/random bs=64k count=4 &&
        dd if=/tmp/random of=$device bs=64k && ! stop && [ ! -e "$device" ] &&
        grep -q "the record is not whole: No space left" /tmp/errors &&
        ! grep -q "not all that was written" /tmp/errors && start --read-only $small &&
        dd if=$device of=/tmp/back bs=64k count=4 && cmp /tmp/random /tmp/back && stop
}

read_only() {
    start --read-only $small || return 1
    dd if=$device of=/dev/null bs=64k count=16 && ! dd if=/dev/zero of=$device bs=4k count=1 && stop
}

file_system() { # NAME MKFS FSCK
    start --keys=cache_bytes=8388608 $large && $2 $device && mount -t $1 $device /mnt || return 1
    for i in 1 2 3 4 5 6 7 8; do
        mkdir -p /mnt/d$i && dd if=/dev/urandom of=/mnt/d$i/file bs=4k count=$((i * 40)) || return 1
    done
    sync
    before=$(stat_of deallocated_units $SCARP_CTRL4)
    rm -r /mnt/d8 && sync && fstrim /mnt || return 1
    # xfs does not wait for the discards of fstrim.
    for i in $(seq 100); do
        [ "$(stat_of deallocated_units $SCARP_CTRL4)" = "$before" ] || break
        usleep 10000
    done
    [ "$(stat_of deallocated_units $SCARP_CTRL4)" -gt "$before" ] || return 1
    (cd /mnt && find . -type f -exec sha256sum {} \; >/tmp/sums) && umount /mnt && stop &&
        start $large && $3 $device && mount -t $1 $device /mnt &&
        (cd /mnt && sha256sum -c /tmp/sums) && umount /mnt && stop
}

# Errors, not a hang: who writes, who reads and who flushes; and the server says that not all could
# be kept.
a_drive_that_goes() {
    # A cache that pages of one drive fill: what cannot be written stays, and leaves no room.
    start --keys=cache_bytes=3145728 $small || return 1
    controller=${SCARP_CTRL1#/dev/}
    # In the middle of writes that reach the drives.
    verify --do_verify=0 --time_based --runtime=3600 --fsync=2000 >/tmp/load 2>&1 &
    load=$!
    usleep 300000
    echo 1 >/sys/class/nvme/$controller/device/remove
    ! wait $load && grep -qi "input/output error" /tmp/load &&
        ! dd if=$device of=/dev/null bs=64k count=64 iflag=direct &&
        ! dd if=/dev/zero of=$device bs=64k count=64 conv=fsync &&
        ! stop && grep -q "not all that was written" /tmp/errors && no_device
}

check "labels: refused without, and where one is" labels
format "" $small
check "bad sets of drives: one line each, nothing written" bad_sets
check "a device of all the drives' data comes and goes" begins_and_ends
check "fio verify of what overwrites leave under GC" \
    in_collections "" 1 ${SCARP_TEST_ALL:+2}
check_long "the same without the flusher, one overwrite" in_collections ,flusher=0 3
check_long "the same, a thread for each drive" a_thread_for_each_drive
check_long "fio verify, writes of 512 bytes to 128 KiB" of_all_sizes
check_long "killed after a flush, recovered: all is there" killed_after_a_flush
check "killed three times under load, the cache in a file" killed_under_load 3 32m
check_long "killed five times under load" killed_under_load 5 100%
check_long "a device that another array's server may not recover" recovered_by_another
check_long "a device without a server is removed, one with a server is not" removed
check_long "a start that fails leaves no device" failed_starts
check_long "a device that was added, and whose server was killed then, is removed" killed_before_it_served
check_long "a server that ends while it starts, or recovers" ended_at_any_moment
check_long "a server that ends by SIGHUP, unless nohup began it" ended_by_hangup
check_long "a server that never waits for memory" never_waits_for_memory
check "a server that records what its core decides" recorded
check_long "a record that could not be written: the data are there" not_recorded
check_long "read-only" read_only
format "" $large
check "ext4: mkfs, files, trim, fsck, files again" \
    file_system ext4 "mkfs.ext4 -q -F" "fsck.ext4 -f -n"
check_long "xfs: mkfs, files, trim, fsck, files again" \
    file_system xfs "mkfs.xfs -q -f" "xfs_repair -n"
check_long "killed three times under a mounted ext4" killed_under_a_file_system
check_long "a drive that is removed: errors, not a hang" a_drive_that_goes
plan
