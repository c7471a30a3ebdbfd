# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive on the host's clock is interrupted with I/O in flight, again and again.

Resets, deleted queues, aborts, stops of the machine, controllers that are unplugged: no command is
lost, none ends twice, and the data of what had ended is right.  SCARP_INTERRUPTIONS says how often
(make test-long: 1000).
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter

from fixture import KIB, DriveTest, flash, namespace, pattern
from machine import HANG_S, Machine
from nvme import Admin, Namespace, Op, Status
from test_realtime import HostController

# A write takes 20 ms, so that each time some are in flight.
SLOW = ",overrides=timing.program_ns=20000000"
DEPTH = 24
# The controller's slot, and where ACPI ejects a device: a slot is a bit.
SLOT = 4
EJECT = 0xAE08


class Interruptions(DriveTest):
    def test_again_and_again(self) -> None:
        times = int(os.environ.get("SCARP_INTERRUPTIONS", "8"))
        end = time.monotonic() + HANG_S
        machine = self.removable()
        pick = random.Random(1)
        ctrl = HostController(machine)
        ns = Namespace(ctrl.create_queue())
        slots = [ns.buffer(4 * KIB) for _ in range(DEPTH)]
        kinds = ("reset", "delete", "abort", "stop", "remove")
        # By kind: how often, and how many commands it has met in flight.
        done: Counter[str] = Counter()
        met: Counter[str] = Counter()
        for number in itertools.count():
            # A busy host may come too late for all of a turn's commands: one turn more then.
            if number >= times and all(met[kind] for kind in kinds):
                break
            if number >= times:
                self.assertLess(time.monotonic(), end, f"in flight: {met}")
            kept = number % 16
            self.assertEqual(self.write(ns, slots, kept, number), 0)
            cids = self.start(machine, ns, slots)
            kind = kinds[number % len(kinds)]
            done[kind] += 1
            if kind in ("reset", "delete", "remove"):
                old = ns.queue
                if kind == "reset":
                    ctrl.disable()
                    ctrl.enable()
                elif kind == "remove":
                    ctrl = self.plug_again(machine)
                else:
                    ctrl.check(Admin.DELETE_SQ, cdw=(old.qid,))
                    ctrl.check(Admin.DELETE_CQ, cdw=(old.qid,))
                    ctrl.queues.pop()
                # What it cut off has no end or an error, and the host sees nothing more of it.
                ended = old.posted()
                met[kind] += sum(ended.get(cid) != 0 for cid in cids)
                ns = Namespace(ctrl.create_queue())
            else:
                aborted = None
                if kind == "abort":
                    aborted = pick.choice(cids)
                    ctrl.check(Admin.ABORT, cdw=(aborted << 16 | ns.queue.qid,))
                else:
                    machine.qmp("stop")
                    stats = machine.stats()
                    met[kind] += stats["cmds_accepted"] - stats["cmds_completed"]
                    machine.qmp("cont")
                for cid in cids:
                    status = ns.queue.wait(cid).status
                    if status:
                        self.assertEqual((cid, status), (aborted, Status.ABORT_REQUESTED))
                        met[kind] += 1
                # Nothing of it is completed twice: the queue has no more to say.
                self.assertEqual(ns.queue.unclaimed(), [])
            self.assertEqual(self.read(ns, slots, kept), pattern(number, 4 * KIB))
            if kind in ("reset", "delete", "remove"):
                self.assertEqual(old.posted(), ended)
        self.finish(machine)
        for kind in kinds:
            print(f"# {kind}: {done[kind]} times, {met[kind]} commands in flight")

    def removable(self) -> Machine:
        """A drive whose controller can be unplugged; its namespace stays with the subsystem."""
        return self.machine(
            ["-machine", "pc"],
            flash(more=f",clock=realtime{SLOW}"),
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", f"nvme,id=nvme0,serial=scarp0,subsys=subsys0,addr={SLOT}"],
            namespace(),
        )

    def plug_again(self, machine: Machine) -> HostController:
        """Pull the controller out as a guest would that does not wait for its I/O; a new one."""
        machine.qmp("device_del", id="nvme0")
        machine.outl(EJECT, 1 << SLOT)
        end = time.monotonic() + HANG_S
        while "nvme0" in machine.peripherals():
            self.assertLess(time.monotonic(), end)
        machine.qmp(
            "device_add",
            driver="nvme",
            id="nvme0",
            serial="scarp0",
            subsys="subsys0",
            addr=str(SLOT),
        )
        return HostController(machine, SLOT)

    def test_end_while_the_machine_is_stopped(self) -> None:
        """Its clock stands still, and what the drive has comes to its end all the same."""
        machine = self.removable()
        ns = Namespace(HostController(machine, SLOT).create_queue())
        _, prp = ns.buffer(4 * KIB)
        machine.qmp("stop")
        for index in range(DEPTH):
            ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp, ring=False)
        ns.queue.ring()
        rows = self.finish(machine)
        self.assertEqual([row.unseen for row in rows], [True] * DEPTH)

    def test_end_without_a_controller(self) -> None:
        """What the drive had, it completes; nobody is told."""
        machine = self.removable()
        ns = Namespace(HostController(machine, SLOT).create_queue())
        _, prp = ns.buffer(4 * KIB)
        # While the clock stands still the drive has them, and ends none.
        machine.qmp("stop")
        for index in range(DEPTH):
            ns.start(Op.WRITE, (64 + index) * 4 * KIB, 4 * KIB, prp, ring=False)
        ns.queue.ring()
        machine.qmp("device_del", id="nvme0")
        machine.outl(EJECT, 1 << SLOT)
        self.assertNotIn("nvme0", machine.peripherals())
        machine.qmp("cont")
        end = time.monotonic() + HANG_S
        while machine.stats()["cmds_completed"] < DEPTH:
            self.assertLess(time.monotonic(), end)
        told = ns.queue.posted()
        rows = self.finish(machine)
        self.assertEqual([row.offset // (4 * KIB) for row in rows], [64 + n for n in range(DEPTH)])
        self.assertFalse(any(row.unseen for row in rows))
        self.assertEqual(told, {})

    def write(
        self, ns: Namespace, slots: list[tuple[int, tuple[int, int]]], unit: int, tag: int
    ) -> int:
        addr, prp = slots[0]
        ns.machine.write(addr, pattern(tag, 4 * KIB))
        return ns.queue.wait(ns.start(Op.WRITE, unit * 4 * KIB, 4 * KIB, prp)).status

    def read(self, ns: Namespace, slots: list[tuple[int, tuple[int, int]]], unit: int) -> bytes:
        addr, prp = slots[0]
        ns.machine.write(addr, b"\xee" * 4 * KIB)
        self.assertEqual(ns.queue.wait(ns.start(Op.READ, unit * 4 * KIB, 4 * KIB, prp)).status, 0)
        return ns.machine.read(addr, 4 * KIB)

    def start(
        self, machine: Machine, ns: Namespace, slots: list[tuple[int, tuple[int, int]]]
    ) -> list[int]:
        """Writes beside what is read later; some of them are with the engine."""
        accepted = machine.stats()["cmds_accepted"]
        cids = [
            ns.start(Op.WRITE, (64 + index) * 4 * KIB, 4 * KIB, prp, ring=False)
            for index, (_, prp) in enumerate(slots)
        ]
        ns.queue.ring()
        end = time.monotonic() + HANG_S
        while machine.stats()["cmds_accepted"] == accepted:
            self.assertLess(time.monotonic(), end)
        return cids
