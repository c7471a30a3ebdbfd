# SPDX-License-Identifier: GPL-2.0-or-later
"""Data survives garbage collection, under every scheme and mix."""

from __future__ import annotations

import random
import struct

from fixture import ALL, KIB, DriveTest
from logs import read_gc_runs
from machine import Machine
from nvme import Namespace, Op

UNIT = 4 * KIB
# The guest's suite overwrites such a drive ten times; here three begin hundreds of collections.
OVERWRITES = 10 if ALL else 3
DEPTH = 16
TWO_PLANES = ",overrides=geometry.dies_per_chip=1;geometry.planes_per_die=2"


class Shadow:
    """What the drive must contain, unit by unit."""

    def __init__(self, machine: Machine, ns: Namespace, seed: int) -> None:
        self.machine = machine
        self.ns = ns
        self.random = random.Random(seed)
        self.units = machine.stats()["logical_bytes"] // UNIT
        self.version = [0] * self.units  # 0: zeroes
        self.next_version = 1
        self.slots = [ns.buffer(128 * KIB) for _ in range(DEPTH)]
        self.written_units = 0

    def expected(self, unit: int) -> bytes:
        if not self.version[unit]:
            return bytes(UNIT)
        return struct.pack("<QQ", self.version[unit], unit) * (UNIT // 16)

    def _pick(self) -> tuple[int, int]:
        count = self.random.choice((1, 1, 1, 2, 4, 8, 32))
        return self.random.randrange(self.units - count), count

    def round(self, trim: bool) -> None:
        """One batch of commands in flight at once, on ranges that are apart."""
        taken: set[int] = set()
        cids = []
        for addr, prp in self.slots:
            first, count = self._pick()
            units = range(first, first + count)
            if taken.intersection(units):
                continue
            taken.update(units)
            if trim and self.random.random() < 0.1:
                for unit in units:
                    self.version[unit] = 0
                cids.append(self.ns.start(Op.WRITE_ZEROES, first * UNIT, count * UNIT))
                continue
            for unit in units:
                self.version[unit] = self.next_version
            self.next_version += 1
            self.machine.write(addr, b"".join(map(self.expected, units)))
            pages = [addr + page * UNIT for page in range(count)]
            if count == 2:
                prp = (addr, pages[1])
            cids.append(self.ns.start(Op.WRITE, first * UNIT, count * UNIT, prp))
            self.written_units += count
        for done in self.ns.queue.wait_coarsely(cids):
            assert done.status == 0

    def verify(self) -> None:
        addr, prp = self.slots[0]
        for first in range(0, self.units, 32):
            count = min(32, self.units - first)
            if count == 2:
                prp = (addr, addr + UNIT)
            cid = self.ns.start(Op.READ, first * UNIT, count * UNIT, prp)
            (done,) = self.ns.queue.wait_coarsely([cid])
            assert done.status == 0
            data = self.machine.read(addr, count * UNIT)
            for index in range(count):
                if data[index * UNIT : (index + 1) * UNIT] != self.expected(first + index):
                    found = struct.unpack_from("<QQ", data, index * UNIT)
                    raise AssertionError(
                        f"unit {first + index}: found version {found[0]} of unit {found[1]}, "
                        f"expected version {self.version[first + index]}"
                    )


class GarbageCollection(DriveTest):
    def run_scheme(self, scheme: str, trim: bool) -> None:
        machine, _, ns = self.drive(scheme=scheme, more=",progress={dir}/progress")
        shadow = Shadow(machine, ns, seed=1)
        while shadow.written_units < OVERWRITES * shadow.units:
            shadow.round(trim)
        shadow.verify()
        stats = machine.stats()
        self.assertGreater(stats["gc_runs"], 0)
        self.assertGreater(stats["gc_moved_units"], 0)
        self.assertGreater(stats["erases"], 0)
        self.assertGreater(stats["oob_checks"], 0)
        self.assertEqual(stats["oob_mismatches"], 0)
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        progress = struct.unpack("<3Q", (machine.dir / "progress").read_bytes())
        self.assertEqual(progress[1:], (stats["cmds_completed"], stats["gc_runs"]))
        self.finish(machine)
        runs = read_gc_runs(machine.dir / "f0.gc")
        self.assertEqual(len(runs), stats["gc_runs"])
        self.assertEqual(sum(run.moved_units for run in runs), stats["gc_moved_units"])
        self.assertTrue(all(run.begin_ns <= run.end_ns <= progress[0] for run in runs))

    def test_baseline(self) -> None:
        self.run_scheme("baseline", trim=False)

    def test_baseline_with_trim(self) -> None:
        self.run_scheme("baseline", trim=True)

    def test_ideal(self) -> None:
        self.run_scheme("ideal", trim=False)

    def test_ideal_with_trim(self) -> None:
        self.run_scheme("ideal", trim=True)

    def test_aged_drive(self) -> None:
        """An aged drive's old data is not the host's; what the host writes is."""
        machine, _, ns = self.drive(more=",age=900")
        before = machine.stats()
        self.assertEqual((before["cmds_accepted"], before["writes"]), (0, 0))
        shadow = Shadow(machine, ns, seed=2)
        while shadow.written_units < 2 * shadow.units:
            shadow.round(trim=False)
        written = [unit for unit in range(shadow.units) if shadow.version[unit]]
        for unit in written[:256]:
            self.assertEqual(ns.read(unit * UNIT, UNIT), shadow.expected(unit))
        self.assertGreater(machine.stats()["gc_runs"], 0)
        self.finish(machine)

    def test_schemes_take_turns(self) -> None:
        """Another scheme on the running drive: data holds, errors change nothing."""
        machine, _, ns = self.drive(scheme="baseline", more=TWO_PLANES)
        flash = "/machine/peripheral/f0"
        shadow = Shadow(machine, ns, seed=3)
        for scheme in ("baseline", "pgc:pgc_floor=1", "gc-par", "gftl", "paragc+pregc", "ideal"):
            machine.qmp("qom-set", path=flash, property="running-scheme", value=scheme)
            name = machine.qmp("qom-get", path=flash, property="running-scheme")
            self.assertEqual(name, scheme)
            # The drive is not aged: it is filled before the first collection.
            until = max(shadow.written_units + shadow.units, 2 * shadow.units)
            before = machine.stats()["gc_runs"]
            while shadow.written_units < until:
                shadow.round(trim=True)
            self.assertGreater(machine.stats()["gc_runs"], before, scheme)
        for bad, says in (
            ("nonsense", "unknown"),
            ("gftl+pgc", "both choices of one axis"),
            ("d-choices:d=0", "from 1 to 1024"),
            ("dynamic", "write allocation"),
        ):
            with self.assertRaisesRegex(Exception, says):
                machine.qmp("qom-set", path=flash, property="running-scheme", value=bad)
        name = machine.qmp("qom-get", path=flash, property="running-scheme")
        self.assertEqual(name, "ideal")
        shadow.verify()
        self.assertEqual(machine.stats()["oob_mismatches"], 0)
        self.finish(machine)
