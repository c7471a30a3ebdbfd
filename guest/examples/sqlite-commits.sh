#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long SQLite takes to commit: one client, one small transaction after the other, each durable
# when COMMIT returns (write-ahead log, synchronous=FULL).  docs/own-guest.md runs it.
#
# bash, as it reads the clock without starting a program; sqlite3 runs all the time beside it.

set -e
rows=5000
commits=${COMMITS:-600}

coproc SQLITE { sqlite3 -batch commits.db; }
ask() { # SQL: returns when it is done
    echo "$1 SELECT 'done';" >&"${SQLITE[1]}"
    while read -r answer <&"${SQLITE[0]}"; do
        [ "$answer" = "done" ] && return
    done
    echo "sqlite3 has ended" >&2
    return 1
}

ask "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER, note TEXT);
CREATE TABLE history(account INTEGER, amount INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $rows)
INSERT INTO account SELECT i, 0, hex(randomblob(100)) FROM n;
PRAGMA wal_checkpoint(TRUNCATE);"

# All until here was preparation.
scarp-start

RANDOM=1
for ((i = 0; i < commits; i++)); do
    id=$((RANDOM % rows + 1))
    begin=${EPOCHREALTIME/./}
    ask "BEGIN; UPDATE account SET balance = balance + 1 WHERE id = $id;
INSERT INTO history VALUES ($id, 1); COMMIT;"
    end=${EPOCHREALTIME/./}
    echo "commit $(((end - begin) * 1000))"
done >"$SCARP_OUT/latencies"
echo ".quit" >&"${SQLITE[1]}"
wait "$SQLITE_PID"
