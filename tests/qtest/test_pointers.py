# SPDX-License-Identifier: GPL-2.0-or-later
"""Data pointers that lead nowhere, to a list that is none, or into another controller."""

from __future__ import annotations

import struct

from fixture import KIB, DriveTest, flash, namespace, pattern
from nvme import PAGE, Controller, Namespace, Op
from test_health import ERROR_LOG, smart
from test_realtime import HostController

SLOT = 4
TRANSFER_ERROR, INVALID_USE_OF_CMB, OFFSET_INVALID = 0x004, 0x012, 0x013
NOWHERE = 1 << 44
BUFFER = 0xE8000000  # where the controller's memory is put
PMRCTL, PMRMSCL, PMRMSCU = 0xE04, 0xE14, 0xE18
CLOCKS: tuple[tuple[type[Controller], str], ...] = (
    (Controller, ""),
    (HostController, ",clock=realtime"),
)


class Pointers(DriveTest):
    def test_a_list_begins_at_a_qword(self) -> None:
        """One in the last bytes of a page had entries that nobody had written."""
        machine, _, ns = self.drive()
        data, lists = machine.alloc(3 * PAGE), machine.alloc(2 * PAGE)
        machine.write(lists, struct.pack("<2Q", data + PAGE, data + 2 * PAGE))
        for offset in (1, 2, 4, PAGE - 7, PAGE - 4, PAGE - 1):
            cid = ns.start(Op.READ, 0, 3 * PAGE, (data, lists + offset))
            self.assertEqual(ns.queue.wait(cid).status, OFFSET_INVALID, offset)
        cid = ns.start(Op.READ, 0, 3 * PAGE, (data, lists))
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.finish(machine)

    def test_where_no_memory_is(self) -> None:
        """The host's fault: no error of the media is counted, logged or printed."""
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine = self.drive_machine(more)
                ctrl = kind(machine)
                ns = Namespace(ctrl.create_queue())
                self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
                cid = ns.start(Op.READ, 0, 4 * KIB, (NOWHERE, 0))
                self.assertEqual(ns.queue.wait(cid).status, TRANSFER_ERROR)
                said = smart(ctrl)
                self.assertEqual((said.media_errors, said.log_entries), (0, 0))
                self.assertEqual(ctrl.get_log(ERROR_LOG, PAGE), (0, bytes(PAGE)))
                self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
                self.finish(machine)

    def test_into_the_memory_of_another_controller(self) -> None:
        """The other's doorbells are rung meanwhile, and what serves them ends the reads."""
        machine = self.machine(
            flash(more=",clock=realtime"),
            ["-device", "nvme-subsys,id=subsys0"],
            [
                "-device",
                f"nvme,id=nvme0,serial=s,subsys=subsys0,addr={SLOT},cmb_size_mb=1,legacy-cmb=on",
            ],
            ["-device", f"nvme,id=nvme1,serial=s,subsys=subsys0,addr={SLOT + 1}"],
            namespace(),
        )
        owner, peer = (HostController(machine, SLOT + index) for index in range(2))
        owner.place(SLOT, 2, BUFFER)
        own, other = (Namespace(each.create_queue()) for each in (owner, peer))
        for index in range(16):
            data = pattern(index, 4 * KIB)
            self.assertEqual(own.write(index * 4 * KIB, data).status, 0)
        _, prp = own.buffer(4 * KIB)
        for _ in range(8):
            theirs = [
                other.start(Op.READ, index * 4 * KIB, 4 * KIB, (BUFFER + index * PAGE, 0))
                for index in range(16)
            ]
            ours = [own.start(Op.READ, 256 * KIB, 4 * KIB, prp) for _ in range(200)]
            for cid in theirs:
                self.assertEqual(other.queue.wait(cid).status, 0)
            for cid in ours:
                self.assertEqual(own.queue.wait(cid).status, 0)
        for index in range(16):
            self.assertEqual(machine.read(BUFFER + index * PAGE, PAGE), pattern(index, 4 * KIB))
        self.finish(machine)

    def test_into_the_memory_that_is_persistent(self) -> None:
        """The controller's own: data is in it, in part, and when it is off."""
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine = self.machine(
                    ["-object", "memory-backend-ram,id=m0,size=64K"],
                    flash(more=more),
                    ["-device", f"nvme,id=nvme0,serial=s,addr={SLOT},pmrdev=m0"],
                    namespace(),
                )
                ctrl = kind(machine, SLOT)
                ctrl.place(SLOT, 4, BUFFER)
                machine.writel(ctrl.bar + PMRCTL, 1)
                machine.writel(ctrl.bar + PMRMSCU, 0)
                machine.writel(ctrl.bar + PMRMSCL, BUFFER | 1 << 1)
                ns = Namespace(ctrl.create_queue())
                machine.write(BUFFER + PAGE, pattern(1, 2 * PAGE))
                pages = (BUFFER + PAGE, BUFFER + 2 * PAGE)
                self.assertEqual(ns.queue.wait(ns.start(Op.WRITE, 0, 2 * PAGE, pages)).status, 0)
                self.assertEqual(ns.read(0, 2 * PAGE), pattern(1, 2 * PAGE))
                target = (BUFFER + 4 * PAGE, BUFFER + 5 * PAGE)
                self.assertEqual(ns.queue.wait(ns.start(Op.READ, 0, 2 * PAGE, target)).status, 0)
                self.assertEqual(machine.read(BUFFER + 4 * PAGE, 2 * PAGE), pattern(1, 2 * PAGE))
                partly = (BUFFER + 15 * PAGE, BUFFER + 16 * PAGE)
                cid = ns.start(Op.READ, 0, 2 * PAGE, partly)
                self.assertEqual(ns.queue.wait(cid).status, INVALID_USE_OF_CMB)
                machine.writel(ctrl.bar + PMRCTL, 0)
                cid = ns.start(Op.READ, 0, 2 * PAGE, target)
                self.assertEqual(ns.queue.wait(cid).status, TRANSFER_ERROR)
                self.assertEqual(ns.read(0, 2 * PAGE), pattern(1, 2 * PAGE))
                self.finish(machine)
