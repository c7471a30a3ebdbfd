# SPDX-License-Identifier: GPL-2.0-or-later
"""Defects seen in other NVMe flash models, by their numbers; the engine's are in tests/unit."""

from __future__ import annotations

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from nvme import Controller, Namespace, Op

BLOCK_4K = ",logical_block_size=4096,physical_block_size=4096"


class PeerDefects(DriveTest):
    def two(self, more: str = "", block: int = 512) -> tuple[Controller, Namespace, Namespace]:
        """Two namespaces on one flash, 4 MiB and the rest."""
        machine = self.machine(
            flash(),
            controller(),
            namespace(more=f",nsid=1,size={4 * MIB}{more}"),
            namespace(more=f",nsid=2{more}"),
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        return ctrl, Namespace(queue, 1, block), Namespace(queue, 2, block)

    def test_07_trim_stays_in_its_namespace(self) -> None:
        ctrl, first, second = self.two()
        places = [0, 64 * KIB, 4 * MIB - 16 * KIB]
        for index, offset in enumerate(places):
            first.write(offset, pattern(index, 16 * KIB))
            second.write(offset, pattern(10 + index, 16 * KIB))
        self.assertEqual(first.deallocate([(0, 16 * KIB)]), 0)
        self.assertEqual(second.simple(Op.WRITE_ZEROES, 64 * KIB, 16 * KIB), 0)
        self.assertEqual(first.read(0, 16 * KIB), bytes(16 * KIB))
        self.assertEqual(second.read(0, 16 * KIB), pattern(10, 16 * KIB))
        self.assertEqual(first.read(64 * KIB, 16 * KIB), pattern(1, 16 * KIB))
        self.assertEqual(second.read(64 * KIB, 16 * KIB), bytes(16 * KIB))
        self.assertEqual(first.read(places[2], 16 * KIB), pattern(2, 16 * KIB))
        self.assertEqual(second.read(places[2], 16 * KIB), pattern(12, 16 * KIB))
        self.assertEqual(second.deallocate([(places[2], 16 * KIB)]), 0)
        self.assertEqual(first.read(places[2], 16 * KIB), pattern(2, 16 * KIB))
        self.assertEqual(second.read(places[2], 16 * KIB), bytes(16 * KIB))
        # one past the end belongs to the neighbour, and is refused
        self.assertNotEqual(first.simple(Op.READ, 4 * MIB, 4 * KIB), 0)
        self.finish(ctrl.machine)

    def test_07_blocks_of_4k_are_not_aliased(self) -> None:
        ctrl, first, second = self.two(BLOCK_4K, block=4096)
        for index in range(64):
            first.write(index * 4 * KIB, pattern(index, 4 * KIB))
            second.write(index * 4 * KIB, pattern(100 + index, 4 * KIB))
        self.assertEqual(ctrl.machine.stats()["host_written_units"], 128)
        self.assertEqual(second.deallocate([(8 * 4 * KIB, 8 * 4 * KIB)]), 0)
        for index in range(64):
            self.assertEqual(first.read(index * 4 * KIB, 4 * KIB), pattern(index, 4 * KIB))
            trimmed = 8 <= index < 16
            self.assertEqual(
                second.read(index * 4 * KIB, 4 * KIB),
                bytes(4 * KIB) if trimmed else pattern(100 + index, 4 * KIB),
            )
        commands = self.finish(ctrl.machine)
        # Every block is a unit of its own on the flash.
        writes = [command for command in commands if command.op == 1]
        self.assertEqual(len({command.offset for command in writes}), 128)
        self.assertEqual({command.length for command in writes}, {4 * KIB})

    def test_08_namespaces_contend_for_one_flash(self) -> None:
        """The same read takes longer while the other namespace keeps the dies busy."""
        ctrl, first, second = self.two()
        machine = ctrl.machine
        first.write(0, pattern(1, 4 * KIB))
        addr, prp = first.buffer(128 * KIB)
        machine.write(addr, pattern(3, 128 * KIB))
        machine.step(100_000_000)
        first.read(0, 4 * KIB)
        busy = [second.start(Op.WRITE, index * 128 * KIB, 128 * KIB, prp) for index in range(4)]
        machine.step(60_000)  # after firmware and the link's 41 us: dies program
        first.read(0, 4 * KIB)
        for cid in busy:
            second.queue.wait(cid)
        reads = [command for command in self.finish(machine) if command.op == 0]
        self.assertGreater(reads[1].latency_ns, reads[0].latency_ns)
        self.assertEqual({command.nsid for command in reads}, {1})

    def test_10_reset_with_commands_in_flight(self) -> None:
        machine, ctrl, ns = self.drive()
        for index in range(32):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        for round_number in range(4):
            target, prp = ns.buffer(4 * KIB)
            machine.write(target, b"\xee" * 4 * KIB)
            source, source_prp = ns.buffer(4 * KIB)
            machine.write(source, pattern(77, 4 * KIB))
            for index in range(32):
                op, where = (Op.WRITE, source_prp) if index % 2 else (Op.READ, prp)
                ns.start(op, (index + 64 * (index % 2)) * 4 * KIB, 4 * KIB, where)
            # In the firmware, on the link, on the dies, in the middle of a program.
            machine.step((2_000, 7_000, 60_000, 400_000)[round_number])
            stats = machine.stats()
            self.assertGreater(stats["cmds_accepted"], stats["cmds_completed"])
            ended = machine.read(target, 4 * KIB)
            ctrl.disable()
            ctrl.enable()
            ns = Namespace(ctrl.create_queue())
            # The queue is empty: a forgotten command that ends posts nothing there.
            machine.step(100_000_000)
            self.assertEqual(machine.read(target, 4 * KIB), ended)
            stats = machine.stats()
            self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
            for index in range(32):
                self.assertEqual(ns.read(index * 4 * KIB, 4 * KIB), pattern(index, 4 * KIB))
        self.finish(machine)
