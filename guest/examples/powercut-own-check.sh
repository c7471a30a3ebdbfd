#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The file has the number that was promised last, or the one after it.  A line of the promises is:
# nanoseconds, value, number.
promised=$(awk 'END { print $3 + 0 }' "$SCARP_PROMISES")
found=$(cat value 2>/dev/null || echo 0)
[ "$found" = "$promised" ] || [ "$found" = "$((promised + 1))" ] || {
    echo "lost: the file has '$found', and $promised was promised"
    exit 1
}
