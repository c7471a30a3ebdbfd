#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# blktests with the drive as its device, one test after the other; their verdicts are in the files
# that its `check` leaves.

. /scarp/say.sh

mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t configfs configfs /sys/kernel/config 2>/dev/null
# zgrep is a script of sh, and busybox's would take its own gzip, which knows less.
ln -sf bash /bin/sh
# udevadm refuses to work in a chroot, and says so into the tests' output.
export SYSTEMD_IGNORE_CHROOT=1
# Its parser of kernel releases does not take Debian's "+deb13" within the numbers.
release=$(uname -r)
plain=$(echo "$release" | sed 's/+deb[0-9]*//')
mkdir -p /usr/local/bin
cat >/usr/local/bin/uname <<END
#!/bin/bash
/usr/bin/uname "\$@" | sed 's/+deb[0-9]*//'
END
chmod +x /usr/local/bin/uname
ln -sf "config-$release" "/boot/config-$plain"
# The scripts of packages do not run here, so nobody has set up PAM, nor a user with a shell.
for kind in auth account password session; do
    echo "$kind required pam_permit.so"
done | tee /etc/pam.d/su >/etc/pam.d/other
echo "tester:x:1000:1000::/tmp:/bin/bash" >>/etc/passwd
echo "tester:x:1000:" >>/etc/group
cd /src || exit 1
# Some tests have no end of their own; a test of the "quick" set ignores the limit.
cat >config <<END
TEST_DEVS=($SCARP_DEV)
TIMEOUT=$SCARP_TIMEOUT
NORMAL_USER=tester
END
for name in $SCARP_TESTS; do
    say begin "blktests/$name"
    # A test before it may have removed the drive from the bus and found it again.
    for _ in $(seq 120); do
        [ -b "$SCARP_DEV" ] && break
        sleep 1
    done
    SECONDS=0
    timeout -k 300 "$SCARP_LIMIT" ./check -o "$SCARP_OUT/results" "$name" >"$SCARP_OUT/log" 2>&1
    late=$?
    cat "$SCARP_OUT/log" >>"$SCARP_OUT/check.log"
    # 137: it was killed; by timeout only if it is late, else for want of memory or the like.
    if [ "$late" = 124 ] || { [ "$late" = 137 ] && [ "$SECONDS" -ge "$SCARP_LIMIT" ]; }; then
        say absent "blktests/$name" "ended after $SCARP_LIMIT s"
        continue
    fi
    # A test may run under several conditions, each with a folder of its own.
    files=$(ls -d "$SCARP_OUT"/results/*/"$name" 2>/dev/null)
    if [ -n "$files" ]; then
        status=$(sed -n 's/^status\t//p' $files)
    else
        # What a whole group needs is missing.
        status=$(grep -o 'not run' "$SCARP_OUT/log" | head -n 1)
    fi
    case $status in
    *fail*) say fail "blktests/$name" "$(sed -n 's/^reason\t//p' $files)" ;;
    *pass*) say pass "blktests/$name" ;;
    *"not run"*) say skip "blktests/$name" "$(sed -n '/not run/{n;s/^ *//;p;q}' "$SCARP_OUT/log")" ;;
    *) say fail "blktests/$name" "it left no result: $(tail -n 1 "$SCARP_OUT/log")" ;;
    esac
done
exit 0
