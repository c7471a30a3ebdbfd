# SPDX-License-Identifier: GPL-2.0-or-later
"""Closed loops on a small drive, and how long their commands wait."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402
from scarplib.device_logs.command_log import OPS, Commands  # noqa: E402

FORMAT = "csv:time=1:us,op=2,offset=3,length=4"
MS = 1_000_000  # ns

# One die of one plane; a scene says what it has otherwise.
DRIVE = """\
[geometry]
channels=1
chips_per_channel=1
dies_per_chip=1
planes_per_die=1
blocks_per_plane=64
pages_per_block=64
page_bytes=4096

[timing]
read_ns=50000
program_ns=200000
erase_ns=1000000
command_ns=200
channel_mts=400

[controller]
firmware_ns=1000
link_mbs=3200
reads_first_limit=1

[ftl]
over_provisioning_permille=300

[gc]
trigger_free_blocks=3
"""


@dataclass
class Job:
    """A closed loop.  No two of a scene have operation, length and place in common."""

    op: str  # of command_log.OPS
    depth: int  # so many of its commands wait at once
    places: list[int]  # unit after unit; more than there is time for
    at_least: int  # so many of its commands end, or the scene is not what it says
    bytes: int = 0  # of a command, if that is less than a unit
    rate: int = 0  # bytes a second; 0: all it can

    def owns(self, unit: int, log: Commands) -> list[int]:
        """Where its commands are in a log."""
        length, offsets = self.bytes or unit, {place * unit for place in self.places}
        return [
            i for i in of_op(log, self.op) if log.length[i] == length and log.offset[i] in offsets
        ]


def spread(count: int, times: int) -> Iterator[int]:
    """All numbers below a count, again and again, neighbours far from each other."""
    return (i * 919 % count for i in range(times))


def drawn(count: int, times: int, seed: int = 1) -> Iterator[int]:
    """Numbers below a count, at random."""
    draw = random.Random(seed)
    return (draw.randrange(count) for _ in range(times))


def options(keys: str) -> list[str]:
    """The replayer's words for settings like "ftl.mapping=demand", with blanks between."""
    return [word for key in keys.split() for word in ("-o", key)]


def of_op(log: Commands, op: str) -> list[int]:
    """Where commands of this operation are in a log."""
    return log.indices(OPS.index(op))


def longest_ms(log: Commands, which: Iterable[int]) -> float:
    """How long one of these commands waited, at most."""
    return max(log.complete[i] - log.submit[i] for i in which) / MS


class Case(unittest.TestCase):
    """A scene: some loops, and how long a command of any of them waits, at most.

    Times are the drive's own, and the same on every machine.  A bound is about three times what
    the longest wait was when the test was written.  Where one is kept out as long as others come,
    it waits for the whole run, which is five times the bound and more.
    """

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def replay(self, *words: str | Path, stack_kb: int = 0) -> Commands:
        """The log of a run; its stack has so many KiB, or as many as others have."""
        limit = f"ulimit -s {stack_kb} && " if stack_kb else ""
        drive, log = self.folder / "drive.ini", self.folder / "cmd.bin"
        drive.write_text(DRIVE)
        done = subprocess.run(
            ["sh", "-c", f'{limit}exec "$@"', "sh", replayer.ensure_replay(), "--quiet",
             "-d", drive, "--format", FORMAT, "--json", "/dev/null", "--cmd-log", log, *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return command_log.read_commands(log)

    def loops(self, jobs: list[Job], unit: int) -> list[str]:
        loops: list[str] = []
        for number, job in enumerate(jobs):
            trace, length = self.folder / f"{number}.csv", job.bytes or unit
            with trace.open("w") as out:
                for time, place in enumerate(job.places):
                    out.write(f"{time},{job.op},{place * unit},{length}\n")
            loops += ["--job", f"{job.depth}{f':{job.rate}' if job.rate else ''}={trace}"]
        return loops

    def check(
        self, jobs: list[Job], *, bound_ms: int, runtime_ms: int, age: int = 1000,
        scheme: str = "baseline", params: str = "", unit: int = 4096, keys: str = "",
    ) -> None:  # fmt: skip
        """Nobody waits longer than that, and all get on."""
        words = ["--age", str(age), "--runtime", str(runtime_ms * 1000), "-s", scheme]
        if params:
            words += ["-p", params]
        log = self.replay(*words, *options(keys), *self.loops(jobs, unit))
        owned = [job.owns(unit, log) for job in jobs]
        self.assertEqual(sum(map(len, owned)), len(log), "commands of one job each")
        longest = [longest_ms(log, own) for own in owned]
        self.assertLessEqual(max(longest), bound_ms, f"ms; the longest of each job: {longest}")
        for job, own in zip(jobs, owned, strict=True):
            self.assertGreaterEqual(len(own), job.at_least, "too few commands ended")
            self.assertLess(len(own), len(job.places), "the trace came to its end")
