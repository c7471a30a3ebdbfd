#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Each database of guest/examples/powercut-sqlite.sh opens, is sound, has whole transactions alone,
# and has all that were committed.
cd "$SCARP_DIR" || exit 1
status=0
for name in wal rollback; do
    promised=$(awk -v name=$name '$2 == name { line = $3 " " $1 } END { print line }' "$SCARP_PROMISES")
    [ -n "$promised" ] || continue
    committed=${promised% *}
    sound=$(sqlite3 -batch $name.db "PRAGMA integrity_check" 2>&1)
    if [ "$sound" != ok ]; then
        echo "$name.db: $sound"
        status=1
        continue
    fi
    # Each transaction adds an entry, and changes the one total.
    found=$(sqlite3 -batch -separator ' ' $name.db "SELECT count(*), ifnull(max(n), 0),
        (SELECT entries FROM total), ifnull(sum(note != replace(hex(zeroblob(200)), '00', n)), 0)
        FROM entry" 2>&1)
    # shellcheck disable=SC2086
    set -- $found
    if [ $# != 4 ] || [ "$1" != "$2" ] || [ "$1" != "$3" ] || [ "$4" != 0 ]; then
        echo "$name.db: not whole transactions: $found"
        status=1
    elif [ "$1" -lt "$committed" ]; then
        echo "lost: $name.db: has $1 transactions, of $committed; promised at ${promised#* } ns"
        status=1
    fi
done
exit $status
