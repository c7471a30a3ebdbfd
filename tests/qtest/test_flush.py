# SPDX-License-Identifier: GPL-2.0-or-later
"""What the write buffer holds reaches flash when it must: flush, FUA, shutdown, cache off."""

from __future__ import annotations

from collections.abc import Callable

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from logs import Command
from machine import Machine
from nvme import FUA, Admin, Controller, Namespace, Op
from pci import FUNCTION_RESET, Function, enable_mmconfig

BUFFER = ",overrides=controller.buffer_bytes=1048576"
GIB = 1 << 30
PROGRAM_NS = 750_000  # tiny.ini
READ, WRITE, ZEROES, DEALLOCATE, FLUSH = range(5)
VOLATILE_WRITE_CACHE = 0x06
ZONE_REPORT, ZONE_CLOSED = 0x7A, 4
SHN_NORMAL, SHN_ABRUPT = 0x00464061, 0x00468061
OTHER_KIND = SHN_NORMAL ^ SHN_ABRUPT
STATE_MASK, IN_PROGRESS, DONE = 0xC, 0x4, 0x8
CC, CSTS = 0x14, 0x1C
SLOT = 4


class Flushes(DriveTest):
    def buffered(self) -> tuple[Machine, Controller, Namespace]:
        return self.drive(more=BUFFER)

    def dirty(self, ns: Namespace, count: int = 8) -> None:
        for index in range(count):
            self.assertEqual(ns.write(index * 4 * KIB, pattern(index, 4 * KIB)).status, 0)

    @staticmethod
    def state(ctrl: Controller) -> int:
        return ctrl.machine.readl(ctrl.bar + CSTS) & STATE_MASK

    def of(self, commands: list[Command], op: int) -> list[Command]:
        return [command for command in commands if command.op == op]

    def test_buffered_and_through(self) -> None:
        machine, _, ns = self.buffered()
        ns.write(0, pattern(1, 4 * KIB))
        ns.write(4 * KIB, pattern(2, 4 * KIB), FUA)
        fast, through = self.of(self.finish(machine), WRITE)
        self.assertLess(fast.latency_ns, PROGRAM_NS)
        self.assertGreater(through.latency_ns, PROGRAM_NS)
        self.assertEqual((fast.fua, through.fua), (False, True))

    def test_flush_waits_for_programs(self) -> None:
        machine, _, ns = self.buffered()
        self.dirty(ns)
        self.assertEqual(ns.flush(), 0)
        stats = machine.stats()
        self.assertGreaterEqual(stats["host_page_programs"], 8)
        (flush,) = self.of(self.finish(machine), FLUSH)
        self.assertGreater(flush.latency_ns, PROGRAM_NS)

    def test_cache_off_flushes_and_writes_through(self) -> None:
        machine, ctrl, ns = self.buffered()
        self.dirty(ns)
        ctrl.check(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 0))
        stats = machine.stats()
        self.assertEqual(stats["flushes"], 1)
        self.assertGreaterEqual(stats["host_page_programs"], 8)
        ns.write(0, pattern(10, 4 * KIB))
        ctrl.check(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 0))
        self.assertEqual(machine.stats()["flushes"], 1)  # nothing was left in a cache
        ctrl.check(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 1))
        ns.write(4 * KIB, pattern(11, 4 * KIB))
        *_, through, fast = self.of(self.finish(machine), WRITE)
        self.assertTrue(through.fua)
        self.assertGreater(through.latency_ns, PROGRAM_NS)
        self.assertFalse(fast.fua)
        self.assertLess(fast.latency_ns, PROGRAM_NS)

    def test_abort_of_cache_off(self) -> None:
        machine, ctrl, ns = self.buffered()
        self.dirty(ns)
        cid = ctrl.admin.submit(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 0))
        machine.step(1)
        ctrl.check(Admin.ABORT, cdw=(cid << 16,))
        self.assertNotEqual(ctrl.admin.wait(cid).status, 0)
        self.finish(machine)

    def test_shutdown_flushes(self) -> None:
        machine, ctrl, ns = self.buffered()
        self.dirty(ns)
        ctrl.notify_shutdown()
        self.assertEqual(self.state(ctrl), IN_PROGRESS)
        ctrl.wait_for_shutdown()
        stats = machine.stats()
        self.assertEqual(stats["flushes"], 1)
        self.assertGreaterEqual(stats["host_page_programs"], 8)
        self.finish(machine)

    def test_shutdown_waits_for_what_is_in_flight(self) -> None:
        machine, ctrl, ns = self.buffered()
        addr, prp = ns.buffer(4 * KIB)
        machine.write(addr, pattern(1, 4 * KIB))
        cids = [
            ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp, ring=False) for index in range(32)
        ]
        ns.queue.ring()
        machine.step(1)
        ctrl.shutdown()
        for cid in cids:
            self.assertEqual(ns.queue.wait(cid).status, 0)
        commands = self.finish(machine)
        writes, (flush,) = self.of(commands, WRITE), self.of(commands, FLUSH)
        self.assertEqual(len(writes), 32)
        self.assertGreaterEqual(flush.submit_ns, max(write.complete_ns for write in writes))

    def test_a_zone_knows_what_the_shutdown_waited_for(self) -> None:
        """It is closed behind that write, and goes on where it says."""
        machine, ctrl, ns = self.drive(more_ns=",zoned=on,zoned.zone_size=1M")
        _, prp = ns.buffer(4 * KIB)
        cid = ns.start(Op.WRITE, 0, 4 * KIB, prp)
        machine.step(1)
        ctrl.notify_shutdown()
        self.assertIsNone(ns.queue.done(cid))
        ctrl.wait_for_shutdown()
        self.assertEqual(ns.queue.wait(cid).status, 0)
        ctrl.disable()
        ctrl.enable()
        ns = Namespace(ctrl.create_queue())
        report = machine.alloc(4 * KIB)
        cid = ns.queue.submit(ZONE_REPORT, 1, (report, 0), (0, 0, 4 * KIB // 4 - 1))
        self.assertEqual(ns.queue.wait(cid).status, 0)
        zone = machine.read(report, 128)[64:]
        self.assertEqual((zone[1] >> 4, zone[24]), (ZONE_CLOSED, 8))
        self.assertEqual(ns.write(4 * KIB, pattern(1, 4 * KIB)).status, 0)
        self.finish(machine)

    def test_shutdown_of_two_namespaces(self) -> None:
        machine = self.machine(
            flash(more=BUFFER),
            flash("f1", more=BUFFER),
            controller(),
            namespace(more=",nsid=1"),
            namespace("f1", more=",nsid=2"),
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        for nsid in (1, 2):
            self.dirty(Namespace(queue, nsid))
        ctrl.shutdown()
        self.assertEqual([machine.stats(name)["flushes"] for name in ("f0", "f1")], [1, 1])
        self.finish(machine)

    def resets(self) -> dict[str, Callable[[Controller], None]]:
        """Each ends a shutdown that was notified; only the first one takes it back, too."""

        def function(ctrl: Controller) -> None:
            where = Function(ctrl.machine, SLOT)
            at = where.device_control() - where.config
            where.write(at, where.read(at) | FUNCTION_RESET)

        return {
            "all of it": lambda ctrl: ctrl.machine.writel(ctrl.bar + CC, 0),
            "enable alone": lambda ctrl: ctrl.machine.writel(ctrl.bar + CC, SHN_NORMAL & ~1),
            "function": function,
        }

    def test_reset_abandons_a_shutdown(self) -> None:
        for name, reset in self.resets().items():
            with self.subTest(name):
                machine, ctrl, ns = self.buffered()
                enable_mmconfig(machine)
                self.dirty(ns)
                ctrl.notify_shutdown()
                reset(ctrl)
                machine.step(100_000_000)
                self.assertEqual(self.state(ctrl), 0)
                ctrl = Controller(machine)
                machine.step(100_000_000)
                self.assertEqual(self.state(ctrl), 0)
                ns = Namespace(ctrl.create_queue())
                self.assertEqual(ns.read(0, 4 * KIB), pattern(0, 4 * KIB))
                ctrl.shutdown()
                self.finish(machine)

    def test_a_shutdown_that_is_taken_back(self) -> None:
        machine, ctrl, ns = self.buffered()
        self.dirty(ns)
        ctrl.notify_shutdown()
        machine.writel(ctrl.bar + CC, SHN_NORMAL & ~0xC000)
        machine.step(100_000_000)
        self.assertEqual(self.state(ctrl), 0)
        self.dirty(ns)
        self.finish(machine)

    def test_a_second_notification(self) -> None:
        """Another kind does not end the first, and one taken back and sent again begins anew."""
        for name, values in (
            ("abrupt", (SHN_NORMAL, SHN_ABRUPT)),
            ("again", (SHN_NORMAL, SHN_NORMAL & ~0xC000, SHN_NORMAL)),
            ("again, abrupt", (SHN_NORMAL, SHN_NORMAL & ~0xC000, SHN_ABRUPT, SHN_NORMAL)),
        ):
            for busy in (False, True):
                with self.subTest(name, busy=busy):
                    machine, ctrl, ns = self.buffered()
                    self.dirty(ns)
                    if busy:
                        _, prp = ns.buffer(4 * KIB)
                        cid = ns.start(Op.WRITE, MIB, 4 * KIB, prp)
                    for value in values:
                        machine.writel(ctrl.bar + CC, value)
                        machine.step(1)
                    self.assertEqual(self.state(ctrl), IN_PROGRESS)
                    ctrl.wait_for_shutdown()
                    # What has ended does not begin again: the other kind comes too late.
                    machine.writel(ctrl.bar + CC, values[-1] ^ OTHER_KIND)
                    self.assertEqual(self.state(ctrl), DONE)
                    stats = machine.stats()
                    self.assertEqual(stats["cmds_completed"], stats["cmds_accepted"])
                    if busy:
                        self.assertEqual(ns.queue.wait(cid).status, 0)
                    self.finish(machine)

    def test_reset_while_a_shutdown_waits(self) -> None:
        for name, reset in self.resets().items():
            with self.subTest(name):
                machine, ctrl, ns = self.buffered()
                enable_mmconfig(machine)
                _, prp = ns.buffer(4 * KIB)
                for index in range(8):
                    ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp)
                machine.step(1000)
                ctrl.notify_shutdown()
                self.assertEqual(self.state(ctrl), IN_PROGRESS)
                reset(ctrl)
                ctrl = Controller(machine)
                # Commands that end are no word for the shutdown of before.
                ns = Namespace(ctrl.create_queue())
                self.assertEqual(ns.write(MIB, pattern(1, 4 * KIB)).status, 0)
                machine.step(100_000_000)
                self.assertEqual(self.state(ctrl), 0)
                self.finish(machine)

    def test_end_of_qemu_during_a_shutdown(self) -> None:
        machine, ctrl, ns = self.buffered()
        self.dirty(ns)
        ctrl.notify_shutdown()
        self.finish(machine)


class Recording(DriveTest):
    """What a replay needs: everything that was submitted, and in which order."""

    def test_order_of_submission(self) -> None:
        machine, _, ns = self.drive(more=BUFFER)
        ns.write(0, pattern(1, 4 * KIB))
        ns.flush()
        _, prp = ns.buffer(4 * KIB)
        # the write through ends last and was submitted first
        starts = [
            (Op.WRITE, 64 * KIB, FUA),
            (Op.READ, 0, 0),
            (Op.WRITE, 32 * KIB, 0),
            (Op.READ, 128 * KIB, 0),
        ]
        cids = [
            ns.start(op, offset, 4 * KIB, prp, flags, ring=False) for op, offset, flags in starts
        ]
        ns.queue.ring()
        for cid in cids:
            ns.queue.wait(cid)
        rows = self.finish(machine)[-4:]
        self.assertEqual(len({row.submit_ns for row in rows}), 1)
        self.assertEqual(rows[-1].offset, 64 * KIB)
        rows.sort(key=lambda row: row.seq)
        self.assertEqual([row.offset for row in rows], [offset for _, offset, _ in starts])
        self.assertEqual([row.fua for row in rows], [True, False, False, False])

    def test_only_writes_and_zeroes_are_through(self) -> None:
        """Without a cache each of them has FUA, and nothing else does: it means nothing there."""
        machine, ctrl, ns = self.drive(more=BUFFER)
        ctrl.check(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 0))
        ns.write(0, pattern(1, 16 * KIB))
        ns.simple(Op.WRITE_ZEROES, 0, 4 * KIB)
        ns.deallocate([(4 * KIB, 4 * KIB)])
        ns.read(8 * KIB, 4 * KIB)
        ns.flush()
        through = {row.op: row.fua for row in self.finish(machine)}
        self.assertEqual(
            through, {READ: False, WRITE: True, ZEROES: True, DEALLOCATE: False, FLUSH: False}
        )

    def test_a_large_deallocation_goes_in_pieces(self) -> None:
        machine, _, ns = self.drive(more=",overrides=geometry.blocks_per_plane=8192")
        size = machine.stats()["logical_bytes"] // MIB * MIB
        self.assertGreater(size, GIB)
        for offset in (0, GIB, size - 4 * KIB):
            ns.write(offset, pattern(1, 4 * KIB))
        self.assertEqual(ns.deallocate([(0, size)]), 0)
        self.assertEqual(machine.stats()["deallocated_units"], 3)
        for offset in (0, GIB, size - 4 * KIB):
            self.assertEqual(ns.read(offset, 4 * KIB), bytes(4 * KIB))
        pieces = [(row.offset, row.length) for row in self.finish(machine) if row.op == DEALLOCATE]
        self.assertEqual(pieces, [(0, GIB), (GIB, size - GIB)])
