# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel makes of what the drives say of themselves, and what reads that say how soon they
# are wanted get.  SCARP_DEV: aged, worn, units of 4 KiB in blocks of 512 bytes, under hios-2.
# SCARP_DEV1: programs of two pages of four units.

. /scarp/ktap.sh

limits() { # DEVICE LOGICAL PHYSICAL MINIMUM OPTIMAL
    queue=/sys/class/block/${1#/dev/}/queue
    found=
    for limit in logical_block_size physical_block_size minimum_io_size optimal_io_size \
        discard_granularity; do
        found="$found $limit=$(cat $queue/$limit)"
    done
    echo "$1:$found"
    echo "$1:$found" >>/results/limits
    [ "$(cat $queue/logical_block_size)" = "$2" ] &&
        [ "$(cat $queue/physical_block_size)" = "$3" ] &&
        [ "$(cat $queue/minimum_io_size)" = "$4" ] &&
        [ "$(cat $queue/optimal_io_size)" = "$5" ]
}

field() { # FILE NAME: a value of nvme-cli's plain output, its unit cut off
    sed -n "s/^$2[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" "$1" | head -n 1
}

smart() {
    nvme smart-log $SCARP_CTRL >/tmp/smart && cat /tmp/smart || return 1
    cp /tmp/smart /results/smart
    grep -q "^critical_warning[[:space:]]*: 0x1$" /tmp/smart &&
        [ "$(field /tmp/smart available_spare_threshold)" = 10 ] &&
        [ "$(field /tmp/smart percentage_used)" -gt 50 ] &&
        [ "$(field /tmp/smart available_spare)" -lt 10 ] &&
        [ "$(field /tmp/smart media_errors)" = 0 ] &&
        [ "$(field /tmp/smart num_err_log_entries)" = 0 ] &&
        nvme smart-log $SCARP_CTRL1 >/tmp/smart &&
        [ "$(field /tmp/smart critical_warning)" = 0 ] &&
        [ "$(field /tmp/smart percentage_used)" = 0 ] &&
        [ "$(field /tmp/smart available_spare)" = 100 ]
}

no_metadata() {
    nvme id-ns $SCARP_DEV >/tmp/ns && [ "$(field /tmp/ns mc)" = 0 ] &&
        [ "$(field /tmp/ns dpc)" = 0 ] && [ "$(field /tmp/ns nlbaf)" = 1 ]
}

# Writes keep the drive collecting; a tenth of the reads are wanted soon.
urgent() {
    fio --name=writes --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=8 --thread \
        --rw=randwrite --bs=4k --size=80% --number_ios=2500 --eta=never >/tmp/fio &
    /scarp/scarp-reads -a low -p 100 -n 2000 -q 16 $SCARP_DEV >/results/reads || return 1
    wait $!
    cat /results/reads
}

check "block sizes of a unit larger than a sector" limits $SCARP_DEV 512 4096 4096 0
check "optimal size of programs of two planes" limits $SCARP_DEV1 512 4096 4096 32768
check "no metadata is announced" no_metadata
check "an aged drive shows its age, another does not" smart
check "reads with an access latency" urgent
plan
