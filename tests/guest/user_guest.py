# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of the user's own: tests for run.py, each by the command that a user types."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

import user_terminal  # noqa: E402
from scarplib.guest.image import ensure_image, ensure_modules  # noqa: E402
from scarplib.guest.user_packages import MODULES  # noqa: E402

Outcome = tuple[bool, str]

_TIMES = ("queue_ns", "issue_ns", "complete_ns")

# Two MiB before the mark, one after it; bash is a package's, and so is what it is told of.
_SCRIPT = """#!/bin/bash
set -e
echo "bash ${BASH_VERSINFO[0]} in $SCARP_DIR with $(cat $SCARP_FILES/given)"
dd if=/dev/zero of=before bs=1M count=2
scarp-start
dd if=/dev/zero of=after bs=64k count=16 conv=fsync
rm before
fstrim .
if echo mem >/sys/power/state; then exit 9; fi 2>/dev/null
grep -q "would not wake" /sys/power/state
echo "write 1000" >$SCARP_OUT/latencies
uname -r >$SCARP_OUT/version
"""

_POSTGRES = """set -e
as="setpriv --reuid=postgres --regid=postgres --init-groups"
PATH=/usr/lib/postgresql/17/bin:$PATH
stat -c '%U:%G %a' /var/log/postgresql /run/postgresql /tmp /etc/shadow >$SCARP_OUT/owners
env setpriv --version >$SCARP_OUT/setpriv
id -Gn postgres >$SCARP_OUT/id
install -d -o postgres -g postgres -m 700 $SCARP_DIR/data
cd /tmp
$as initdb --no-sync --auth=trust -D $SCARP_DIR/data
$as pg_ctl -D $SCARP_DIR/data -l $SCARP_OUT/log -w -o '-c jit=off' start
$as createdb bench
$as pgbench -q -i -s 1 bench
scarp-start
$as pgbench -c 2 -t 10 bench >$SCARP_OUT/pgbench
su postgres -c 'test $(id -un) = postgres && touch /tmp/of-postgres $SCARP_OUT/of-postgres'
$as pg_ctl -D $SCARP_DIR/data -m fast -w stop
"""

_SQLITE = """set -e
install -d -o games $SCARP_DIR/data
cat >/tmp/commands <<END
CREATE TABLE t (n INTEGER);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
INSERT INTO t SELECT n FROM c;
SELECT count(*), sum(n) FROM t;
END
su -s /bin/sh games -c 'cd /tmp && sqlite3 own "CREATE TABLE x (y)" && sqlite3 own VACUUM'
scarp-start
su -s /bin/sh games -c 'sqlite3 $SCARP_DIR/data/base </tmp/commands >$SCARP_OUT/rows'
"""


def _fresh(name: str) -> Path:
    folder = ROOT / "out" / "test-guest" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _scarp(out: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts" / "scarp"), "run", "--schemes", "baseline"]
    done = subprocess.run(
        [*command, "--out", str(out), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _notes(said: str) -> str:
    return "".join(f"# {line}\n" for line in said.splitlines()[-15:])


def _recorded(left: Path, block: dict[str, Any]) -> bool:
    """Every request of the guest's has its command, on the same clock, and none is lost."""
    with (left / "requests.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    written = [row for row in rows if row["op"] == "write"]
    good = len(rows) == block["requests"] and not block["without_command"]
    good = good and not block["lost_events"] and block["calls"] > 0
    # The driver and the interrupt take some time, but less than the drive's own.
    good = good and all(0 < block[f"clock_{side}_ns"] < 20_000 for side in ("behind", "before"))
    # What the script wrote after its mark, and what fstrim discarded.
    good = good and sum(int(row["sectors"]) for row in written) * 512 >= 1 << 20
    good = good and any(row["op"] == "deallocate" for row in rows)
    for row in rows:
        took = int(row["complete_ns"]) - int(row["queue_ns"])
        causes = [name for name in row if name.endswith("_ns") and name not in _TIMES]
        good = good and sum(int(row[name]) for name in causes) == took
    return good and "fsync of dd" in (left / "blk.txt").read_text()


def everything() -> Outcome:
    """Kernel, modules, packages, file system, script, file and recording in one guest."""
    folder = _fresh("user-everything")
    (folder / "script").write_text(_SCRIPT)
    (folder / "given").write_text("a file")
    (folder / "modules").mkdir()
    for wanted in MODULES:
        for path in ensure_modules(wanted).values():
            assert isinstance(path, Path)
            shutil.copyfile(path, folder / "modules" / path.name.split("-", 1)[1])
    status, said = _scarp(
        folder / "out",
        *("--script", str(folder / "script"), "--file", str(folder / "given")),
        *("--packages", "bash", "--fs", "ext4", "--mount-options", "noatime"),
        *("--kernel", str(ensure_image().kernel), "--modules", str(folder / "modules")),
        *("--trace", "blk"),
    )
    if status:
        return False, _notes(said)
    left = folder / "out" / "baseline"
    result = json.loads((folder / "out" / "summary.json").read_text())
    found = result["schemes"]["baseline"]
    log = (left / "script.log").read_text()
    system = found["file_system"]
    good = "bash 5 in /mnt with a file\n" in log
    good = (
        good
        and (left / "files" / "version").read_text().strip()
        in result["manifest"]["guest"]["kernel_package"]
    )
    good = good and any(p.startswith("bash=") for p in result["manifest"]["settings"]["packages"])
    good = good and found["script"]["operations"]["write"]["count"] == 1
    # What was before the mark is no part of it, and what was after it is.
    good = good and 1 << 20 <= system["job_bytes"] < 3 << 19
    good = good and 1 << 20 <= found["stats"]["write_bytes"] < 2 << 20
    good = good and system["discards"] > 0 and system["discarded_bytes"] > 2 << 20
    good = good and _recorded(left, found["block"])
    return good, _notes(f"{log}\n{json.dumps([system, found['script'], found['block']])}")


# Three namespaces of blocks of 4 KiB and zones of 4 MiB, on a kernel with queues that are polled:
# zones are filled and read back, and the second time reset before; other namespaces keep zeroes.
_VIEWED = """set -e
[ $SCARP_NS1 = $SCARP_DEV ]
for drive in $SCARP_NS1 $SCARP_NS2 $SCARP_NS3; do
    cd /sys/class/block/${drive#/dev/}
    echo "$(cat queue/logical_block_size queue/zoned queue/chunk_sectors size)" | tr '\\n' ' '
done >$SCARP_OUT/seen
ls /dev | grep -c 'nvme0n[0-9]*$' >$SCARP_OUT/number
cat /proc/cmdline >$SCARP_OUT/arguments
cat /sys/module/nvme/parameters/poll_queues >$SCARP_OUT/polled
cd /tmp
zones() {
    fio --name=zones --filename=$SCARP_NS2 --zonemode=zbd --direct=1 --thread --ioengine=io_uring \\
        --iodepth=4 --bs=64k --size=16m --verify=crc32c --verify_fatal=1 --max_open_zones=2 \\
        --eta=never $*
}
# Linux 6.12 loses its way when writes to zones are polled; reads go.
zones --rw=write --loops=2 --do_verify=0
zones --rw=read --hipri=1
for drive in $SCARP_NS1 $SCARP_NS3; do
    dd if=$drive bs=1M count=16 | tr -d '\\0' | wc -c
done >$SCARP_OUT/others
"""


def viewed() -> Outcome:
    """Namespaces, their blocks and zones, and the kernel's own words, by the command's options."""
    folder = _fresh("user-viewed")
    (folder / "script").write_text(_VIEWED)
    status, said = _scarp(
        folder / "out",
        *("--script", str(folder / "script"), "--age", "0", "--namespaces", "3"),
        *("--block-bytes", "4096", "--zoned", "4M"),
        *("--smp", "2", "--kernel-args", "nvme.poll_queues=2 own=word"),
    )
    if status:
        return False, _notes(said)
    files = folder / "out" / "baseline" / "files"
    left = {path.name: path.read_text().strip() for path in files.iterdir()}
    found = json.loads((folder / "out" / "summary.json").read_text())
    stats = found["schemes"]["baseline"]["stats"]
    seen = left["seen"].split()
    good = seen[:3] == seen[4:7] == seen[8:11] == ["4096", "host-managed", "8192"]
    # Equal shares in whole zones; the last one has what is over.
    sizes = [int(seen[i]) for i in (3, 7, 11)]
    good = good and sizes[0] == sizes[1] <= sizes[2] < sizes[0] + 3 * 8192
    good = good and not any(size % 8192 for size in sizes)
    good = good and left["number"] == "3" and left["polled"] == "2"
    good = good and left["arguments"].endswith(" nvme.poll_queues=2 own=word")
    good = good and left["others"].split() == ["0", "0"]
    # A reset deallocates a zone; the four were full when they were to be written again.
    good = good and stats["write_bytes"] == 32 << 20 and stats["write_zeroes"] == 4
    good = good and stats["deallocated_units"] * 4096 == 16 << 20
    settings = found["manifest"]["settings"]
    good = good and [settings[name] for name in ("namespaces", "block_bytes", "zone_bytes")] == [
        3,
        4096,
        4 << 20,
    ]
    return good and "own=word" in settings["kernel_args"], _notes(f"{said}\n{left}\n{sizes}")


def failing() -> Outcome:
    """A script that fails: a line, the status, and what it had left."""
    folder = _fresh("user-failing")
    (folder / "script").write_text("echo kept >$SCARP_OUT/file\necho last words\nexit 3\n")
    status, said = _scarp(folder / "out", "--script", str(folder / "script"))
    kept = folder / "out" / "baseline" / "results" / "files" / "file"
    good = status == 1 and "guest 'baseline': the script ended with status 3" in said
    good = good and "last words" in said and "Traceback" not in said
    return good and kept.read_text() == "kept\n", _notes(said)


def _packages(name: str, script: str, *arguments: str) -> tuple[bool, str, Path]:
    """A script in the root of packages: whether it ended well, what was said, what it left."""
    folder = _fresh(name)
    (folder / "script").write_text(script)
    status, said = _scarp(
        folder / "out", "--script", str(folder / "script"), "--age", "0", *arguments
    )
    left = folder / "out" / "baseline"
    log = left / "script.log"
    return status == 0, said + (log.read_text() if log.is_file() else ""), left / "files"


def postgres() -> Outcome:
    """A server of a user that its package's script makes, beside programs that busybox has, too."""
    good, said, left = _packages(
        "user-postgres", _POSTGRES, "--fs", "ext4", "--packages", "postgresql,util-linux"
    )
    if not good:
        return False, _notes(said)
    bench = (left / "pgbench").read_text()
    good = "transactions actually processed: 20/20" in bench
    # Not busybox's, though another program of busybox's started it.
    good = good and "util-linux" in (left / "setpriv").read_text()
    good = good and (left / "id").read_text().split() == ["postgres", "ssl-cert"]
    wanted = ["root:postgres 1775", "postgres:postgres 2775", "root:root 1777", "root:shadow 640"]
    good = good and (left / "owners").read_text().splitlines() == wanted
    return good, _notes(f"{said}\n{bench}\n{(left / 'owners').read_text()}")


def sqlite() -> Outcome:
    """A database of an ordinary user's, in the temporary folder and on the drive."""
    good, said, left = _packages("user-sqlite", _SQLITE, "--packages", "sqlite3", "--fs", "xfs")
    if not good:
        return False, _notes(said)
    return (left / "rows").read_text() == "100|5050\n", _notes(said)


TESTS = [
    ("PostgreSQL as its own user, of Debian's packages", postgres),
    ("SQLite as an ordinary user", sqlite),
    ("the user's own kernel, packages, file system and script", everything),
    ("three namespaces of 4 KiB blocks and zones, and polled queues", viewed),
    ("a script of the user's that fails", failing),
    *user_terminal.TESTS,
]
