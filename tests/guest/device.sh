# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel makes of what the drives say of themselves, and what reads that say how soon they
# are wanted get.  SCARP_DEV: aged, worn, units of 4 KiB in blocks of 512 bytes, under hios-2.
# SCARP_DEV1: programs of two pages of four units.

. /scarp/ktap.sh

limits() { # DEVICE LOGICAL PHYSICAL MINIMUM OPTIMAL DISCARD
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
        [ "$(cat $queue/optimal_io_size)" = "$5" ] &&
        [ "$(cat $queue/discard_granularity)" = "$6" ]
}

field() { # FILE NAME: a value of nvme-cli's plain output, its unit cut off
    sed -n "s/^$2[[:space:]]*:[[:space:]]*\([0-9]*\).*/\1/p" "$1" | head -n 1
}

smart() {
    nvme smart-log $SCARP_CTRL >/tmp/smart && cat /tmp/smart || return 1
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
    before=$(stat_of gc_runs)
    fio --name=writes --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=8 --thread \
        --rw=randwrite --bs=4k --size=80% --number_ios=2500 --eta=never >/tmp/fio 2>&1 &
    writes=$!
    /scarp/scarp-reads -a low -p 100 -n 2000 -q 16 $SCARP_DEV >/results/reads || return 1
    if ! wait $writes; then
        cat /tmp/fio
        return 1
    fi
    cat /results/reads
    [ "$(stat_of gc_runs)" -gt "$before" ]
}

refusals() {
    reads=/scarp/scarp-reads
    says "-p: needs -a idle, normal or low" $reads -p 100 $SCARP_DEV &&
        says "-p: needs -a idle, normal or low" $reads -a none -p 100 $SCARP_DEV &&
        says "-z 1099511627776: at most $(bytes_of $SCARP_DEV)" $reads -z 1099511627776 $SCARP_DEV &&
        says "is no NVMe namespace" $reads /dev/null &&
        ! $reads -n 1 $SCARP_DEV >/dev/full 2>/tmp/said && cat /tmp/said &&
        grep -q "the results: No space left on device" /tmp/said
}

check "block sizes of a unit larger than a sector" limits $SCARP_DEV 512 4096 4096 0 4096
check "optimal size of programs of two planes" limits $SCARP_DEV1 512 4096 4096 32768 4096
check "no metadata is announced" no_metadata
check "an aged drive shows its age, another does not" smart
check "reads with an access latency" urgent
check "what scarp-reads refuses" refusals
plan
