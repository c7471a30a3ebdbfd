# SPDX-License-Identifier: GPL-2.0-or-later
"""The access latency that a host wants of a read or write (CDW13) is a deadline for the drive."""

from __future__ import annotations

from fixture import KIB, DriveTest, pattern
from nvme import Op

IDLE, NORMAL, LOW = (latency << 4 for latency in (1, 2, 3))
KEYS = (
    ",overrides=controller.deadline_idle_us=70000;controller.deadline_normal_us=7000;"
    "controller.deadline_low_us=300"
)


class Access(DriveTest):
    def test_deadlines(self) -> None:
        machine, _, ns = self.drive(more=KEYS)
        for index in range(4):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        _, prp = ns.buffer(4 * KIB)
        wanted = {0: 0, IDLE: 70_000_000, NORMAL: 7_000_000, LOW: 300_000}
        # The other bits are hints of another kind: frequency, sequence, compression.
        others = (0x00, 0x0F, 0xC0, 0xCF)
        for op in (Op.READ, Op.WRITE):
            for dsm in wanted:
                for other in others:
                    ns.queue.wait(ns.start(op, 0, 4 * KIB, prp, dsm=dsm | other))
        # Here the field is something else's, or reserved.
        for op in (Op.WRITE_ZEROES, Op.VERIFY):
            ns.queue.wait(ns.start(op, 0, 4 * KIB, dsm=LOW))
        commands = self.finish(machine)
        expected = [deadline for deadline in wanted.values() for _ in others]
        found = [c.deadline_ns for c in commands if c.op in (0, 1)]
        self.assertEqual(found[: 4 + 2 * len(expected)], [0] * 4 + expected + expected)
        self.assertEqual({c.deadline_ns for c in commands[4 + 2 * len(expected) :]}, {0})

    def test_late(self) -> None:
        """A read behind others is late by its own deadline, and is counted, whatever the scheme."""
        machine, _, ns = self.drive(more=KEYS)
        ns.write(0, pattern(1, 4 * KIB))
        _, prp = ns.buffer(4 * KIB)
        reads = [ns.start(Op.READ, 0, 4 * KIB, prp) for _ in range(8)]
        reads += [ns.start(Op.READ, 0, 4 * KIB, prp, dsm=dsm) for dsm in (LOW, NORMAL, LOW)]
        for cid in reads:
            ns.queue.wait(cid)
        # Each takes a tR of 75 us on the one die; the last three are past 600 us.
        self.assertEqual(machine.stats()["missed_reads"], 2)
        self.finish(machine)

    def test_goes_first(self) -> None:
        """Under `deadline` a read that is late goes before older ones that are not."""
        keys = f"{KEYS};controller.slots=1;controller.queue=64"
        machine, _, ns = self.drive(more=keys, scheme="deadline")
        ns.write(0, pattern(1, 4 * KIB))
        _, prp = ns.buffer(4 * KIB)
        reads = [ns.start(Op.READ, 0, 4 * KIB, prp) for _ in range(12)]
        urgent = ns.start(Op.READ, 0, 4 * KIB, prp, dsm=LOW)
        for cid in (*reads, urgent):
            ns.queue.wait(cid)
        done = [c for c in self.finish(machine) if c.op == 0]
        place = next(at for at, c in enumerate(done) if c.deadline_ns)
        self.assertLess(place, 8)
