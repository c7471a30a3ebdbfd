# SPDX-License-Identifier: GPL-2.0-or-later
"""Format while other commands of the namespace are in flight: it waits for them."""

from __future__ import annotations

import struct

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue, Status
from test_realtime import HostController

BLOCKS_OF_4K = 1  # the format's number
FORMAT_IN_PROGRESS = 0x084
BLOCKS = 128
SLOW_READS = ",overrides=timing.read_ns=2000000"


def start_copy(ns: Namespace, source: int, target: int, blocks: int, source_nsid: int = 0) -> int:
    addr = ns.machine.alloc(PAGE)
    ns.machine.write(
        addr,
        struct.pack("<IIQHHIIIHH", source_nsid, 0, source, blocks - 1, 0, 0, 0, 0, 0, 0),
    )
    form = 2 if source_nsid else 0
    return ns.queue.submit(Op.COPY, ns.nsid, (addr, 0), (target, 0, form << 8))


class Formats(DriveTest):
    def check_zero(self, queue: Queue, size: int = MIB) -> None:
        ns = Namespace(queue, block=4096)
        for offset in range(0, size, 256 * KIB):
            self.assertEqual(ns.read(offset, 256 * KIB), bytes(256 * KIB))

    def drive_with_data(self, kind: type[Controller], more: str) -> tuple[Machine, Namespace]:
        machine = self.drive_machine(more + SLOW_READS)
        ns = Namespace(kind(machine).create_queue())
        self.assertEqual(ns.write(0, pattern(1, 64 * KIB)).status, 0)
        return machine, ns

    def test_copy_in_flight(self) -> None:
        """It counts its bytes anew when it has read them."""
        for kind, more in ((Controller, ""), (HostController, ",clock=realtime")):
            with self.subTest(more):
                machine, ns = self.drive_with_data(kind, more)
                copy = start_copy(ns, 0, BLOCKS, BLOCKS)
                machine.step(1)
                done = ns.queue.ctrl.command(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,))
                self.assertEqual(done.status, 0)
                self.assertEqual(ns.queue.wait(copy).status, 0)
                self.check_zero(ns.queue)
                self.finish(machine)

    def test_new_commands_are_refused(self) -> None:
        machine, ns = self.drive_with_data(Controller, "")
        ctrl = ns.queue.ctrl
        _, prp = ns.buffer(4 * KIB)
        before = ns.start(Op.READ, 0, 4 * KIB, prp)
        machine.step(1)
        formats = [ctrl.admin.submit(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,)) for _ in range(2)]
        machine.step(1)
        after = ns.start(Op.READ, 0, 4 * KIB, prp)
        self.assertEqual(ns.queue.wait(after).status, FORMAT_IN_PROGRESS)
        # Nor does a second one begin.
        self.assertEqual(ctrl.admin.wait(formats[1]).status, FORMAT_IN_PROGRESS)
        self.assertIsNone(ns.queue.done(before))
        self.assertEqual(ctrl.admin.wait(formats[0]).status, 0)
        self.assertEqual(ns.queue.wait(before).status, 0)
        self.check_zero(ns.queue)
        self.finish(machine)

    def test_cancelled_while_it_waits(self) -> None:
        """Nothing has been formatted."""
        for how in ("abort", "reset"):
            with self.subTest(how):
                machine, ns = self.drive_with_data(Controller, "")
                ctrl = ns.queue.ctrl
                _, prp = ns.buffer(4 * KIB)
                ns.start(Op.READ, 0, 4 * KIB, prp)
                machine.step(1)
                form = ctrl.admin.submit(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,))
                machine.step(1)
                if how == "abort":
                    ctrl.check(Admin.ABORT, cdw=(form << 16,))
                    self.assertEqual(ctrl.admin.wait(form).status, Status.ABORT_REQUESTED)
                else:
                    ctrl.disable()
                    ctrl.enable()
                    ns = Namespace(ctrl.create_queue())
                self.assertEqual(ns.read(0, 64 * KIB), pattern(1, 64 * KIB))
                self.finish(machine)

    def test_cancelled_after_an_interrupted_one(self) -> None:
        """What that has left is formatted by half, and no more than before."""
        machine = self.machine(
            flash(more=SLOW_READS),
            controller(),
            namespace(more=f",nsid=1,size={4 * MIB}"),
            namespace(more=",nsid=2"),
        )
        ctrl = Controller(machine)
        ctrl.admin.submit(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,))
        machine.step(1)
        ctrl.disable()
        ctrl.enable()
        queue = ctrl.create_queue()
        other = Namespace(queue, 2)
        self.assertEqual(other.write(0, pattern(1, 64 * KIB)).status, 0)
        copy = start_copy(other, 0, BLOCKS, BLOCKS)
        machine.step(1)
        form = ctrl.admin.submit(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,))
        machine.step(1)
        self.assertIsNone(queue.done(copy))
        ctrl.check(Admin.ABORT, cdw=(form << 16,))
        self.assertEqual(ctrl.admin.wait(form).status, Status.ABORT_REQUESTED)
        self.assertEqual(queue.wait(copy).status, 0)
        self.assertEqual(Namespace(queue, 1).simple(Op.VERIFY, 0, 512), FORMAT_IN_PROGRESS)
        self.finish(machine)

    def test_another_controllers_commands(self) -> None:
        """Two controllers of a subsystem, two namespaces: what uses one of them is waited for."""
        machine = self.machine(
            flash(more=SLOW_READS),
            ["-device", "nvme-subsys,id=subsys0"],
            *[
                ["-device", f"nvme,id=nvme{i},serial=s,subsys=subsys0,addr={4 + i}"]
                for i in range(2)
            ],
            namespace(more=f",nsid=1,size={4 * MIB}"),
            namespace(more=",nsid=2"),
        )
        first, second = Controller(machine, 4), Controller(machine, 5)
        ns = Namespace(first.create_queue(), 1)
        self.assertEqual(ns.write(0, pattern(1, 64 * KIB)).status, 0)
        # Copies between namespaces have to be asked for: host behaviour support.
        support = machine.alloc(PAGE)
        machine.write(support, bytes(4) + (0b100).to_bytes(2, "little"))
        second.check(Admin.SET_FEATURES, data=support, cdw=(0x16,))
        queue = second.create_queue()
        other = Namespace(queue, 2)
        copy = start_copy(other, 0, 0, BLOCKS, source_nsid=1)
        machine.step(1)
        first.check(Admin.FORMAT, 1, cdw=(BLOCKS_OF_4K,))
        self.assertEqual(queue.wait(copy).status, 0)
        self.assertEqual(other.read(0, 64 * KIB), pattern(1, 64 * KIB))
        self.check_zero(Namespace(first.create_queue(), 1, block=4096).queue)
        self.finish(machine)
