# SPDX-License-Identifier: GPL-2.0-or-later
# What the programs of this collection share.  They overwrite the drives that they find.

. "${KTAP_HELPERS:-$(dirname "$0")/../kselftest/ktap_helpers.sh}"

tmp=${TMPDIR:-/tmp}/scarp-$$
# Whoever waits for a slow guest sees here that it goes on.
progress=${SCARP_PROGRESS:-/dev/null}

skip_all() { # WHY…
    ktap_print_header
    ktap_skip_all "$*"
    exit "$KSFT_SKIP"
}

end() {
    umount "$tmp/mnt" 2>/dev/null
    rm -rf "$tmp"
}

# A controller is of a Scarp drive if its serial number is scarp<n>.
find_drives() {
    for controller in /sys/class/nvme/nvme*; do
        [ -e "$controller/serial" ] || continue
        read -r serial <"$controller/serial"
        number=${serial#scarp}
        number=${number%% *}
        case $serial:$number in
        scarp*:*[!0-9]* | scarp*:) continue ;;
        scarp*) ;;
        *) continue ;;
        esac
        device=/dev/${controller##*/}
        [ -b "${device}n1" ] || continue
        export "SCARP_CTRL$number=$device" "SCARP_DEV$number=${device}n1"
    done
}

in_use() { # DEVICE: by a file system, as swap, by another device or a partition
    path=$(readlink -f "$1")
    name=${path#/dev/}
    grep -q "^${path}[p[:space:]]" /proc/mounts /proc/swaps ||
        ls "/sys/class/block/$name/holders" 2>/dev/null | grep -q . ||
        ls "/sys/class/block/$name" 2>/dev/null | grep -q "^${name}p[0-9]"
}

unused() { # DEVICE…: or the whole program is skipped
    for device in "$@"; do
        in_use "$device" && skip_all "$device is in use, and would be overwritten"
    done
    return 0
}

# What must be there, or the whole program is skipped: root, programs, and drives 0 to COUNT-1.
needs() { # COUNT PROGRAM…
    last=$(($1 - 1))
    shift
    [ "$(id -u)" = 0 ] || skip_all "it must be run as root"
    [ -n "$SCARP_DEV0" ] || find_drives
    export SCARP_CTRL="$SCARP_CTRL0" SCARP_DEV="$SCARP_DEV0"
    for number in $(seq 0 $last); do
        eval "device=\$SCARP_DEV$number controller=\$SCARP_CTRL$number"
        [ -n "$device$controller" ] ||
            skip_all "no Scarp drive: no NVMe controller has the serial number scarp$number"
        [ -b "$device" ] ||
            skip_all "no Scarp drive: SCARP_DEV$number=$device is no block device"
        [ -c "$controller" ] ||
            skip_all "no Scarp drive: SCARP_CTRL$number=$controller is no character device"
        unused "$device"
    done
    for program in "$@"; do
        command -v "$program" >/dev/null || skip_all "$program is not installed"
    done
    mkdir -p "$tmp/mnt"
    trap end EXIT
}

begin() { # HOW-MANY tests there are
    ktap_print_header
    ktap_set_plan "$1"
}

check() { # NAME COMMAND…: one test
    name=$1
    shift
    echo "test $KTAP_TESTNO: $name" >"$progress"
    if "$@" >"$tmp/out" 2>&1; then
        ktap_test_pass "$name"
    else
        ktap_test_fail "$name"
        { head -n 5 "$tmp/out"; echo ...; tail -n 12 "$tmp/out"; } | sed 's/^/# /'
    fi
}

stat_of() { # NAME [CONTROLLER]: a statistic of the drive
    scarp-stats "${2:-$SCARP_CTRL}" "$1" | sed 's/.* //'
}

bytes_of() {
    echo $(($(cat "/sys/class/block/${1#/dev/}/size") * 512))
}
