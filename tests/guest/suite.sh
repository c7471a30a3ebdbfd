# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that need a real kernel on the drive.  KTAP in /results/ktap: kselftest's habits, no
# framework.  OVERWRITES says how often the whole drive is written under verification.

number=0
log=/results/ktap
: >$log

check() { # NAME COMMAND…: one test
    number=$((number + 1))
    name=$1
    shift
    if "$@" >/tmp/out 2>&1; then
        echo "ok $number $name" >>$log
    else
        echo "not ok $number $name" >>$log
        sed 's/^/# /' /tmp/out | tail -n 15 >>$log
    fi
    echo "test $number: $name"
}

field() { # FILE NAME: a value of nvme-cli's plain output
    sed -n "s/^$2[[:space:]]*:[[:space:]]*//p" "$1" | head -n 1
}

bytes=$(($(cat /sys/class/block/${SCARP_DEV#/dev/}/size) * 512))

identify() {
    nvme id-ctrl $SCARP_CTRL >/tmp/id && [ "$(field /tmp/id sn | tr -d ' ')" = scarp0 ] &&
        nvme id-ns $SCARP_DEV >/tmp/ns && [ $(($(field /tmp/ns nsze) * 512)) = "$bytes" ] &&
        [ "$(field /tmp/ns nsze)" = "$(field /tmp/ns ncap)" ]
}

smart() {
    nvme smart-log $SCARP_CTRL >/tmp/smart && [ "$(field /tmp/smart critical_warning)" = 0 ]
}

statistics() {
    nvme get-log $SCARP_CTRL --log-id=0xca --log-len=528 --raw-binary >/tmp/page &&
        [ "$(dd if=/tmp/page bs=8 count=1 2>/dev/null)" = SCARPST1 ]
}

bad_admin_command() {
    ! nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=99 &&
        ! nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=1 --cdw11=99
}

verify() {
    fio --name=verify --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=16 --thread \
        --rw=randwrite --bs=4k --randrepeat=1 --loops=$OVERWRITES --verify=crc32c --verify_fatal=1 \
        --do_verify=1 --size=100%
}

mixed_verify() {
    fio --name=mixed --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=8 --thread \
        --rw=randwrite --bsrange=512-32k --bs_unaligned=0 --blockalign=512 --verify=crc32c \
        --verify_fatal=1 --do_verify=1 --io_size=$((bytes / 4)) --size=100%
}

trim() {
    dd if=/dev/urandom of=$SCARP_DEV bs=64k count=16 oflag=direct &&
        nvme dsm $SCARP_DEV --ad --slbs=0 --blocks=2048 &&
        dd if=$SCARP_DEV of=/tmp/zero bs=64k count=16 iflag=direct &&
        [ "$(tr -d '\000' </tmp/zero | wc -c)" = 0 ]
}

file_system() { # NAME MKFS FSCK
    dd if=/dev/zero of=$SCARP_DEV bs=64k count=16 oflag=direct && $2 $SCARP_DEV &&
        mount -t $1 $SCARP_DEV /mnt || return 1
    for i in 1 2 3 4 5 6 7 8; do
        mkdir -p /mnt/d$i && dd if=/dev/urandom of=/mnt/d$i/file bs=4k count=$((i * 20)) || return 1
    done
    rm -r /mnt/d3 && (cd /mnt && find . -type f -exec sha256sum {} \; >/tmp/sums) && sync &&
        umount /mnt && $3 $SCARP_DEV && mount -t $1 $SCARP_DEV /mnt &&
        (cd /mnt && sha256sum -c /tmp/sums) && umount /mnt
}

echo "KTAP version 1" >>$log
check "identify" identify
check "smart log" smart
check "statistics page" statistics
check "unknown vendor commands are refused" bad_admin_command
check "fio verify, $OVERWRITES overwrites" verify
check "fio verify, writes of 512 bytes to 32 KiB" mixed_verify
check "trimmed blocks read as zeroes" trim
check "ext4: mkfs, files, fsck, files again" file_system ext4 "mkfs.ext4 -q -F" "fsck.ext4 -f -n"
if [ $bytes -ge $((300 << 20)) ]; then
    check "xfs: mkfs, files, fsck, files again" file_system xfs "mkfs.xfs -q -f" "xfs_repair -n"
else
    number=$((number + 1))
    echo "ok $number xfs # SKIP the drive is smaller than xfs allows" >>$log
fi
echo "1..$number" >>$log
