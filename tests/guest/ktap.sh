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

plan() {
    ktap_set_plan $((KTAP_TESTNO - 1))
}
