#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every scheme in turn on running drives, two namespaces each: what fio wrote and trimmed must be
# there.  SCARP_SCHEMES: their names, and there may be up to three drives.  A drive may refuse one
# of another layout class; the next drive then takes it.  With SCARP_ONCE each scheme is on one
# drive, and the next scheme is tried on the next drive first.

. "$(dirname "$0")/common.sh"
needs 1 fio nvme scarp-stats scarp-scheme
for controller in $SCARP_CTRL0 $SCARP_CTRL1 $SCARP_CTRL2; do
    [ -b "${controller}n1" ] && [ -b "${controller}n2" ] ||
        skip_all "the drives must have two namespaces each"
    unused "${controller}n1" "${controller}n2"
done
schemes=${SCARP_SCHEMES:-baseline pgc}

# The first namespace whole and most of the second, while the rest of that is trimmed and written.
verify() { # CONTROLLER
    rest=$(($(bytes_of "${1}n2") / 8))
    set -- --direct=1 --ioengine=io_uring --thread --bs=4k --randseed=$((KTAP_TESTNO * 7919)) \
        --verify_header_seed=1 --verify_fatal=1 \
        --name=first --filename="${1}n1" --rw=randrw --rwmixread=20 --iodepth=16 --verify=crc32c \
        --name=second --filename="${1}n2" --rw=randwrite --iodepth=16 --verify=crc32c \
        --offset=$rest \
        --name=trim --filename="${1}n2" --rw=randtrimwrite --iodepth=4 --size=$rest
    fio "$@"
}

# Trimmed at last, it reads as zeroes.
trimmed() { # CONTROLLER
    nvme dsm "${1}n2" --ad --slbs=0 --blocks=1024 &&
        dd if="${1}n2" of=$tmp/zero bs=64k count=8 iflag=direct &&
        [ "$(tr -d '\000' <$tmp/zero | wc -c)" = 0 ]
}

# What needs parity has made use of it.
parity() { # SCHEME CONTROLLER
    case $1 in
    ttflash*) [ "$(stat_of reconstructed_reads "$2")" -gt 0 ] &&
        [ "$(stat_of parity_page_programs "$2")" -gt 0 ] ;;
    esac
}

try_on() { # SCHEME CONTROLLER
    collected=$(stat_of gc_runs "$2")
    freed=$(stat_of deallocated_units "$2")
    verify "$2" && trimmed "$2" &&
        [ "$(stat_of gc_runs "$2")" -gt "$collected" ] &&
        [ "$(stat_of deallocated_units "$2")" -gt "$freed" ] &&
        [ "$(stat_of oob_mismatches "$2")" = 0 ] &&
        parity "$1" "$2"
}

# On every drive that takes it, at least one; which, is for who asks.
drives=$(echo $SCARP_CTRL0 $SCARP_CTRL1 $SCARP_CTRL2)
try() { # SCHEME
    taken=
    for controller in $drives; do
        scarp-scheme "$controller" "$1" || continue
        taken="$taken ${controller#/dev/}"
        [ "$(scarp-scheme "$controller")" = "$1" ] && try_on "$1" "$controller" || return 1
        [ -z "${SCARP_ONCE:-}" ] || break
    done
    [ -n "$taken" ]
}

passthru() { # SCHEME: by nvme-cli, as any host could
    printf %-64s "$1" | nvme admin-passthru $SCARP_CTRL --opcode=0xc1 --write --data-len=64 \
        --cdw10=16
}

# By our own program and by nvme-cli; with the reason of a refusal.
switch() {
    passthru gc-vic+pgc && [ "$(scarp-scheme $SCARP_CTRL)" = gc-vic+pgc ] &&
        scarp-scheme $SCARP_CTRL "d-choices:d=4,iterations=3" 2>$tmp/reason
    [ $? = 1 ] && grep -q "no parameter 'iterations'" $tmp/reason &&
        [ "$(scarp-scheme $SCARP_CTRL)" = gc-vic+pgc ] &&
        ! passthru nonsense && ! scarp-scheme $SCARP_CTRL "gftl+pgc" 2>$tmp/reason &&
        grep -q "one axis, pacing" $tmp/reason && ! scarp-scheme /dev/null pgc
}

begin $(($(echo $schemes | wc -w) + 1))
check "a scheme is switched from the guest, and refused with the reason" switch
for scheme in $schemes; do
    check "fio verify and trim under $scheme" try "$scheme"
    [ -z "${SCARP_ONCE:-}" ] || drives=$(echo ${drives#* } ${drives%% *})
    ktap_print_msg "$scheme:$taken"
done
ktap_finished
