# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that lose their queue, or their guest, while the drive works on them."""

from __future__ import annotations

from collections.abc import Callable

from fixture import KIB, DriveTest, pattern
from machine import Machine
from nvme import SECTOR, Admin, Controller, Namespace, Op, Queue, Status
from test_health import smart

WAY_INTO_A_COMMAND_NS = 5_000
A_SECOND_NS = 1_000_000_000


class LongQueue(Queue):
    entries = 2048


class InFlight(DriveTest):
    def start_some(self, machine: Machine, ns: Namespace, count: int = 32) -> tuple[int, list[int]]:
        """Reads and writes in flight; returns the reads' memory and their ids."""
        target, prp = ns.buffer(4 * KIB)
        machine.write(target, b"\xee" * 4 * KIB)
        source, source_prp = ns.buffer(4 * KIB)
        machine.write(source, pattern(77, 4 * KIB))
        cids = []
        for index in range(count):
            if index % 2:
                cids.append(ns.start(Op.WRITE, (64 + index) * 4 * KIB, 4 * KIB, source_prp))
            else:
                cids.append(ns.start(Op.READ, 0, 4 * KIB, prp))
        machine.step(WAY_INTO_A_COMMAND_NS)
        stats = machine.stats()
        self.assertEqual(stats["cmds_accepted"] - stats["cmds_completed"], count)
        return target, cids

    def test_more_than_a_ring(self) -> None:
        """The ring to the engine has 1024 places: the others wait, and none is lost.

        They have to be of one doorbell.  After each, the engine takes what is in the ring.
        """
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        target, prp = ns.buffer(4 * KIB)
        ctrl.queue_class = LongQueue
        queue = ctrl.create_queue()
        cids = queue.submit_equal(1500, Op.READ, 1, prp, (0, 0, 4 * KIB // SECTOR - 1))
        machine.step(A_SECOND_NS)
        self.assertEqual(queue.posted(), dict.fromkeys(cids, 0))
        self.assertEqual(machine.read(target, 4 * KIB), pattern(1, 4 * KIB))
        self.assertEqual(len(self.finish(machine)), 1 + len(cids))

    def check_alive(self, ns: Namespace) -> None:
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        self.assertEqual(ns.write(4 * KIB, pattern(2, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(4 * KIB, 4 * KIB), pattern(2, 4 * KIB))

    def test_abort(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        target, cids = self.start_some(machine, ns)
        victim = cids[4]
        done = ctrl.command(Admin.ABORT, cdw=(victim << 16 | ns.queue.qid,))
        self.assertEqual((done.status, done.result), (0, 1))  # 1: upstream never says 0 here
        self.assertEqual(ns.queue.wait(victim).status, Status.ABORT_REQUESTED)
        for cid in cids:
            if cid != victim:
                self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(machine.read(target, 4 * KIB), pattern(1, 4 * KIB))
        self.check_alive(ns)
        self.finish(machine)

    def test_abort_of_every_kind(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 64 * KIB))
        ranges = machine.alloc(4 * KIB)
        machine.write(ranges, bytes.fromhex("00000000080000008000000000000000") * 4)
        copies = machine.alloc(4 * KIB)
        machine.write(copies, bytes(16) + (7).to_bytes(2, "little") + bytes(14))
        _, prp = ns.buffer(4 * KIB)
        starts: dict[str, Callable[[], int]] = {
            "dsm": lambda: ns.queue.submit(Op.DSM, 1, (ranges, 0), (3, 4)),
            "copy": lambda: ns.queue.submit(Op.COPY, 1, (copies, 0), (1024,)),
            "flush": lambda: ns.queue.submit(Op.FLUSH, 1),
            "flush of all": lambda: ns.queue.submit(Op.FLUSH, 0xFFFFFFFF),
            "compare": lambda: ns.start(Op.COMPARE, 0, 4 * KIB, prp),
            "verify": lambda: ns.start(Op.VERIFY, 0, 4 * KIB),
            "write zeroes": lambda: ns.start(Op.WRITE_ZEROES, 1024 * KIB, 4 * KIB),
        }
        for name, start in starts.items():
            with self.subTest(name):
                busy = ns.start(Op.WRITE, 512 * KIB, 4 * KIB, prp)  # gives a flush work to do
                cid = start()
                machine.step(1)
                ctrl.check(Admin.ABORT, cdw=(cid << 16 | ns.queue.qid,))
                self.assertEqual(ns.queue.wait(cid).status, Status.ABORT_REQUESTED)
                self.assertEqual(ns.queue.wait(busy).status, 0)
        # Nothing was lost.
        self.assertEqual(smart(ctrl).media_errors, 0)
        self.check_alive(ns)
        self.finish(machine)

    def test_delete_queue(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        target, _ = self.start_some(machine, ns)
        ctrl.check(Admin.DELETE_SQ, cdw=(ns.queue.qid,))
        ctrl.check(Admin.DELETE_CQ, cdw=(ns.queue.qid,))
        machine.step(100_000_000)
        # a cancelled read must not touch memory that the guest uses again
        self.assertEqual(machine.read(target, 4 * KIB), b"\xee" * 4 * KIB)
        stats = machine.stats()
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_disable_controller(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        for _ in range(3):
            target, _ = self.start_some(machine, ns)
            ctrl.disable()
            machine.step(100_000_000)
            self.assertEqual(machine.read(target, 4 * KIB), b"\xee" * 4 * KIB)
            ctrl.enable()
            ns = Namespace(ctrl.create_queue())
            self.check_alive(ns)
        self.finish(machine)

    def test_disable_and_enable_at_once(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        self.start_some(machine, ns)
        ctrl.disable()
        ctrl.enable()  # the drive still works on what the guest forgot
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_shutdown_of_the_controller(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        self.start_some(machine, ns)
        ctrl.shutdown()
        ctrl.disable()
        ctrl.enable()
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_reset_of_the_machine(self) -> None:
        machine, _, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        self.start_some(machine, ns)
        machine.qmp("system_reset")
        ctrl = Controller(machine)
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_end_of_qemu(self) -> None:
        for stopped in (False, True):
            with self.subTest(stopped=stopped):
                machine, _, ns = self.drive()
                ns.write(0, pattern(1, 4 * KIB))
                self.start_some(machine, ns)
                if stopped:
                    machine.qmp("stop")
                commands = self.finish(machine)  # exits with 0: nothing was lost
                # a recording has what the guest never saw the end of, too, and says so
                unseen = [command.unseen for command in commands]
                self.assertEqual(unseen, [False] + [True] * 32)

    def test_full_queue(self) -> None:
        machine, _, ns = self.drive()
        addr, prp = ns.buffer(4 * KIB)
        machine.write(addr, pattern(1, 4 * KIB))
        cids = [
            ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp, ring=False) for index in range(255)
        ]
        ns.queue.ring()
        for cid in cids:
            self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(len(self.finish(machine)), 255)
