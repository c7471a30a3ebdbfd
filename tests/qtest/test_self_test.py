# SPDX-License-Identifier: GPL-2.0-or-later
"""Device Self-test: what it reads, how long that takes, and what ends it early."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import Admin, Controller, Namespace, Op, Status
from test_sanitize import cut

SHORT, EXTENDED, ABORT = 1, 2, 0xF
LOG = 0x06
ALL = 0xFFFFFFFF
PASSED, ABORTED, RESET, FORMATTED, FAILED, NONE = 0, 1, 2, 4, 7, 0xF
CC = 0x14
POWER_CUTS = ",overrides=nand.power_cuts=1;ftl.recovery=2"


class Log(NamedTuple):
    code: int
    percent: int
    results: list[tuple[int, int, int]]  # code, result, namespace; the latest first


def read_log(ctrl: Controller) -> Log:
    status, page = ctrl.get_log(LOG, 564)
    assert status == Status.OK
    found = [
        (state >> 4, state & 0xF, nsid)
        for state, _, nsid in (struct.unpack_from("<B11sI", page, at) for at in range(4, 564, 28))
        if state & 0xF != NONE
    ]
    return Log(page[0], page[1], found)


def start(ctrl: Controller, code: int, nsid: int = 1) -> int:
    return ctrl.command(Admin.SELF_TEST, nsid, cdw=(code,)).status


def wait(machine: Machine, ctrl: Controller) -> Log:
    for _ in range(10_000):
        if not (log := read_log(ctrl)).code:
            return log
        machine.step(1_000_000)
    raise AssertionError("the test never ends")


class SelfTests(DriveTest):
    def two_namespaces(self) -> tuple[Machine, Controller]:
        machine = self.machine(
            flash(more=",age=900"),
            controller(),
            namespace(more=f",nsid=1,size={4 * MIB}"),
            namespace(more=f",nsid=2,size={2 * MIB}"),
        )
        return machine, Controller(machine)

    def test_extended_reads_all(self) -> None:
        for nsid, size in ((1, 4 * MIB), (2, 2 * MIB), (ALL, 6 * MIB)):
            with self.subTest(nsid):
                machine, ctrl = self.two_namespaces()
                self.assertEqual(read_log(ctrl), Log(0, 0, []))
                self.assertEqual(start(ctrl, EXTENDED, nsid), Status.OK)
                machine.step(1_000_000)
                halfway = read_log(ctrl)
                self.assertEqual(halfway.code, EXTENDED)
                self.assertIn(halfway.percent, range(1, 100))
                self.assertEqual(wait(machine, ctrl).results, [(EXTENDED, PASSED, nsid)])
                self.assertEqual(machine.stats()["read_bytes"], size)
                commands = self.finish(machine)
                self.assertEqual(sum(x.length for x in commands), size)
                # One after the other, and each takes its time.
                self.assertTrue(all(a.complete_ns <= b.submit_ns for a, b in pairwise(commands)))

    def test_short_reads_a_sample(self) -> None:
        machine, ctrl = self.two_namespaces()
        self.assertEqual(start(ctrl, SHORT, ALL), Status.OK)
        self.assertEqual(wait(machine, ctrl).results, [(SHORT, PASSED, ALL)])
        self.assertEqual(machine.stats()["read_bytes"], 2 * 64 * 4 * KIB)
        places = [x.offset for x in self.finish(machine)]
        self.assertEqual(places[:3], [0, 4 * MIB // 64, 2 * 4 * MIB // 64])
        self.assertEqual(places[-1], 4 * MIB + 63 * 2 * MIB // 64)

    def test_controller_alone(self) -> None:
        machine, ctrl = self.two_namespaces()
        self.assertEqual(start(ctrl, SHORT, 0), Status.OK)
        self.assertEqual(read_log(ctrl), Log(0, 0, [(SHORT, PASSED, 0)]))
        self.assertEqual(self.finish(machine), [])

    def test_refusals(self) -> None:
        machine, ctrl = self.two_namespaces()
        for code in (0, 3, 0xE):
            self.assertEqual(start(ctrl, code), Status.INVALID_FIELD)
        self.assertEqual(start(ctrl, SHORT, 3), Status.INVALID_FIELD)
        self.assertEqual(start(ctrl, SHORT, 257), Status.INVALID_NSID)
        self.assertEqual(start(ctrl, ABORT), Status.OK)
        self.assertEqual(read_log(ctrl), Log(0, 0, []))
        self.assertEqual(start(ctrl, EXTENDED), Status.OK)
        for code in (SHORT, EXTENDED):
            self.assertEqual(start(ctrl, code), Status.SELF_TEST_IN_PROGRESS)
        self.assertEqual(start(ctrl, ABORT), Status.OK)
        self.assertEqual(read_log(ctrl), Log(0, 0, [(EXTENDED, ABORTED, 1)]))
        self.finish(machine)

    def test_twenty_results_are_kept(self) -> None:
        machine, ctrl = self.two_namespaces()
        for nsid in [1, 2] * 11:
            self.assertEqual(start(ctrl, SHORT, nsid), Status.OK)
            self.assertEqual(start(ctrl, ABORT), Status.OK)
        self.assertEqual(read_log(ctrl).results, [(SHORT, ABORTED, nsid) for nsid in [2, 1] * 10])
        self.finish(machine)

    def test_format_ends_a_test_of_its_namespace(self) -> None:
        machine, ctrl = self.two_namespaces()
        self.assertEqual(start(ctrl, EXTENDED, 2), Status.OK)
        ctrl.check(Admin.FORMAT, 1)
        self.assertEqual(read_log(ctrl).code, EXTENDED)
        form = ctrl.admin.submit(Admin.FORMAT, 2)
        self.assertEqual(start(ctrl, SHORT, 2), Status.FORMAT_IN_PROGRESS)
        self.assertEqual(ctrl.admin.wait(form).status, Status.OK)
        self.assertEqual(read_log(ctrl), Log(0, 0, [(EXTENDED, FORMATTED, 2)]))
        self.finish(machine)

    def test_reset(self) -> None:
        """It ends a short test; an extended one goes on, and reads nothing twice but one piece."""
        machine, ctrl = self.two_namespaces()
        self.assertEqual(start(ctrl, SHORT, ALL), Status.OK)
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(read_log(ctrl), Log(0, 0, [(SHORT, RESET, ALL)]))
        before = machine.stats()["read_bytes"]
        self.assertEqual(start(ctrl, EXTENDED, ALL), Status.OK)
        machine.step(1_000_000)
        ctrl.disable()
        machine.step(10_000_000)
        paused = machine.stats()["read_bytes"]
        machine.step(1_000_000_000)
        self.assertEqual(machine.stats()["read_bytes"], paused)
        ctrl.enable()
        log = wait(machine, ctrl)
        self.assertEqual(log.results, [(EXTENDED, PASSED, ALL), (SHORT, RESET, ALL)])
        again = machine.stats()["read_bytes"] - before - 6 * MIB
        self.assertIn(again, (0, 128 * KIB))
        self.finish(machine)

    def test_power_cut_and_shutdown(self) -> None:
        machine = self.drive_machine(more=POWER_CUTS)
        ctrl = Controller(machine)
        Namespace(ctrl.create_queue()).write(0, pattern(1, 64 * KIB))
        self.assertEqual(start(ctrl, EXTENDED), Status.OK)
        machine.step(1_000_000)
        cut(machine, ctrl)
        self.assertEqual(read_log(ctrl).code, EXTENDED)
        ctrl.shutdown()
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(wait(machine, ctrl).results, [(EXTENDED, PASSED, 1)])
        self.finish(machine)

    def test_shutdown_that_is_taken_back(self) -> None:
        """It pauses an extended test, which then goes on without a reset."""
        machine, ctrl = self.two_namespaces()
        self.assertEqual(start(ctrl, EXTENDED), Status.OK)
        ctrl.shutdown()
        machine.writel(ctrl.bar + CC, 0x00460061)
        self.assertEqual(wait(machine, ctrl).results, [(EXTENDED, PASSED, 1)])
        self.assertGreaterEqual(machine.stats()["read_bytes"], 4 * MIB)
        self.finish(machine)

    def test_failing_block(self) -> None:
        """It is named if the read that fails is of one block: a longer one does not tell which."""
        for block, code, valid, lba in (
            (512, EXTENDED, 0xD, 0),
            (512, SHORT, 0xD, 0),
            (4096, SHORT, 0xF, 4),
        ):
            machine = self.machine(
                flash(),
                [
                    "-blockdev",
                    '{"driver": "blkdebug", "node-name": "n0", "image": {"driver": "null-co", '
                    '"size": 1048576, "read-zeroes": true}, "inject-error": [{"event": "none", '
                    '"iotype": "read", "errno": 5, "sector": 32}]}',
                ],
                controller(),
                namespace(),
                [
                    "-device",
                    f"nvme-ns,bus=nvme0,drive=n0,logical_block_size={block},"
                    f"physical_block_size={block}",
                ],
            )
            ctrl = Controller(machine)
            self.assertEqual(start(ctrl, code, 2), Status.OK)
            self.assertEqual(wait(machine, ctrl).results, [(code, FAILED, 2)])
            page = ctrl.get_log(LOG, 564)[1]
            said = struct.unpack_from("<BBxxxxxxxxxIQBB", page, 5)
            self.assertEqual(said, (1, valid, 2, lba, 2, 0x81))
            self.finish(machine)

    def test_host_waits_behind_it(self) -> None:
        """A read that meets one of the test's on its die is later than without a test."""
        latencies = []
        for code in (0, EXTENDED):
            machine, ctrl = self.two_namespaces()
            ns = Namespace(ctrl.create_queue())
            if code:
                self.assertEqual(start(ctrl, code), Status.OK)
            _, prp = ns.buffer(4 * KIB)
            ns.queue.wait(ns.start(Op.READ, 0, 4 * KIB, prp))
            latencies.append(
                next(x.latency_ns for x in self.finish(machine) if x.length == 4 * KIB)
            )
        self.assertGreater(latencies[1], latencies[0])
