#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each mapping on a drive of its own: SCARP_MAPPINGS names them in the order of the drives.  What
# SCARP_OVERWRITES overwrites (10) left must be there, and the mapping must have done what it is
# known for.

. "$(dirname "$0")/common.sh"
count=$(echo $SCARP_MAPPINGS | wc -w)
needs $((count > 0 ? count : 1)) fio nvme scarp-stats
[ "$count" -gt 0 ] || skip_all "SCARP_MAPPINGS does not name the drives' mappings"
rounds=${SCARP_OVERWRITES:-10}
begin "$count"

# Another seed each time, as what an earlier round left behind must not pass.
verify() { # DEVICE OPTION...
    round=$((round + 1))
    device=$1
    shift
    fio --name=verify --filename="$device" --direct=1 --ioengine=io_uring --iodepth=16 --thread \
        --bs=4k --randseed=$((round * 7919)) --size=100% --eta=never --verify=crc32c \
        --verify_header_seed=1 --verify_fatal=1 --do_verify=1 "$@"
}

# The second of every five goes through the drive in order, which leaves whole logical blocks to
# switch.  The last writes the first half of each logical block alone, which leaves the rest to copy:
# eight planes with blocks of 64 KiB, so 512 KiB hold a logical block of each plane.
overwrites() { # DEVICE
    round=0
    for i in $(seq "$rounds"); do
        order=randwrite
        [ $((i % 5)) = 2 ] && order="write"
        verify "$1" --rw=$order || return 1
    done
    [ "$(stat_of host_written_units "$controller")" = $((rounds * units)) ] &&
        verify "$1" --rw=write --zonemode=strided --zonerange=512k --zonesize=256k \
            --io_size=$((units / 128 * 262144))
}

trimmed() { # DEVICE
    nvme dsm "$1" --ad --slbs=0 --blocks=1024 &&
        dd if="$1" of=$tmp/zero bs=64k count=8 iflag=direct &&
        [ "$(tr -d '\000' <$tmp/zero | wc -c)" = 0 ]
}

# Above zero, or, with a dash before its name, zero.
counted() { # CONTROLLER NAME...
    controller=$1
    shift
    for what in "$@"; do
        n=$(stat_of "${what#-}" "$controller")
        counts="$counts ${what#-}=$n"
        case $what in
        -*) [ "$n" = 0 ] ;;
        *) [ "$n" -gt 0 ] ;;
        esac || return 1
    done
}

# What shows that the data went through merges, collections or translation pages.
expected() { # MAPPING
    case $1 in
    page) echo gc_runs gc_moved_units -switch_merges -partial_merges -full_merges -map_misses ;;
    demand) echo gc_runs gc_moved_units map_misses map_evictions map_page_programs -full_merges ;;
    *) echo switch_merges partial_merges full_merges gc_moved_units -map_misses ;;
    esac
}

try() { # MAPPING NUMBER
    mapping=$1
    eval "controller=\$SCARP_CTRL$2 device=\$SCARP_DEV$2"
    units=$(($(bytes_of "$device") / 4096))
    overwrites "$device" && trimmed "$device" &&
        [ "$(stat_of deallocated_units "$controller")" = 128 ] &&
        counted "$controller" $(expected "$mapping") oob_checks -oob_mismatches
}

drive=0
for mapping in $SCARP_MAPPINGS; do
    counts=
    check "fio verify, $rounds overwrites with ftl.mapping=$mapping" try "$mapping" $drive
    ktap_print_msg "$mapping:$counts"
    drive=$((drive + 1))
done
ktap_finished
