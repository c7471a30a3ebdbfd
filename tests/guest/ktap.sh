# SPDX-License-Identifier: GPL-2.0-or-later
# For suites that are no part of the collection in scarp/: what that shares, KTAP in /results/ktap.

KTAP_HELPERS=/scarp/kselftest/ktap_helpers.sh SCARP_PROGRESS=/dev/console
. /scarp/scarp/common.sh
exec >/results/ktap
mkdir -p "$tmp"
ktap_print_header

says() { # LINE COMMAND…: it fails and says so
    line=$1
    shift
    if "$@" >/tmp/said 2>&1; then
        return 1
    fi
    cat /tmp/said
    grep -qF -e "$line" /tmp/said
}

# One partition of 512 KiB, the first to the fourth of its table.
partition() { # DEVICE NUMBER
    {
        dd if=/dev/zero bs=$((430 + 16 * $2)) count=1 2>/dev/null
        printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\4\0\0'
        dd if=/dev/zero bs=$((64 - 16 * $2)) count=1 2>/dev/null
        printf '\125\252'
    } >/tmp/table
    dd if=/tmp/table of="$1" conv=fsync && blockdev --rereadpt "$1" && [ -b "$1p$2" ]
}

# What other tests than the guest's find, too, and what takes long.
check_long() { # as check
    [ -z "$SCARP_TEST_ALL" ] || check "$@"
}

plan() {
    ktap_set_plan $((KTAP_TESTNO - 1))
}
