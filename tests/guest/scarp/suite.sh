#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that need a real kernel on the drive.  SCARP_DEV is a small drive, to be overwritten
# SCARP_OVERWRITES times (10); SCARP_DEV1 has two reclaim unit handles and takes file systems.

. "$(dirname "$0")/common.sh"
needs 2 fio nvme scarp-stats mkfs.ext4 fsck.ext4 mkfs.xfs xfs_repair
overwrites=${SCARP_OVERWRITES:-10}

field() { # FILE NAME: a value of nvme-cli's plain output
    sed -n "s/^$2[[:space:]]*:[[:space:]]*//p" "$1" | head -n 1
}

identify() {
    nvme id-ctrl $SCARP_CTRL >$tmp/id && [ "$(field $tmp/id sn | tr -d ' ')" = scarp0 ] &&
        nvme id-ns $SCARP_DEV >$tmp/ns &&
        [ $(($(field $tmp/ns nsze) * 512)) = "$(bytes_of $SCARP_DEV)" ] &&
        [ "$(field $tmp/ns nsze)" = "$(field $tmp/ns ncap)" ]
}

smart() {
    nvme smart-log $SCARP_CTRL >$tmp/smart && [ "$(field $tmp/smart critical_warning)" = 0 ]
}

# The page as nvme-cli reads it, and as our own program does: nothing outstanding, no lost LPN.
statistics() {
    nvme get-log $SCARP_CTRL --log-id=0xca --log-len=64 --raw-binary >$tmp/page &&
        [ "$(dd if=$tmp/page bs=8 count=1 2>/dev/null)" = SCARPST1 ] &&
        scarp-stats $SCARP_CTRL >$tmp/stats && grep -q '^cmds_accepted ' $tmp/stats &&
        [ "$(stat_of cmds_accepted)" -gt 0 ] &&
        [ "$(stat_of cmds_accepted)" = "$(stat_of cmds_completed)" ] &&
        [ "$(stat_of oob_mismatches)" = 0 ] && ! scarp-stats $SCARP_CTRL no_such_name
}

bad_admin_command() {
    ! nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=99 &&
        ! nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=1 --cdw11=99
}

# Another seed each time: what an earlier round left behind fails the check of the header, which
# fio makes only if told to.
verify() { # ROUNDS
    for round in $(seq "$1"); do
        fio --name=verify --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=16 \
            --thread --rw=randwrite --bs=4k --randseed=$((round * 7919)) --size=100% \
            --verify=crc32c --verify_header_seed=1 --verify_fatal=1 --do_verify=1 || return 1
    done
}

verify_under_gc() { # ROUNDS
    units=$(($(bytes_of $SCARP_DEV) / 4096))
    before=$(stat_of host_written_units)
    verify "$1" && [ $(($(stat_of host_written_units) - before)) -ge $(($1 * units)) ] &&
        [ "$(stat_of gc_runs)" -gt 100 ] && [ "$(stat_of gc_moved_units)" -gt 0 ]
}

# What the rounds above rely on: data of another round is not taken for this one's.
stale_data() {
    set -- --name=verify --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=16 \
        --thread --rw=randwrite --bs=4k --size=8m --verify=crc32c --verify_header_seed=1 \
        --verify_fatal=1
    fio "$@" --randseed=1 --do_verify=0 && fio "$@" --randseed=1 --verify_only &&
        ! fio "$@" --randseed=2 --verify_only
}

mixed_verify() {
    fio --name=mixed --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=8 --thread \
        --rw=randwrite --bsrange=512-32k --bs_unaligned=0 --blockalign=512 --verify=crc32c \
        --verify_fatal=1 --do_verify=1 --io_size=$(($(bytes_of $SCARP_DEV) / 4)) --size=100% &&
        [ "$(stat_of rmw_reads)" -gt 0 ]
}

trim() {
    before=$(stat_of deallocated_units)
    dd if=/dev/urandom of=$SCARP_DEV bs=64k count=16 oflag=direct &&
        nvme dsm $SCARP_DEV --ad --slbs=0 --blocks=2048 &&
        [ $(($(stat_of deallocated_units) - before)) = 256 ] &&
        dd if=$SCARP_DEV of=$tmp/zero bs=64k count=16 iflag=direct &&
        [ "$(tr -d '\000' <$tmp/zero | wc -c)" = 0 ]
}

# Two drives under one clock: what is written to one is not seen on the other.
two_drives() {
    [ -b "$SCARP_DEV1" ] && [ "$SCARP_DEV1" != "$SCARP_DEV" ] &&
        dd if=/dev/urandom of=$tmp/a bs=64k count=8 && dd if=/dev/urandom of=$tmp/b bs=64k count=8 &&
        dd if=$tmp/a of=$SCARP_DEV bs=64k oflag=direct &&
        dd if=$tmp/b of=$SCARP_DEV1 bs=64k oflag=direct &&
        dd if=$SCARP_DEV of=$tmp/c bs=64k count=8 iflag=direct && cmp $tmp/a $tmp/c &&
        dd if=$SCARP_DEV1 of=$tmp/c bs=64k count=8 iflag=direct && cmp $tmp/b $tmp/c
}

# The second drive has two reclaim unit handles; what the drive did with them, its log says.
fdp_bytes() { # HBMW|MBMW|MBE
    nvme fdp stats $SCARP_CTRL1 --endgrp-id=1 | sed -n "s/.*($1): //p"
}

placement() {
    host=$(fdp_bytes HBMW)
    media=$(fdp_bytes MBMW)
    dd if=/dev/urandom of=$tmp/a bs=4k count=1 && sync &&
        nvme write $SCARP_DEV1 --start-block=800 --data=$tmp/a --data-size=4096 \
            --block-count=7 --dir-type=2 --dir-spec=1 &&
        dd if=$SCARP_DEV1 of=$tmp/c bs=4k skip=100 count=1 iflag=direct && cmp $tmp/a $tmp/c &&
        fio --name=placed --filename=/dev/ng${SCARP_DEV1#/dev/nvme} --ioengine=io_uring_cmd \
            --cmd_type=nvme --thread --fdp=1 --fdp_pli=1 --rw=randwrite --bs=4k --size=1m &&
        [ $(($(fdp_bytes HBMW) - host)) = $((257 * 4096)) ] &&
        [ $(($(fdp_bytes MBMW) - media)) -ge $((257 * 4096)) ] &&
        ! nvme fdp update $SCARP_DEV1 --pids=1
}

file_system() { # NAME MKFS FSCK
    try_file_system "$@" && return
    umount $tmp/mnt
    return 1
}

try_file_system() {
    dd if=/dev/zero of=$SCARP_DEV1 bs=64k count=16 oflag=direct && $2 $SCARP_DEV1 &&
        mount -t $1 $SCARP_DEV1 $tmp/mnt || return 1
    for i in 1 2 3 4 5 6 7 8; do
        mkdir -p $tmp/mnt/d$i && dd if=/dev/urandom of=$tmp/mnt/d$i/file bs=4k count=$((i * 20)) || return 1
    done
    # What never left the page cache cannot be trimmed.
    sync
    before=$(stat_of deallocated_units $SCARP_CTRL1)
    rm -r $tmp/mnt/d3 && sync && fstrim $tmp/mnt &&
        [ "$(stat_of deallocated_units $SCARP_CTRL1)" -gt "$before" ] || return 1
    (cd $tmp/mnt && find . -type f -exec sha256sum {} \; >$tmp/sums) &&
        umount $tmp/mnt && $3 $SCARP_DEV1 && mount -t $1 $SCARP_DEV1 $tmp/mnt &&
        (cd $tmp/mnt && sha256sum -c $tmp/sums) && umount $tmp/mnt
}

begin 12
check "identify" identify
check "smart log" smart
check "unknown vendor commands are refused" bad_admin_command
check "two drives keep their own data" two_drives
if nvme fdp status $SCARP_DEV1 >/dev/null 2>&1; then
    check "writes placed by nvme-cli and by fio" placement
else
    ktap_test_skip "writes placed by nvme-cli and by fio: $SCARP_DEV1 has no reclaim unit handles"
fi
check "fio verify, $overwrites overwrites of the whole drive under GC" verify_under_gc "$overwrites"
check "fio verify tells one overwrite's data from another's" stale_data
check "fio verify, writes of 512 bytes to 32 KiB" mixed_verify
check "trimmed blocks are freed and read as zeroes" trim
check "ext4: mkfs, files, trim, fsck, files again" \
    file_system ext4 "mkfs.ext4 -q -F" "fsck.ext4 -f -n"
check "xfs: mkfs, files, trim, fsck, files again" \
    file_system xfs "mkfs.xfs -q -f" "xfs_repair -n"
check "statistics: accepted = completed, by nvme-cli and by name" statistics
ktap_finished
