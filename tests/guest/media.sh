# SPDX-License-Identifier: GPL-2.0-or-later
# What nvme-cli makes of the commands about the media.  SCARP_DEV: aged.

. /scarp/ktap.sh

self_test() {
    nvme device-self-test $SCARP_CTRL -n 1 -s 1 || return 1
    for _ in $(seq 200); do
        nvme self-test-log $SCARP_CTRL >/tmp/log || return 1
        if grep -q "Current operation *: 0$" /tmp/log; then
            break
        fi
        sleep 0.1
    done
    cat /tmp/log
    grep -q "Operation Result *: 0" /tmp/log && grep -q "Self Test Code *: 1$" /tmp/log
}

lba_status() {
    blkdiscard $SCARP_DEV || return 1
    dd if=/dev/urandom of=$SCARP_DEV bs=4k count=2 seek=4 oflag=direct 2>/dev/null || return 1
    nvme get-lba-status $SCARP_DEV -n 1 -s 0 -m 255 -a 2 -l 0 >/tmp/log || return 1
    cat /tmp/log
    # Blocks of 512 bytes: two units from the fourth on.
    grep -qi "NLSD.* 1$" /tmp/log && grep -q "0x0*20" /tmp/log && grep -q "0x0*10" /tmp/log
}

telemetry() {
    nvme telemetry-log $SCARP_CTRL --output-file=/tmp/telemetry || return 1
    grep -aq '"schema":' /tmp/telemetry && grep -aq "write_amplification_milli" /tmp/telemetry
}

sanitize() {
    dd if=/dev/urandom of=$SCARP_DEV bs=1M count=4 oflag=direct 2>/dev/null || return 1
    nvme sanitize $SCARP_CTRL -a start-block-erase || return 1
    # The drive refuses a read as long as it erases.
    says "Sanitize" nvme read $SCARP_DEV -s 0 -c 7 -z 4096 -d /tmp/read || return 1
    for _ in $(seq 600); do
        nvme sanitize-log $SCARP_CTRL >/tmp/log || return 1
        if ! grep -q "(SPROG) *: *[0-9]" /tmp/log || grep -q "(SPROG) *: *65535" /tmp/log; then
            break
        fi
        sleep 0.1
    done
    cat /tmp/log
    grep -q "(SSTAT) *: *0x101" /tmp/log &&
        dd if=$SCARP_DEV bs=1M count=4 iflag=direct 2>/dev/null | cmp -n 4194304 - /dev/zero
}

events() {
    nvme persistent-event-log $SCARP_CTRL -a 1 -l 4096 >/tmp/log || return 1
    nvme persistent-event-log $SCARP_CTRL -a 2 >/dev/null || return 1
    cat /tmp/log
    grep -q "Sanitize" /tmp/log && grep -q "Power-on or Reset" /tmp/log
}

check "a short self-test passes" self_test
check "the ranges that are allocated" lba_status
check "telemetry has the statistics" telemetry
check "sanitized, and meanwhile closed" sanitize
check "events of all that" events
plan
