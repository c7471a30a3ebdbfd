# SPDX-License-Identifier: GPL-2.0-or-later
"""What is cancelled while the engine has it: it may be done or not, but not later.

The engine goes on to the end of a command that hw/nvme has cancelled.  The host takes it for over.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

from fixture import KIB, MIB, DriveTest, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue, Status
from test_pointers import BUFFER
from test_realtime import HostController

OLD, NEW = pattern(1, 4 * KIB), pattern(2, 4 * KIB)
ZEROES = bytes(4 * KIB)
LATER_NS = 2_000_000_000
LARGE = 512 * KIB
AHEAD = 8
# Of all data that the drive's commands may have in QEMU's memory (hw/flash-admit.c).
ROOM = 512 * MIB
DATA = pattern(5, PAGE)
EACH = 250
BLOCK = 4 * KIB
BLOCK_4K = f",logical_block_size={BLOCK},physical_block_size={BLOCK}"
RESETS = 40
# The data of 4 KiB takes 4 ms.
SLOW_LINK = ",overrides=controller.link_mbs=1"


class Cancelled(DriveTest):
    def start_behind_others(self, machine: Machine, ns: Namespace) -> int:
        """A write of OLD at 0 that has some MiB ahead of it on the link."""
        addr, prp = ns.buffer(LARGE)
        machine.write(addr, pattern(3, LARGE))
        for index in range(AHEAD):
            ns.start(Op.WRITE, MIB + index * LARGE, LARGE, prp)
        addr, prp = ns.buffer(4 * KIB)
        machine.write(addr, OLD)
        cid = ns.start(Op.WRITE, 0, 4 * KIB, prp)
        machine.step(20_000)
        self.assertIsNone(ns.queue.done(cid))
        return cid

    def reset(self, ctrl: Controller, ns: Namespace, cid: int) -> Namespace:
        ctrl.disable()
        ctrl.enable()
        return Namespace(ctrl.create_queue())

    def delete_queue(self, ctrl: Controller, ns: Namespace, cid: int) -> Namespace:
        ctrl.check(Admin.DELETE_SQ, cdw=(ns.queue.qid,))
        ctrl.check(Admin.DELETE_CQ, cdw=(ns.queue.qid,))
        return Namespace(ctrl.create_queue())

    def abort(self, ctrl: Controller, ns: Namespace, cid: int) -> Namespace:
        ctrl.check(Admin.ABORT, cdw=(cid << 16 | ns.queue.qid,))
        self.assertEqual(ns.queue.wait(cid).status, Status.ABORT_REQUESTED)
        return ns

    def write_zeroes(self, ctrl: Controller, ns: Namespace) -> bytes:
        self.assertEqual(ns.simple(Op.WRITE_ZEROES, 0, 4 * KIB), 0)
        return ZEROES

    def deallocate(self, ctrl: Controller, ns: Namespace) -> bytes:
        self.assertEqual(ns.deallocate([(0, 4 * KIB)]), 0)
        return ZEROES

    def format(self, ctrl: Controller, ns: Namespace) -> bytes:
        ctrl.check(Admin.FORMAT, 1)
        return ZEROES

    def write(self, ctrl: Controller, ns: Namespace) -> bytes:
        self.assertEqual(ns.write(0, NEW).status, 0)
        return NEW

    def read(self, ctrl: Controller, ns: Namespace) -> bytes:
        """What a read has found does not change."""
        return ns.read(0, 4 * KIB)

    def test_it_does_not_come_back(self) -> None:
        cancels: tuple[Callable[[Controller, Namespace, int], Namespace], ...] = (
            self.reset,
            self.delete_queue,
            self.abort,
        )
        nexts: tuple[Callable[[Controller, Namespace], bytes], ...] = (
            self.write_zeroes,
            self.deallocate,
            self.format,
            self.write,
            self.read,
        )
        for cancel in cancels:
            for then in nexts:
                with self.subTest(cancel=cancel.__name__, then=then.__name__):
                    machine = self.drive_machine()
                    ctrl = Controller(machine)
                    ns = Namespace(ctrl.create_queue())
                    cid = self.start_behind_others(machine, ns)
                    ns = cancel(ctrl, ns, cid)
                    data = then(ctrl, ns)
                    self.assertEqual(ns.read(0, 4 * KIB), data)
                    machine.step(LATER_NS)
                    self.assertEqual(ns.read(0, 4 * KIB), data)
                    self.finish(machine)

    def test_on_the_hosts_clock(self) -> None:
        """There the link has to be slow, so that we are faster."""
        machine = self.drive_machine(",clock=realtime,overrides=controller.link_mbs=4")
        ctrl = HostController(machine)
        ns = Namespace(ctrl.create_queue())
        cid = self.start_behind_others(machine, ns)
        ns = self.reset(ctrl, ns, cid)
        self.assertEqual(self.write_zeroes(ctrl, ns), ZEROES)
        self.assertEqual(ns.read(0, 4 * KIB), ZEROES)
        machine.wait_until(
            lambda: (now := machine.stats())["cmds_accepted"] == now["cmds_completed"],
            "the end of what was cancelled",
        )
        self.assertEqual(ns.read(0, 4 * KIB), ZEROES)
        self.finish(machine)

    def test_others_do_not_wait_for_it(self) -> None:
        """Only what is about the same bytes does."""
        machine, ctrl, ns = self.drive()
        self.assertEqual(ns.write(512 * KIB, NEW).status, 0)
        machine.step(LATER_NS)
        self.start_behind_others(machine, ns)
        ns = self.reset(ctrl, ns, 0)
        completed = machine.stats()["cmds_completed"]
        self.assertEqual(ns.read(512 * KIB, 4 * KIB), NEW)
        stats = machine.stats()
        self.assertLess(stats["cmds_completed"], completed + AHEAD)
        self.finish(machine)

    def test_what_begins_before_it_waits_too(self) -> None:
        """The two need not have their first byte in common."""
        machine, ctrl, ns = self.drive(more=SLOW_LINK)
        addr, prp = ns.buffer(4 * KIB)
        machine.write(addr, OLD)
        cid = ns.start(Op.WRITE, 4 * KIB, 4 * KIB, prp)
        machine.step(20_000)
        self.abort(ctrl, ns, cid)
        self.assertEqual(ns.simple(Op.WRITE_ZEROES, 0, 8 * KIB), 0)
        machine.step(LATER_NS)
        self.assertEqual(ns.read(0, 8 * KIB), bytes(8 * KIB))
        self.finish(machine)

    def test_nobody_waits_for_a_read(self) -> None:
        """It changes nothing, so what comes after it is as good as after its end."""
        machine, ctrl, ns = self.drive(more=SLOW_LINK)
        _, prp = ns.buffer(4 * KIB)
        cid = ns.start(Op.READ, 0, 4 * KIB, prp)
        machine.step(20_000)
        self.abort(ctrl, ns, cid)
        self.assertEqual(ns.write(0, NEW).status, 0)
        rows = {row.op: row for row in self.finish(machine)}
        self.assertLess(rows[1].submit_ns, rows[0].complete_ns)

    def test_the_memory_of_a_read_is_the_guests_again(self) -> None:
        """Its data does not come when the drive has it at last."""
        for cancel in (self.reset, self.delete_queue, self.abort):
            with self.subTest(cancel=cancel.__name__):
                machine, ctrl, ns = self.drive(more=SLOW_LINK)
                self.assertEqual(ns.write(0, OLD).status, 0)
                addr, prp = ns.buffer(4 * KIB)
                cid = ns.start(Op.READ, 0, 4 * KIB, prp)
                machine.step(20_000)
                self.assertIsNone(ns.queue.done(cid))
                ns = cancel(ctrl, ns, cid)
                machine.write(addr, NEW)
                machine.step(LATER_NS)
                self.assertEqual(machine.read(addr, 4 * KIB), NEW)
                self.assertEqual(ns.read(0, 4 * KIB), OLD)
                self.finish(machine)

    def test_what_waits_for_it_is_cancelled_too(self) -> None:
        machine, ctrl, ns = self.drive()
        self.start_behind_others(machine, ns)
        for number in range(8):
            ns = self.reset(ctrl, ns, 0)
            addr, prp = ns.buffer(4 * KIB)
            machine.write(addr, pattern(10 + number, 4 * KIB))
            cid = ns.start(Op.WRITE, 0, 4 * KIB, prp)
            machine.step(1)
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(17, 4 * KIB))
        machine.step(LATER_NS)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(17, 4 * KIB))
        # Those in between never began: the first nine, the last write, and two reads.
        self.assertEqual(len(self.finish(machine)), AHEAD + 1 + 3)

    def test_end_while_some_wait(self) -> None:
        machine, ctrl, ns = self.drive()
        self.start_behind_others(machine, ns)
        ns = self.reset(ctrl, ns, 0)
        for _ in range(4):
            _, prp = ns.buffer(4 * KIB)
            ns.start(Op.WRITE, 0, 4 * KIB, prp)
        machine.step(1)
        self.assertEqual(len(self.finish(machine)), AHEAD + 1 + 4)


class FullRoom(DriveTest):
    """With commands of 2 MiB, few of them fill it."""

    EACH_BYTES = 2 * MIB

    def check(self, opcode: int, in_buffer: bool) -> None:
        """A command needs more than its data: the last of 256 waits, though their data would fit.

        A reset forgets what waits, so only what had begun is in the command log.
        """
        drives = self.machine(
            flash(more=",overrides=geometry.page_bytes=32768"),
            [
                "-device",
                "nvme,id=nvme0,serial=scarp0,addr=4,mdts=9,cmb_size_mb=1,legacy-cmb=on",
            ],
            namespace(),
        )
        ctrl = Controller(drives)
        ctrl.place(4, 2, BUFFER)
        # All of one page, by a list of pages that goes on at its own beginning.
        page, pages = BUFFER if in_buffer else drives.alloc(PAGE), drives.alloc(PAGE)
        drives.write(pages, struct.pack("<Q", page) * (PAGE // 8 - 1) + struct.pack("<Q", pages))
        for _ in range(2):
            ns = Namespace(ctrl.create_queue())
            for _ in range(ROOM // self.EACH_BYTES // 2):
                ns.start(opcode, 0, self.EACH_BYTES, (page, pages), ring=False)
            ns.queue.ring()
        drives.step(1)
        ctrl.disable()
        self.assertEqual(len(self.finish(drives)), ROOM // self.EACH_BYTES - 1)

    def test_what_finds_no_room_does_not_begin(self) -> None:
        self.check(Op.READ, in_buffer=False)

    def test_writes_from_the_controllers_memory(self) -> None:
        """A write copies its data from there into QEMU's memory, and needs room for that."""
        self.check(Op.WRITE, in_buffer=True)


class Room(DriveTest):
    """The guest decides how many commands there are, but not how much memory QEMU needs."""

    def setUp(self) -> None:
        self.begin("")

    def use_large_blocks(self) -> None:
        self.drives.close()
        self.begin(BLOCK_4K)

    def begin(self, more_ns: str) -> None:
        self.drives = self.drive_machine(
            ",overrides=geometry.blocks_per_plane=4096", more_ns=more_ns
        )
        self.ctrl = Controller(self.drives)
        # All of one page: what it costs here is not what it costs there.
        page, pages = self.drives.alloc(PAGE), self.drives.alloc(PAGE)
        self.drives.write(page, DATA)
        self.drives.write(pages, struct.pack("<Q", page) * (PAGE // 8))
        self.prp = (page, pages)

    def start(self, ns: Namespace, opcode: int) -> list[int]:
        cids = [
            ns.start(opcode, number % 256 * LARGE, LARGE, self.prp, ring=False)
            for number in range(1, EACH + 1)
        ]
        ns.queue.ring()
        return cids

    def resident(self) -> int:
        text = Path(f"/proc/{self.drives.process.pid}/statm").read_text(encoding="utf-8")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def test_memory_is_bounded(self) -> None:
        before = self.resident()
        spaces = [Namespace(self.ctrl.create_queue()) for _ in range(6)]
        cids = [self.start(ns, Op.WRITE) for ns in spaces]
        self.drives.step(1)
        self.assertLess(self.resident() - before, ROOM + 64 * MIB)
        for done in spaces[0].queue.wait_coarsely(cids[0]):
            self.assertEqual(done.status, 0)
        # A reset forgets what waits; the rest comes to its end.
        self.ctrl.disable()
        self.ctrl.enable()
        ns = Namespace(self.ctrl.create_queue())
        addr, prp = ns.buffer(PAGE)
        ns.queue.wait_coarsely([ns.start(Op.READ, LARGE, PAGE, prp)])
        self.assertEqual(self.drives.read(addr, PAGE), DATA)
        self.assertLess(len(self.finish(self.drives)), 6 * EACH)

    def most_resident(self) -> int:
        text = Path(f"/proc/{self.drives.process.pid}/status").read_text(encoding="utf-8")
        (line,) = (each for each in text.splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) * KIB

    def start_copies(self, queues: int) -> list[tuple[Queue, list[int]]]:
        """Each of as much as one range may have, and many more than there is room for."""
        ranges = self.drives.alloc(PAGE)
        self.drives.write(ranges, struct.pack("<QQH", 0, 0, LARGE // BLOCK - 1).ljust(32, b"\0"))
        started = []
        for _ in range(queues):
            queue = self.ctrl.create_queue()
            cids = [
                queue.submit(Op.COPY, 1, (ranges, 0), (LARGE // BLOCK, 0, 0), ring=False)
                for _ in range(EACH)
            ]
            queue.ring()
            started.append((queue, cids))
        return started

    def test_memory_of_copies_is_bounded(self) -> None:
        """What a copy has read is in memory until it is written, whoever waits meanwhile."""
        self.use_large_blocks()
        before = self.resident()
        for queue, cids in self.start_copies(7):
            for cid in cids:
                self.assertEqual(queue.wait(cid).status, 0)
        self.assertLess(self.most_resident() - before, 2 * ROOM + 64 * MIB)
        self.assertEqual(len(self.finish(self.drives)), 2 * 7 * EACH)

    def test_copies_that_are_aborted_give_room_back(self) -> None:
        self.use_large_blocks()
        for _ in range(2):
            started = self.start_copies(3)
            self.drives.step(1000)
            for queue, cids in started:
                for cid in cids:
                    self.ctrl.check(Admin.ABORT, cdw=(cid << 16 | queue.qid,))
            for queue, cids in started:
                for cid in cids:
                    self.assertIn(queue.wait(cid).status, (0, Status.ABORT_REQUESTED))
        ns = Namespace(self.ctrl.create_queue(), block=BLOCK)
        self.assertEqual(ns.write(0, DATA).status, 0)
        self.assertEqual(ns.read(0, PAGE), DATA)
        self.finish(self.drives)

    def test_resets_leave_nothing(self) -> None:
        """Nor do the lists of the pages of what they cancel stay: a MiB each time."""
        for number in range(RESETS):
            if number == 2:
                before = self.resident()
            self.start(Namespace(self.ctrl.create_queue()), Op.READ)
            self.drives.step(1)
            self.ctrl.disable()
            self.drives.step(LATER_NS)
            self.ctrl.enable()
        self.assertLess(self.resident() - before, 16 * MIB)
        self.finish(self.drives)
