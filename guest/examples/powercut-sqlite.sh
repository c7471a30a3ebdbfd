#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two SQLite databases get small transactions, one by a write-ahead log, one by a rollback journal.
# What has been committed is taken down.  docs/powercut.md runs it.
#
# With `--file durability`, a file of that name, the rollback journal's level is what that says.
set -e
cd "$SCARP_DIR"
level=EXTRA
[ ! -e "$SCARP_FILES/durability" ] || level=$(cat "$SCARP_FILES/durability")

transactions() { # DATABASE JOURNAL LEVEL
    echo "PRAGMA journal_mode=$2; PRAGMA synchronous=$3;
CREATE TABLE entry(n INTEGER PRIMARY KEY, note TEXT);
CREATE TABLE total(entries INTEGER); INSERT INTO total VALUES (0);"
    n=1
    while [ $n -le 60 ]; do
        echo "BEGIN; INSERT INTO entry VALUES ($n, replace(hex(zeroblob(200)), '00', $n));
UPDATE total SET entries = entries + 1; COMMIT;"
        # sqlite3 reads this line when COMMIT has returned.
        echo ".shell scarp-promise $1 $n"
        n=$((n + 1))
    done
}

scarp-start
transactions wal WAL FULL | sqlite3 -batch -bail wal.db &
transactions rollback DELETE $level | sqlite3 -batch -bail rollback.db
wait $!
