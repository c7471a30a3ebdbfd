# SPDX-License-Identifier: GPL-2.0-or-later
# The collection overwrites no drive that is in use, and says which one is.  SCARP_DEV0 and
# SCARP_DEV1: of two namespaces each.

. /scarp/ktap.sh

heads() { # of every namespace
    for drive in ${SCARP_CTRL0}n1 ${SCARP_CTRL0}n2 ${SCARP_CTRL1}n1 ${SCARP_CTRL1}n2; do
        dd if=$drive bs=64k count=32 iflag=direct 2>/dev/null | md5sum
    done
}

skipped() { # WHY [NAME=VALUE…]: the whole program, and nothing is written
    why=$1
    shift
    before=$(heads)
    env "$@" SCARP_SCHEMES=pgc sh /scarp/scarp/schemes.sh >/tmp/said 2>&1
    status=$?
    cat /tmp/said
    [ $status = 4 ] && grep -q "^1\.\.0 # SKIP $why" /tmp/said && [ "$(heads)" = "$before" ]
}

refused() { # DEVICE
    skipped "$1 is in use, and would be overwritten"
}

mounted() {
    mkfs.ext4 -q -F ${SCARP_CTRL1}n2 && mount -t ext4 ${SCARP_CTRL1}n2 /mnt || return 1
    refused ${SCARP_CTRL1}n2 && umount /mnt && wiped ${SCARP_CTRL1}n2
}

swapped_to() {
    mkswap ${SCARP_CTRL0}n1 && swapon ${SCARP_CTRL0}n1 || return 1
    refused ${SCARP_CTRL0}n1 && swapoff ${SCARP_CTRL0}n1 && wiped ${SCARP_CTRL0}n1
}

partitioned() {
    partition ${SCARP_CTRL0}n2 2 && [ ! -e ${SCARP_CTRL0}n2p1 ] || return 1
    refused ${SCARP_CTRL0}n2 && wiped ${SCARP_CTRL0}n2 && [ ! -e ${SCARP_CTRL0}n2p2 ]
}

wiped() { # DEVICE
    dd if=/dev/zero of="$1" bs=64k count=1 conv=fsync && blockdev --rereadpt "$1"
}

# What a user names is looked at, as what was found is.
named() {
    skipped "no Scarp drive: SCARP_DEV0=/dev/null is no block device" SCARP_DEV0=/dev/null &&
        skipped "no Scarp drive: SCARP_CTRL0= is no character device" SCARP_CTRL0= &&
        ln -s ${SCARP_CTRL0}n1 /tmp/link && mkfs.ext4 -q -F ${SCARP_CTRL0}n1 &&
        mount -t ext4 ${SCARP_CTRL0}n1 /mnt &&
        skipped "/tmp/link is in use, and would be overwritten" SCARP_DEV0=/tmp/link &&
        umount /mnt && wiped ${SCARP_CTRL0}n1
}

# Only the numbered names are asked for.  There is one test without a scheme.
numbered() {
    env -u SCARP_CTRL -u SCARP_DEV SCARP_SCHEMES=" " sh /scarp/scarp/schemes.sh >/tmp/said 2>&1
    status=$?
    cat /tmp/said
    [ $status = 0 ] && grep -q "^1\.\.1$" /tmp/said && grep -q "^ok 1 " /tmp/said
}

check "mounted: the second namespace of the second drive" mounted
check "swapped to: the first of the first" swapped_to
check "partitioned, without a first partition" partitioned
check "drives that a user names" named
check "drives that a user names, by number alone" numbered
plan
