#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How long PostgreSQL's transactions take: pgbench's usual ones, two clients, as the user postgres.
# docs/own-guest.md runs it, with --packages postgresql.

set -e
transactions=${TRANSACTIONS:-300}
# Debian's folder of the server's programs, of whatever version there is.
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
data=$SCARP_DIR/data
as() {
    su postgres -c "cd /tmp && PATH=$PATH && $*"
}

install -d -o postgres -g postgres -m 700 "$data"
as initdb --no-sync --auth=trust -D "$data"
as pg_ctl -D "$data" -l /tmp/server.log -w start
as createdb bench
as pgbench -q -i -s 1 bench

# All until here was preparation.
scarp-start

# One line for each transaction; its third word is microseconds.
as pgbench -c 2 -t "$transactions" -l --log-prefix=/tmp/transactions bench
cat /tmp/transactions.* | while read -r _ _ took _; do
    echo "transaction $((took * 1000))"
done >"$SCARP_OUT/latencies"
as pg_ctl -D "$data" -m fast -w stop
