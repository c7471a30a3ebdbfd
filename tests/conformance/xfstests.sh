#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# xfstests on three namespaces of the drive, one file system after the other.

. /scarp/say.sh
. /scarp/read.sh

mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ln -sf bash /bin/sh
ln -sf /proc/self/mounts /etc/mtab
hostname scarp
# No udev is here; without this word, dmsetup leaves it to udev to make its nodes.
export DM_DISABLE_UDEV=1
mkdir -p /mnt/test /mnt/scratch /usr/local/bin
# Nobody keeps a system log here; but the suite tells it the test that begins.
cat >/usr/local/bin/logger <<'END'
#!/bin/bash
. /scarp/say.sh
case $1 in
"run xfstest "*) say begin "xfstests/$FSTYP/${1##* }" ;;
esac
END
chmod +x /usr/local/bin/logger
cd /src || exit 1
controller=${SCARP_DEV%n1}
for fs in $(printf '%s\n' $SCARP_TESTS | cut -d/ -f1 | uniq); do
    tests=$(printf '%s\n' $SCARP_TESTS | sed -n "s,^$fs/,,p")
    cat >local.config <<END
export FSTYP=$fs
export TEST_DEV=${controller}n1 TEST_DIR=/mnt/test
export SCRATCH_DEV=${controller}n2 SCRATCH_MNT=/mnt/scratch
export LOGWRITES_DEV=${controller}n3
export RESULT_BASE=$SCARP_OUT/results/$fs
END
    mkfs -t "$fs" "${controller}n1" >"$SCARP_OUT/mkfs-$fs.log" 2>&1
    mkdir -p "$SCARP_OUT/results/$fs"
    ./check $tests 2>&1 | tee "$SCARP_OUT/check-$fs.log" | read_check "xfstests/$fs" $tests
    # A device of 1 GiB makes logs that no result is worth.
    find "$SCARP_OUT/results" -size +4M -delete
done
exit 0
