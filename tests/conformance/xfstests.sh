#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# xfstests on three namespaces of the drive, one file system after the other.

. /scarp/say.sh
. /scarp/read.sh

mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ln -sf bash /bin/sh
ln -sf /proc/self/mounts /etc/mtab
hostname scarp
# What was built for an older Debian looks for the name that it had there.
ln -s libaio.so.1t64 /usr/lib/x86_64-linux-gnu/libaio.so.1
# No udev is here; without this word, dmsetup leaves it to udev to make its nodes.  What udev makes
# of them besides, dmsetup.sh does.
export DM_DISABLE_UDEV=1
export SCARP_LATE=$SCARP_OUT/late
export SCARP_RUNNING=/tmp/running
mkdir -p /mnt/test /mnt/scratch /usr/local/bin "$SCARP_LATE"
# Nobody keeps a system log here; but the suite tells it the test that begins.
cat >/usr/local/bin/logger <<'END'
#!/bin/bash
. /scarp/say.sh
case $1 in
"run xfstest "*)
    say begin "xfstests/$FSTYP/${1##* }"
    read -r now _ </proc/uptime
    echo "${now%.*} $FSTYP/${1##* }" >"$SCARP_RUNNING"
    ;;
esac
END
chmod +x /usr/local/bin/logger
install -m 755 /scarp/dmsetup.sh /usr/local/bin/dmsetup
cd /src || exit 1
controller=${SCARP_DEV%n1}

signal_test() { # SIGNAL NAME: to the test's shells, and to what they wait for
    local shells children
    shells=$(pgrep -f "/tests/$2\$") || return 1
    children=$(pgrep -P "$(echo $shells | tr ' ' ,)")
    # The shells first: without its child, one would go on with the next line.
    kill "-$1" $shells $children 2>/dev/null
    return 0
}

end_late_tests() { # for ever: a test that takes too long costs only itself
    local began name now late=
    while sleep 5; do
        read -r began name 2>/dev/null <"$SCARP_RUNNING" || continue
        read -r now _ </proc/uptime
        [ $((${now%.*} - began)) -gt "$SCARP_LIMIT" ] || continue
        if [ "$late" != "$name" ]; then
            late=$name
            mkdir -p "$SCARP_LATE/${name%/*}"
            : >"$SCARP_LATE/$name"
            signal_test TERM "${name#*/}" || rm "$SCARP_LATE/$name"
        elif [ $((${now%.*} - began)) -gt $((SCARP_LIMIT + 60)) ]; then
            # It did not even clean up.
            signal_test KILL "${name#*/}"
        fi
    done
}

run_check() { # FS TEST...
    local fs=$1
    shift
    [ $# = 0 ] && return
    ./check "$@" 2>&1 | tee -a "$SCARP_OUT/check-$fs.log" | read_check "xfstests/$fs" "$@"
}

run_log_writes() { # FS TEST...: they replay what was written and check it, once for each flush
    local MKFS_OPTIONS=$MKFS_OPTIONS TIME_FACTOR
    # Of 482's operations, an eighth: it replays from the beginning for each flush.  The suite
    # multiplies with this text.
    export TIME_FACTOR=1/8
    # The whole log is zeroed when the file system is made, and each replay writes that again.
    [ "$1" = xfs ] && MKFS_OPTIONS='-l size=16m'
    export MKFS_OPTIONS
    run_check "$@"
}

run_rounds() { # FS TEST...: of their 50 rounds the last six
    local SOAK_LOOPIDX
    # Not by TIME_FACTOR: here, the suite multiplies with its value, and an eighth is none.
    export SOAK_LOOPIDX=45
    run_check "$@"
}

end_late_tests &
watch=$!
for fs in $(printf '%s\n' $SCARP_TESTS | cut -d/ -f1 | uniq); do
    tests=$(printf '%s\n' $SCARP_TESTS | sed -n "s,^$fs/,,p")
    replays=$(printf '%s\n' $tests | grep -xE 'generic/(455|457|482)')
    # They shut a file system down again and again, and it recovers.
    rounds=
    [ "$SCARP_LONGER" != 1 ] || rounds=$(printf '%s\n' $tests | grep -xE 'generic/(388|475|753)')
    cat >local.config <<END
export FSTYP=$fs
export TEST_DEV=${controller}n1 TEST_DIR=/mnt/test
export SCRATCH_DEV=${controller}n2 SCRATCH_MNT=/mnt/scratch
export LOGWRITES_DEV=${controller}n3
export RESULT_BASE=$SCARP_OUT/results/$fs
END
    # mkfs.xfs asks for an empty drive; the file system before it is still there.
    wipefs -aq "${controller}n1"
    mkfs -t "$fs" "${controller}n1" >"$SCARP_OUT/mkfs-$fs.log" 2>&1
    mkdir -p "$SCARP_OUT/results/$fs"
    run_log_writes "$fs" $replays
    run_check "$fs" $(printf '%s\n' $tests | grep -vxF "$(printf '%s\n' . $replays $rounds)")
    run_rounds "$fs" $rounds
    # A device of 1 GiB makes logs that no result is worth.
    find "$SCARP_OUT/results" -size +4M -delete
done
kill "$watch"
exit 0
