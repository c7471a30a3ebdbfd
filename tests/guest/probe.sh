# SPDX-License-Identifier: GPL-2.0-or-later
# `scarp probe` on the kernel's own block devices, as /scarp/bin/scarp-probe in the root of the
# packages (/root).  SCARP_DEV1: QEMU's own nvme.

. /scarp/ktap.sh

root=/root
probe() { # DEVICE WORD…
    device=$1
    shift
    /scarp/bin/scarp-probe $device --mib 32 --out /results/files/${device##*/}.json "$@"
}

# Each refusal is a Python of its own, and compiling what it reads was nearly half of its time here.
compiled() {
    chroot $root python3 -m compileall -q /scarp/tool/scripts
}

sum() {
    dd if=$1 bs=1M iflag=direct 2>/dev/null | md5sum
}

refused() { # DEVICE WHY [SERIAL]: in one line, and nothing is written
    before=$(sum $1)
    says "scarp: error: $1: $2" probe $1 --destroy ${3:-scarp1} &&
        [ $(wc -l </tmp/said) = 1 ] && [ "$(sum $1)" = "$before" ] &&
        [ ! -e /results/files/${1##*/}.json ]
}

wiped() { # DEVICE
    dd if=/dev/zero of=$1 bs=64k count=32 conv=fsync
}

# Data without any signature: nobody but the user knows that they are some.
data() {
    dd if=/dev/urandom bs=64k count=16 | dd of=$SCARP_DEV1 bs=64k seek=64 conv=fsync
}

unnamed() {
    data || return 1
    before=$(sum $SCARP_DEV1)
    says "its data would be lost" probe $SCARP_DEV1 && grep -q "device/serial" /tmp/said &&
        says "--destroy: 'scarp0' is not the serial number of $SCARP_DEV1" \
            probe $SCARP_DEV1 --destroy scarp0 &&
        [ "$(sum $SCARP_DEV1)" = "$before" ]
}

mounted() {
    # Read-only: the kernel would go on writing to it, and nothing would be seen of us.
    mkfs.ext4 -q -F $SCARP_DEV1 && mount -t ext4 -o ro $SCARP_DEV1 $root/mnt || return 1
    refused $SCARP_DEV1 "is mounted at /mnt" && umount $root/mnt
}

# In another root's tree of mounts: the kernel alone knows.
mounted_elsewhere() {
    mount -t ext4 -o ro $SCARP_DEV1 /mnt || return 1
    refused $SCARP_DEV1 "is in use" && umount /mnt
}

signed() {
    refused $SCARP_DEV1 "has signatures of ext4" && wiped $SCARP_DEV1
}

swapped_to() {
    mkswap $SCARP_DEV1 && swapon $SCARP_DEV1 || return 1
    refused $SCARP_DEV1 "is swap space" && swapoff $SCARP_DEV1 && wiped $SCARP_DEV1
}

partitioned() {
    partition $SCARP_DEV1 1 || return 1
    refused $SCARP_DEV1 "has partitions: ${SCARP_DEV1#/dev/}p1" &&
        refused ${SCARP_DEV1}p1 "is a partition" && wiped $SCARP_DEV1 &&
        blockdev --rereadpt $SCARP_DEV1
}

read_only() {
    blockdev --setro $SCARP_DEV1 || return 1
    refused $SCARP_DEV1 "is read-only" && blockdev --setrw $SCARP_DEV1
}

# A loop device on it: the kernel opens it as anybody may, so a second opener is let in.  At an
# offset its file system is no signature of the drive's.
looped() {
    for offset in 0 1048576; do
        losetup -o $offset /dev/loop7 $SCARP_DEV1 || return 1
        mkfs.ext4 -q -F /dev/loop7 && mount -t ext4 -o ro /dev/loop7 /mnt || return 1
        refused $SCARP_DEV1 "is in use by loop7" && umount /mnt && losetup -d /dev/loop7 &&
            wiped $SCARP_DEV1 || return 1
    done
}

whole() { # DEVICE SERIAL: all steps, and it says what it wrote
    probe $1 --destroy $2 >/tmp/said 2>&1 || { cat /tmp/said; return 1; }
    cat /tmp/said
    grep -q ": 29 steps; .* MiB written, " /tmp/said && ! grep -q "left out" /tmp/said
}

# It goes on where it was ended.
interrupted() {
    /scarp/bin/scarp-probe $SCARP_DEV1 --mib 32 --out /results/files/${SCARP_DEV1##*/}.json \
        --destroy scarp1 >/tmp/ended 2>&1 &
    until grep -q "read-single" /tmp/ended; do
        kill -0 $! || break
        sleep 0.1
    done
    kill -TERM $!
    wait $! && return 1
    cat /tmp/ended
    grep -q " MiB written" /tmp/ended && whole $SCARP_DEV1 scarp1 && grep -q "going on: " /tmp/said
}

# A file in memory behind the kernel's loop driver.
loop() {
    truncate -s 48M $root/tmp/disk.img && losetup /dev/loop6 $root/tmp/disk.img &&
        mkfs.ext4 -q -F /dev/loop6 || return 1
    refused /dev/loop6 "has signatures of ext4" disk.img && wiped /dev/loop6 &&
        says "is a probe of something else" /scarp/bin/scarp-probe /dev/loop6 --mib 32 \
            --destroy disk.img --out /results/files/${SCARP_DEV1##*/}.json &&
        whole /dev/loop6 disk.img && losetup -d /dev/loop6
}

check "what the probe is made of is compiled once" compiled
check "without its serial number, or with another's" unnamed
check "mounted" mounted
check "mounted where the probe does not see it" mounted_elsewhere
check "with a file system that is not mounted" signed
check "swapped to" swapped_to
check "partitioned, and a partition" partitioned
check "read-only" read_only
check "a file system behind a loop device on it" looped
# SCARP_MEASURED: probes that run to their end, which take minutes of processor time.
if [ "$SCARP_MEASURED" ]; then
    check "QEMU's own nvme: ended, and gone on with to the last step" interrupted
    check "a loop device: measured" loop
fi
plan
