# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut` with its guests: tests for run.py, each by the command that a user types."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Outcome = tuple[bool, str]

# What it is promised lies outside of the drive, and one of the checks never ends.
_WORK = """set -e
scarp-start
for number in 1 2 3 4 5 6 7 8; do
    echo "number $number" | dd of=$SCARP_DEV bs=4k seek=$number conv=sync,fsync 2>/dev/null
    scarp-promise number $number
done
"""
_CHECK = """#!/bin/sh
promised=$(tail -n 1 "$SCARP_PROMISES" | cut -d' ' -f3)
echo "cut $SCARP_CUT at $SCARP_CUT_NS: ${promised:-nothing} was promised"
for number in $(seq ${promised:-0}); do
    found=$(dd if=$SCARP_DEV bs=4k skip=$number count=1 2>/dev/null | head -n 1)
    [ "$found" = "number $number" ] || { echo "lost: number $number"; exit 1; }
done
[ "${promised:-0}" != 7 ] || sleep 1000
"""


def _fresh(name: str) -> Path:
    folder = ROOT / "out" / "test-guest" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _scarp(out: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts" / "scarp"), "powercut", "--out", str(out)]
    done = subprocess.run(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _notes(said: str) -> str:
    return "".join(f"# {line}\n" for line in said.splitlines()[-25:])


def _summary(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return found


def _cuts(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "cuts.jsonl").read_text().splitlines()]


def honest() -> Outcome:
    """ext4 on a drive that keeps its word: nothing is lost; a cut can be repeated."""
    folder = _fresh("power-honest")
    out, again = folder / "out", folder / "again"
    status, said = _scarp(out, "--check", "fs", "--cuts", "12", "--twice")
    if status:
        return False, _notes(said)
    found = _summary(out)
    good = found["violated"] == {"contract": [], "fs": []} and not found["refused"]
    good = good and found["cuts"] == 24 and found["checked"] == found["contents"] > 6
    good = good and len((out / "recording/files/promises").read_text().splitlines()) > 200
    # One guest has checked them all.
    console = (out / "checks/console.log").read_text()
    good = good and console.count("scarp-check: ready") == 1
    cuts = _cuts(out)
    wanted = cuts[13]
    name = f"{wanted['cut']}+{wanted['again']}" if wanted["again"] else str(wanted["cut"])
    status, more = _scarp(again, "--from", str(out / "recording"), "--cut", name)
    good = good and not status and _cuts(again) == [wanted]
    # The recording says how many cuts there are.
    words = ("--from", str(out / "recording"), "--cut", "100000000")
    status, beyond = _scarp(folder / "beyond", *words)
    good = good and status == 1 and "cut 100000000: is beyond the run, which has" in beyond
    return good, _notes(said + more + beyond)


def lying() -> Outcome:
    """Flushes that are ignored: the contract and fio --verify see it, and the story says what."""
    out = _fresh("power-lying") / "out"
    status, said = _scarp(out, "--check", "fio", "--cuts", "12", "--set", "lie.flush_ignored=1")
    good = status == 3 and "Traceback" not in said
    if not good:
        return False, _notes(said)
    found = _summary(out)
    good = len(found["violated"]["contract"]) > 2 and len(found["violated"]["fio"]) > 2
    text = (out / "stories.txt").read_text()
    good = good and "durable by flush" in text and "lost: some of these blocks" in text
    good = good and "broke NVMe's contract" in text
    return good, _notes(said)


def own_check() -> Outcome:
    """A script of the user's that never ends is stopped, has failed, and its output is kept."""
    folder = _fresh("power-own")
    work, check, out = folder / "work.sh", folder / "check.sh", folder / "out"
    work.write_text(_WORK)
    check.write_text(_CHECK)
    status, said = _scarp(
        out,
        *("--script", str(work), "--check", str(check), "--check-limit", "3", "--cuts", "14"),
    )
    found = _summary(out) if status == 3 else {}
    if not found:
        return False, _notes(said)
    good = not found["violated"]["contract"] and found["checked"] > 3
    good = good and found["stopped"] == len(found["violated"]["script"]) > 0
    kept = sorted((out / "failed").glob("*/output.txt"))
    text = kept[0].read_text() if kept else ""
    good = good and "7 was promised\n" in text and "stopped after 3 s\n" in text
    good = good and (kept[0].parent / "drive0.raw").stat().st_size > 1 << 20
    return good, _notes(said + "".join(path.read_text() for path in kept))


def refused() -> Outcome:
    """What is wrong is one line, before or after the run is recorded."""
    folder = _fresh("power-refused")
    work = folder / "work.sh"
    work.write_text("set -e\nscarp-start\ndd if=/dev/zero of=$SCARP_DEV bs=64k count=40\n")
    words = ("--script", str(work))
    good, notes = True, ""
    for name, more, says in (
        ("power", ("--set", "nand.power_cuts=0"), "nand.power_cuts=0"),
        ("plp", ("--set", "controller.buffer_bytes=0,controller.plp_bytes=1048576"), "plp_bytes"),
        (
            "room",
            ("--set", "ftl.mapping=demand,ftl.recovery=1,ftl.checkpoint_pages=1"),
            "ftl.checkpoint_pages=1: must be 0, or at least 4, the pages of the mapping",
        ),
        ("demo", ("--device", str(ROOT / "devices" / "demo.ini")), "nand.power_cuts=0: must be 1"),
        ("much", ("--most-data", "1"), "--most-data: the workload wrote more than 1 MiB"),
    ):
        status, said = _scarp(folder / name, *words, *more)
        errors = [line for line in said.splitlines() if line.startswith("scarp: error: ")]
        good = good and status == 1 and len(errors) == 1 and says in errors[0]
        notes += said
    return good, _notes(notes)


TESTS = [
    ("power cuts under ext4: nothing is lost", honest),
    ("power cuts of a drive that ignores flushes: fio and the contract see it", lying),
    ("power cuts and a check of the user's, which never ends", own_check),
    ("power cuts that cannot be", refused),
]
