# SPDX-License-Identifier: GPL-2.0-or-later
# What the suites about the SSD array as a block device share: a server, and how it ends.

small="$SCARP_DEV0 $SCARP_DEV1 $SCARP_DEV2"
for module in /scarp/modules/ublk_drv/*.ko; do
    insmod "$module"
done

start() { # OPTIONS… DRIVES…: a server, and $device
    rm -f /tmp/ready
    /scarp/array-ublk "$@" >/tmp/ready 2>/tmp/errors &
    server=$!
    while [ ! -s /tmp/ready ]; do
        if ! kill -0 $server 2>/dev/null; then
            cat /tmp/errors
            return 1
        fi
        usleep 10000
    done
    read -r device </tmp/ready
    [ -b "$device" ]
}

stop() { # 0 when all that was written is on the drives
    kill -TERM $server && wait $server && [ ! -e "$device" ]
}

killed() {
    kill -KILL $server
    wait $server
    [ -b "$device" ]
}

# A stripe that divides what each of them has.
format() { # KEYS DRIVES…
    keys=$1
    shift
    /scarp/array-format --force --keys=stripe_bytes=4096"$keys" "$@"
}
