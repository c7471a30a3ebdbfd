# SPDX-License-Identifier: GPL-2.0-or-later
"""No command waits for as long as others come: closed loops that once kept one of them out."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
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
            i
            for i in log.indices(OPS.index(self.op))
            if log.length[i] == length and log.offset[i] in offsets
        ]


def spread(count: int, times: int) -> Iterator[int]:
    """All numbers below a count, again and again, neighbours far from each other."""
    return (i * 919 % count for i in range(times))


def drawn(count: int, times: int, seed: int = 1) -> Iterator[int]:
    """Numbers below a count, at random."""
    draw = random.Random(seed)
    return (draw.randrange(count) for _ in range(times))


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

    def replay(self, *words: str | Path) -> Commands:
        drive, log = self.folder / "drive.ini", self.folder / "cmd.bin"
        drive.write_text(DRIVE)
        done = subprocess.run(
            [replayer.ensure_replay(), "--quiet", "-d", drive, "--format", FORMAT,
             "--json", "/dev/null", "--cmd-log", log, *words],
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
        scheme: str = "baseline", unit: int = 4096, keys: str = "",
    ) -> None:  # fmt: skip
        """Nobody waits longer than that, and all get on."""
        words = ["--age", str(age), "--runtime", str(runtime_ms * 1000), "-s", scheme]
        for key in keys.split():
            words += ["-o", key]
        log = self.replay(*words, *self.loops(jobs, unit))
        owned = [job.owns(unit, log) for job in jobs]
        self.assertEqual(sum(map(len, owned)), len(log), "commands of one job each")
        longest = [max(log.complete[i] - log.submit[i] for i in own) / MS for own in owned]
        self.assertLessEqual(max(longest), bound_ms, f"ms; the longest of each job: {longest}")
        for job, own in zip(jobs, owned, strict=True):
            self.assertGreaterEqual(len(own), job.at_least, "too few commands ended")
            self.assertLess(len(own), len(job.places), "the trace came to its end")


class MovingTarget(Case):
    """One unit is rewritten all the while, and a command has to read what it holds.

    Whenever that read's turn comes, the unit has moved to another page, and the read is put at the
    end of the queue there.  While it waits behind the reads of others, the unit moves again.
    """

    def test_write_of_a_part(self) -> None:
        """The rest of the unit has to be read; of reads eight go before a program."""
        part = Job("write", 1, [0] * 2000, 10, bytes=512, rate=50_000)
        whole = Job("write", 1, [0] * 2000, 200, rate=1_024_000)
        others = Job("read", 128, [1 + i % 500 for i in range(40000)], 8000)
        self.check(
            [part, whole, others], bound_ms=190, runtime_ms=1000, age=900,
            keys="controller.reads_first_limit=8",
        )  # fmt: skip

    def test_read(self) -> None:
        """Reads and programs take turns, and the drive collects nothing."""
        read = Job("read", 1, [0] * 40000, 100)
        whole = Job("write", 1, [0] * 4000, 200)
        others = Job("read", 4, [1 + i % 500 for i in range(10000)], 500)
        self.check([read, whole, others], bound_ms=10, runtime_ms=300, age=900, scheme="ideal")


class Pads(Case):
    """A page waits for the other one of its word line, which no write comes to fill.

    A pad, a program without data, is to end the wait, but the die always has something else to do.
    """

    KEYS = "nand.cell_bits=2 nand.power_cuts=1 ftl.recovery=1 ftl.paired_pages=pad "

    def test_behind_reads(self) -> None:
        """One writes, a command at a time, and four read: every read goes before the pad."""
        writer = Job("write", 1, list(spread(2000, 4000)), 250)
        readers = Job("read", 4, [1 + i % 500 for i in range(40000)], 700)
        self.check([writer, readers], bound_ms=100, runtime_ms=1000, age=900, keys=self.KEYS)

    def test_behind_programs(self) -> None:
        """One writes to one plane of a die, three to the other: their programs go before it."""
        one = Job("write", 1, [2 * place for place in spread(1000, 2000)], 25)
        three = Job("write", 3, [2 * place + 1 for place in spread(1000, 10000)], 800)
        keys = self.KEYS + "geometry.planes_per_die=2"
        self.check([one, three], bound_ms=150, runtime_ms=1000, age=900, keys=keys)


class Collections(Case):
    """A write waits for a block, and the collection that makes one free never gets on."""

    def test_copies_to_another_die(self) -> None:
        """One die is written to, the other is read, and `global` sends copies there.

        Every read goes before the programs of these copies: where no program of the host's waits,
        the limit to that did not count.
        """
        writers = Job("write", 4, [2 * place for place in spread(1000, 10000)], 800)
        readers = Job("read", 16, [2 * place + 1 for place in spread(1000, 40000)], 3000)
        self.check(
            [writers, readers], bound_ms=50, runtime_ms=800, scheme="pgc+global",
            keys="geometry.dies_per_chip=2",
        )  # fmt: skip

    def test_die_that_takes_in_all(self) -> None:
        """Seven dies are written to by many, and what they collect goes to the eighth.

        To have room for it that one collects, too, and as soon as it has room, more comes.  So it
        never has time for one who writes to it, and four who read.
        """
        dies, places, times = 8, 3397, 80000
        elsewhere = zip(drawn(places, times), drawn(dies - 1, times, seed=2), strict=True)
        writer = Job("write", 1, [place * dies for place in drawn(places, 2000)], 70)
        readers = Job("read", 4, [place * dies for place in drawn(places, 10000)], 300)
        many = Job("write", 256, [place * dies + 1 + die for place, die in elsewhere], 10000)
        self.check(
            [writer, readers, many], bound_ms=2200, runtime_ms=15000, scheme="gc-z",
            keys="geometry.channels=8 geometry.blocks_per_plane=256 geometry.pages_per_block=16 "
            "ftl.over_provisioning_permille=200 gc.trigger_free_blocks=6 controller.slots=4096 "
            "controller.reads_first_limit=1000",
        )  # fmt: skip

    def merges(self, mapping: str, bound_ms: int) -> None:
        """32 write to one plane of a die, 2 to the other, which has to merge.

        With `pgc` every command of the host's in that die goes before the merge, even if another
        one waits for nothing but the merge.
        """
        many = Job("write", 32, [2 * place for place in drawn(1475, 20000)], 700)
        two = Job("write", 2, [2 * place + 1 for place in drawn(1475, 4000, seed=2)], 50)
        self.check(
            [two, many], bound_ms=bound_ms, runtime_ms=20000, scheme="pgc",
            keys=f"ftl.mapping={mapping} ftl.allocation=pwdc geometry.planes_per_die=2 "
            "geometry.pages_per_block=32 gc.trigger_free_blocks=8 controller.slots=4096 "
            "controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_merges_of_block(self) -> None:
        self.merges("block", bound_ms=1100)

    def test_merges_of_fast(self) -> None:
        self.merges("fast", bound_ms=2300)

    def test_merges_of_superblock(self) -> None:
        self.merges("superblock", bound_ms=2100)


class FullPlanes(Case):
    """Planes with so many valid units that no collection is worth it: writes go to others."""

    def test_behind_reads(self) -> None:
        """Writes of many units to a full drive, and then 400,000 reads, 96 commands at a time.

        Where no program has a page, reads went on before anybody asked if it can go elsewhere.
        """
        draw, units, unit = random.Random(9), 300, 512
        trace = self.folder / "writes-then-reads.csv"
        with trace.open("w") as out:
            for time in range(2000):
                n = draw.choice([1, 1, 2, 4, 8, 16, 32])
                out.write(f"{time},write,{draw.randrange(units - n) * unit},{n * unit}\n")
            for _ in range(400_000):
                out.write(f"2000,read,{draw.randrange(units) * unit},{unit}\n")
        keys = (
            "geometry.channels=2 geometry.planes_per_die=4 geometry.blocks_per_plane=31 "
            "geometry.pages_per_block=3 geometry.page_bytes=512 timing.read_ns=75000 "
            "timing.program_ns=750000 timing.erase_ns=3800000 controller.firmware_ns=5000 "
            "controller.reads_first_limit=10 controller.slots=1024 ftl.allocation=dynamic "
            "ftl.over_provisioning_permille=135 gc.trigger_free_blocks=1 "
            "gc.separate_active_block=0"
        )
        words = [word for key in keys.split() for word in ("-o", key)]
        log = self.replay("--age", "1000", "-m", "closed", "-q", "96", *words, trace)
        writes = log.indices(OPS.index("write"))
        self.assertEqual((len(writes), len(log)), (2000, 402_000))
        # Without a read it is 4 s: all writes come at once to a drive that is full.
        self.assertLessEqual(max(log.complete[i] - log.submit[i] for i in writes) / MS, 6000)


class MapInFlash(Case):
    """Of the map a part is in memory, and others take whatever of it gets free."""

    def test_entry_of_the_cache(self) -> None:
        """As many units as the cache has entries are written again and again.

        Each entry is in use again before it could be given to one who reads what has none.
        """
        apart, entries = 1024, 16
        hot = Job("write", 16, [i % entries * apart for i in range(10000)], 800)
        cold = Job("read", 1, [entries * apart + place for place in spread(4000, 1000)], 12)
        self.check(
            [cold, hot], bound_ms=150, runtime_ms=1500, age=900,
            keys=f"ftl.mapping=demand ftl.map_cache_bytes={entries * 8} "
            "geometry.blocks_per_plane=512 controller.reads_first_limit=1000",
        )  # fmt: skip

    def test_room_for_updates(self) -> None:
        """Fifteen dies are written to by sixteen each, the last one by one.

        A collection begins when what it will change of the map has room in memory.  The last die's
        needs more than the others leave, and theirs begin one after the other.
        """
        dies = 16
        jobs = [
            Job(
                "write",
                16 if die < dies - 1 else 1,
                [place * dies + die for place in drawn(3425, 16000, seed=die)],
                900,
            )
            for die in reversed(range(dies))
        ]
        self.check(
            jobs, bound_ms=1800, runtime_ms=20000, unit=512,
            keys="ftl.mapping=demand ftl.map_cache_bytes=8192 ftl.over_provisioning_permille=100 "
            "geometry.channels=16 geometry.blocks_per_plane=128 geometry.pages_per_block=32 "
            "geometry.page_bytes=512 timing.erase_ns=100000 gc.trigger_free_blocks=6 "
            "controller.slots=8192 controller.reads_first_limit=1000",
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
