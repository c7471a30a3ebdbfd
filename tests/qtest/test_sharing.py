# SPDX-License-Identifier: GPL-2.0-or-later
"""Two namespaces on one flash (see test_peers.py, too), and two drives in one machine."""

from __future__ import annotations

import struct

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from nvme import Controller, Namespace, Op


class TwoNamespaces(DriveTest):
    def two(self, size: int) -> tuple[Controller, Namespace, Namespace]:
        machine = self.machine(
            flash(), controller(), namespace(more=f",nsid=1,size={size}"), namespace(more=",nsid=2")
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        return ctrl, Namespace(queue, 1), Namespace(queue, 2)

    def test_sizes(self) -> None:
        ctrl, first, second = self.two(4 * MIB)
        sectors = [struct.unpack_from("<Q", ctrl.identify(0, ns.nsid))[0] for ns in (first, second)]
        total = ctrl.machine.stats()["logical_bytes"]
        self.assertEqual([count * 512 for count in sectors], [4 * MIB, total - 4 * MIB])
        self.finish(ctrl.machine)


class TwoDrives(DriveTest):
    def test_two_drives(self) -> None:
        machine = self.machine(
            flash("f0"),
            flash("f1", scheme="ideal"),
            controller(0),
            controller(1),
            namespace("f0", 0),
            namespace("f1", 1),
        )
        drives = [Namespace(Controller(machine, 4 + index).create_queue()) for index in range(2)]
        for index, ns in enumerate(drives):
            ns.write(0, pattern(index, 16 * KIB))
        for index, ns in enumerate(drives):
            self.assertEqual(ns.read(0, 16 * KIB), pattern(index, 16 * KIB))
        self.assertEqual(machine.stats("f0")["scheme"], "baseline")
        self.assertEqual(machine.stats("f1")["scheme"], "ideal")
        self.assertEqual(len(self.finish(machine, "f0")), 2)

    def test_they_do_not_contend(self) -> None:
        machine = self.machine(
            flash("f0"),
            flash("f1"),
            controller(0),
            controller(1),
            namespace("f0", 0),
            namespace("f1", 1),
        )
        first, second = (
            Namespace(Controller(machine, 4 + index).create_queue()) for index in range(2)
        )
        first.write(0, pattern(1, 4 * KIB))
        _addr, prp = first.buffer(128 * KIB)
        machine.step(100_000_000)
        first.read(0, 4 * KIB)
        busy = [second.start(Op.WRITE, index * 128 * KIB, 128 * KIB, prp) for index in range(4)]
        machine.step(60_000)  # after firmware and the link's 41 us: dies program
        first.read(0, 4 * KIB)
        for cid in busy:
            second.queue.wait(cid)
        reads = [command for command in self.finish(machine) if command.op == 0]
        self.assertEqual(reads[0].latency_ns, reads[1].latency_ns)
