# SPDX-License-Identifier: GPL-2.0-or-later
# What nvme-cli and the kernel make of a drive that is divided anew.  SCARP_DEV: aged.

. /scarp/ktap.sh

field() { # NAME: of Identify Controller
    nvme id-ctrl $SCARP_CTRL >/tmp/ctrl || return 1
    sed -n "s/^$1[[:space:]]*:[[:space:]]*\([0-9a-fx]*\).*/\1/p" /tmp/ctrl | head -n 1
}

until_blocks() { # COUNT: so many block devices of the drive
    for _ in $(seq 100); do
        if [ "$(ls -d /sys/class/block/${SCARP_CTRL#/dev/}n* 2>/dev/null | wc -l)" = "$1" ]; then
            return 0
        fi
        sleep 0.1
    done
    ls /sys/class/block
    return 1
}

deleted() {
    dd if=/dev/urandom of=$SCARP_DEV bs=1M count=4 oflag=direct 2>/dev/null || return 1
    total=$(field tnvmcap)
    [ "$(field unvmcap)" = 0 ] && nvme delete-ns $SCARP_CTRL -n 1 || return 1
    until_blocks 0 && [ "$(field unvmcap)" = "$total" ]
}

created() { # two: of blocks of 4 KiB, and of 512 bytes
    total=$(field tnvmcap)
    half=$((total / 2 / 4096))
    nvme create-ns $SCARP_CTRL -s $half -c $half -f 1 -m 1 || return 1
    nvme create-ns $SCARP_CTRL -s $((half * 8)) -c $((half * 8)) -f 0 || return 1
    nvme list-ns $SCARP_CTRL -a >/tmp/list || return 1
    cat /tmp/list
    grep -q "0x1$" /tmp/list && grep -q "0x2$" /tmp/list || return 1
    says "Insufficient Capacity" nvme create-ns $SCARP_CTRL -s $((half * 8)) -c $((half * 8)) -f 0
}

attached() {
    cntlid=$(($(field cntlid)))
    for nsid in 1 2; do
        nvme attach-ns $SCARP_CTRL -n $nsid -c $cntlid || return 1
    done
    until_blocks 2 || return 1
    first=/sys/class/block/${SCARP_CTRL#/dev/}n1 second=/sys/class/block/${SCARP_CTRL#/dev/}n2
    [ "$(cat $first/queue/logical_block_size)" = 4096 ] &&
        [ "$(cat $second/queue/logical_block_size)" = 512 ] &&
        [ "$(cat $first/size)" = $((half * 8)) ] && [ "$(cat $second/size)" = $((half * 8)) ]
}

used() {
    dd if=${SCARP_CTRL}n1 bs=1M count=4 iflag=direct 2>/dev/null | cmp -n 4194304 - /dev/zero ||
        return 1
    dd if=/dev/urandom of=/tmp/data bs=1M count=2 2>/dev/null
    for nsid in 1 2; do
        dd if=/tmp/data of=${SCARP_CTRL}n$nsid bs=1M oflag=direct 2>/dev/null &&
            dd if=${SCARP_CTRL}n$nsid bs=1M count=2 iflag=direct 2>/dev/null |
            cmp -n 2097152 - /tmp/data || return 1
    done
}

detached() {
    nvme detach-ns $SCARP_CTRL -n 2 -c $cntlid && until_blocks 1 &&
        nvme reset $SCARP_CTRL && sleep 1 && until_blocks 1
}

check "a namespace is deleted" deleted
check "two are created in its place" created
check "they are attached, each with its blocks" attached
check "they are empty, and keep what is written" used
check "one that is detached stays so over a reset" detached
plan
