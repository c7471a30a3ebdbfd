# SPDX-License-Identifier: GPL-2.0-or-later
# The power of drives fails under the kernel: it resets them and goes on, and what was promised is
# there.  SCARP_DEV: slow flash behind a write buffer that is lost.  SCARP_DEV1: energy saves the
# buffer, and deallocations change nothing.

. /scarp/ktap.sh

cut_power() { # CONTROLLER OPTION…: after --cdw11 microseconds, or now, when it never ends
    controller=$1
    shift
    nvme admin-passthru $controller --opcode=0xc0 --cdw10=3 "$@" >/tmp/cut 2>&1
}

cuts_of() { # CONTROLLER
    stat_of power_cuts $1
}

wait_live() { # CONTROLLER
    tries=0
    until [ "$(cat /sys/class/nvme/${1#/dev/}/state)" = live ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        usleep 100000
    done
}

# Its own command is what the kernel misses first, and soon.
cut_now() { # CONTROLLER
    cut_power $1 --timeout=1
    wait_live $1
}

field() { # FILE NAME: a value of nvme-cli's plain output
    sed -n "s/^$2[[:space:]]*:[[:space:]]*\([0-9a-fx]*\).*/\1/p" "$1" | head -n 1
}

seconds() {
    read -r up rest </proc/uptime
    echo ${up%.*}
}

identify() { # DEVICE VWC DLFEAT CACHE
    nvme id-ctrl $1 >/tmp/ctrl && nvme id-ns $1 >/tmp/ns || return 1
    queue=/sys/class/block/${1#/dev/}/queue
    grep -E '^(vwc|awun|awupf|oncs)' /tmp/ctrl
    grep -E '^(nawun|nawupf|nabsn|nabo|nabspf|dlfeat)' /tmp/ns
    cat $queue/write_cache $queue/fua $queue/atomic_write_unit_max_bytes
    [ "$(field /tmp/ctrl vwc)" = $2 ] && [ "$(field /tmp/ns dlfeat)" = $3 ] &&
        [ "$(cat $queue/write_cache)" = "$4" ] &&
        [ "$(field /tmp/ctrl awun) $(field /tmp/ctrl awupf)" = "0 0" ] &&
        [ "$(field /tmp/ns nawupf) $(field /tmp/ns nabspf) $(field /tmp/ns nabo)" = "7 7 0" ] &&
        [ "$(cat $queue/atomic_write_unit_max_bytes)" = 4096 ]
}

# The feature is there only where there is a cache.
cache_off() {
    nvme set-feature $SCARP_CTRL --feature-id=6 --value=0 &&
        nvme get-feature $SCARP_CTRL --feature-id=6 | tee /tmp/feature &&
        grep -qi "0x\?0*$" /tmp/feature &&
        nvme set-feature $SCARP_CTRL --feature-id=6 --value=1 &&
        ! nvme set-feature $SCARP_CTRL1 --feature-id=6 --value=0
}

# Of 64 blocks each is as before, or as it was written at last: some are lost, as the buffer is
# much faster than the flash.
lost() {
    dd if=/dev/urandom of=/tmp/old bs=4k count=64 && dd if=/dev/urandom of=/tmp/new bs=4k count=64 &&
        dd if=/tmp/old of=$SCARP_DEV bs=256k oflag=direct conv=fsync &&
        dd if=/tmp/new of=$SCARP_DEV bs=256k oflag=direct && cut_now $SCARP_CTRL &&
        dd if=$SCARP_DEV of=/tmp/found bs=256k count=1 iflag=direct || return 1
    old=0
    for block in $(seq 0 63); do
        for file in old new found; do
            dd if=/tmp/$file of=/tmp/$file.block bs=4k count=1 skip=$block 2>/dev/null
        done
        if cmp -s /tmp/found.block /tmp/old.block; then
            old=$((old + 1))
        else
            cmp /tmp/found.block /tmp/new.block || return 1
        fi
    done
    echo "$old of 64 blocks are as before"
    [ $old -gt 0 ]
}

flushed() { # DEVICE CONTROLLER DD-OPTION…
    device=$1 controller=$2
    shift 2
    dd if=/dev/urandom of=/tmp/new bs=4k count=64 &&
        dd if=/tmp/new of=$device bs=256k oflag=direct "$@" && cut_now $controller &&
        dd if=$device of=/tmp/found bs=256k count=1 iflag=direct && cmp /tmp/found /tmp/new
}

without_cache() {
    nvme set-feature $SCARP_CTRL --feature-id=6 --value=0 && flushed $SCARP_DEV $SCARP_CTRL &&
        nvme get-feature $SCARP_CTRL --feature-id=6 | tee /tmp/feature &&
        grep -qi "0x\?0*1$" /tmp/feature
}

# Writers whose data is read back and compared; runs in the background as $writer.
write_and_verify() { # DEVICE OPTION…
    device=$1
    shift
    fio --name=verify --filename=$device --direct=1 --ioengine=io_uring --iodepth=16 --thread \
        --rw=randwrite --bs=4k --size=8m --verify=crc32c --verify_fatal=1 --verify_backlog=32 \
        --eta=never "$@" >/tmp/fio 2>&1 &
    writer=$!
}

written() {
    if wait $writer; then
        grep -E "err=|WRITE|READ" /tmp/fio
    else
        cat /tmp/fio
        return 1
    fi
}

under_load() { # DEVICE CONTROLLER CUTS FIO-OPTION…
    device=$1 controller=$2 wanted=$3
    shift 3
    before=$(cuts_of $controller)
    write_and_verify $device --time_based --runtime=3 "$@"
    for turn in $(seq $wanted); do
        usleep $((turn * 7919 % 100000))
        cut_now $controller || return 1
    done
    written && [ $(($(cuts_of $controller) - before)) = $wanted ]
}

# A cut of which nothing tells the kernel: it looks when commands have not ended for 30 s.
unnoticed() {
    before=$(cuts_of $SCARP_CTRL)
    write_and_verify $SCARP_DEV --sync=dsync
    cut_power $SCARP_CTRL --cdw11=200000 || return 1
    began=$(seconds)
    written && wait_live $SCARP_CTRL &&
        [ $(($(cuts_of $SCARP_CTRL) - before)) = 1 ] && [ $(($(seconds) - began)) -ge 25 ]
}

# The second comes while the drive recovers, and the kernel has told it to start.
twice() {
    for ms in 100 150 200 250; do
        before=$(cuts_of $SCARP_CTRL)
        dd if=/dev/urandom of=/tmp/new bs=4k count=64 &&
            dd if=/tmp/new of=$SCARP_DEV bs=256k oflag=direct conv=fsync &&
            cut_power $SCARP_CTRL --cdw11=$((ms * 1000)) || return 1
        cut_power $SCARP_CTRL --timeout=60000 &
        usleep 40000
        nvme reset $SCARP_CTRL && wait $! || wait_live $SCARP_CTRL || return 1
        dd if=$SCARP_DEV of=/tmp/found bs=256k count=1 iflag=direct && cmp /tmp/found /tmp/new &&
            [ $(($(cuts_of $SCARP_CTRL) - before)) = 2 ] || return 1
    done
}

counts() { # CONTROLLER: power cycles, unsafe shutdowns
    nvme smart-log $1 >/tmp/smart && echo $(field /tmp/smart power_cycles) \
        $(field /tmp/smart unsafe_shutdowns)
}

smart() {
    cuts=$(cuts_of $SCARP_CTRL)
    [ $cuts -gt 0 ] && counts $SCARP_CTRL && [ "$(counts $SCARP_CTRL)" = "$((cuts + 1)) $cuts" ]
}

# The driver is taken from the drive, which shuts that down; then power fails.
shut_down() {
    driver=/sys/bus/pci/drivers/nvme
    address=$(basename $(readlink -f /sys/class/nvme/${SCARP_CTRL#/dev/}/device))
    dd if=/dev/urandom of=/tmp/new bs=4k count=64 &&
        dd if=/tmp/new of=$SCARP_DEV bs=256k oflag=direct || return 1
    before=$(counts $SCARP_CTRL)
    cut_power $SCARP_CTRL --cdw11=8000000 && echo $address >$driver/unbind &&
        sleep 8 && echo $address >$driver/bind && usleep 500000 && wait_live $SCARP_CTRL || return 1
    after=$(counts $SCARP_CTRL)
    echo "before: $before, after: $after"
    dd if=$SCARP_DEV of=/tmp/found bs=256k count=1 iflag=direct && cmp /tmp/found /tmp/new &&
        [ "$after" = "$((${before% *} + 1)) ${before#* }" ]
}

cuts=$([ "$SCARP_TEST_ALL" ] && echo 20 || echo 5)

# What happens at a moment that counts happens then on virtual time only.
on_time() {
    [ -n "$SCARP_REALTIME" ] || check "$@"
}

check "Identify of a drive that loses its buffer" identify $SCARP_DEV 0x7 9 "write back"
check "Identify of a drive that loses nothing" identify $SCARP_DEV1 0x6 0 "write through"
check "the write cache as a feature" cache_off
on_time "what was not flushed is lost" lost
check "what was flushed is there" flushed $SCARP_DEV $SCARP_CTRL conv=fsync
check "with the cache off all is there, and the cut sets it on" without_cache
check "with energy all is there" flushed $SCARP_DEV1 $SCARP_CTRL1
check "$cuts cuts under fio, which writes through" \
    under_load $SCARP_DEV $SCARP_CTRL $cuts --sync=dsync
check "$cuts cuts under fio, with energy" under_load $SCARP_DEV1 $SCARP_CTRL1 $cuts
on_time "a cut that the kernel notices by itself" unnoticed
on_time "cuts while the drive recovers" twice
check "cuts and unsafe shutdowns in SMART" smart
check "a shutdown in order is no unsafe one" shut_down
plan
