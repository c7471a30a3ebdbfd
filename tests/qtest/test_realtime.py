# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine in a thread of its own, against the host's clock: data and lost guests, not times."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from fixture import DESCRIPTION, KIB, MIB, DriveTest, controller, flash, namespace, pattern
from logs import read_commands
from machine import Machine
from nvme import Admin, Completion, Controller, Namespace, Op, Queue
from scarplib.guest.realtime import allows_priority

# 64 of its writes last for 16 s on four dies.  So long may a busy host keep a test from going on
# while they are in flight.
SLOW = ",overrides=timing.program_ns=1000000000"


class HostQueue(Queue):
    """Waits in host time: the machine has no timer that could be stepped to."""

    def wait(self, cid: int) -> Completion:
        for _ in self.ctrl.machine.looks():
            if completion := self.done(cid):
                return completion
        raise AssertionError(f"queue {self.qid}: command {cid} never completed")


def schedules(machine: Machine, name: str | None = None) -> set[tuple[int, int]]:
    """Policies and priorities of the threads of that name, or of all but the drive's."""
    found = set()
    for thread in Path(f"/proc/{machine.process.pid}/task").iterdir():
        own = (thread / "comm").read_text().strip()
        if own == name or (not name and own != "nvme-flash"):
            number = int(thread.name)
            found.add((os.sched_getscheduler(number), os.sched_getparam(number).sched_priority))
    return found


def is_asleep(machine: Machine, name: str) -> bool:
    """The thread of that name waits for something other than a processor."""
    return any(
        (thread / "comm").read_text().strip() == name
        and (thread / "stat").read_text().rpartition(")")[2].split()[0] == "S"
        for thread in Path(f"/proc/{machine.process.pid}/task").iterdir()
    )


class HostController(Controller):
    queue_class = HostQueue


class Realtime(DriveTest):
    def started(self, more: str = "") -> tuple[Machine, Controller, Namespace]:
        machine = self.drive_machine(more=",clock=realtime" + more)
        ctrl = HostController(machine)
        return machine, ctrl, Namespace(ctrl.create_queue())

    def test_pinned(self) -> None:
        """The drive's thread runs where it was told to, and nobody else is kept there."""
        core = max(os.sched_getaffinity(0))
        machine, _, ns = self.started(f",cpu={core}")
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        threads = Path(f"/proc/{machine.process.pid}/task")
        allowed = {
            (thread / "comm").read_text().strip(): os.sched_getaffinity(int(thread.name))
            for thread in threads.iterdir()
        }
        self.assertEqual(allowed.pop("nvme-flash"), {core})
        for name, cores in allowed.items():
            self.assertEqual(cores, os.sched_getaffinity(0), name)
        self.finish(machine)

    def test_priority(self) -> None:
        """The drive's thread has it if the host allows it, and nobody else; it says what it has."""
        if not allows_priority(3):
            self.skipTest("this host gives no priority")
        for wanted in (0, 3):
            machine, _, ns = self.started(f",priority={wanted}")
            self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
            had = machine.stats()["realtime"]["realtime_priority"]
            self.assertEqual(had, wanted)
            self.assertEqual(schedules(machine), {(os.SCHED_OTHER, 0)})
            # It may have given its priority up for a moment.
            own = (os.SCHED_FIFO if wanted else os.SCHED_OTHER, wanted)
            self.wait_for_schedule(machine, own)
            self.finish(machine)

    def wait_for_schedule(self, machine: Machine, own: tuple[int, int]) -> None:
        machine.wait_until(lambda: schedules(machine, "nvme-flash") == {own}, f"{own}")

    def test_priority_is_back_before_a_long_sleep(self) -> None:
        """Who was busy is ordinary for a while, and needs priority to be woken in time.

        While its thread sleeps for long, others have their turn without that.
        """
        if not allows_priority(3):
            self.skipTest("this host gives no priority")
        # The link has each read for 4 ms.  The thread polls all the while, and gives its priority
        # up after 80 ms.  A write is left then, which takes a second.
        machine, _, ns = self.started(
            ",priority=3,spin-ns=10000000"
            ",overrides=controller.link_mbs=1;timing.program_ns=1000000000"
        )
        _, prp = ns.buffer(4 * KIB)
        for turn in range(2):
            # What the last turn used is of another time.
            time.sleep(0.1)
            ns.start(Op.WRITE, turn * 4 * KIB, 4 * KIB, prp, ring=False)
            reads = [ns.start(Op.READ, MIB, 4 * KIB, prp, ring=False) for _ in range(21)]
            ns.queue.ring()
            # Telling the drive of completions would keep the thread from polling.
            time.sleep(0.1)
            for cid in reads:
                self.assertEqual(ns.queue.wait(cid).status, 0)
            machine.wait_until(lambda: is_asleep(machine, "nvme-flash"), "the thread's sleep")
            self.assertEqual(schedules(machine, "nvme-flash"), {(os.SCHED_FIFO, 3)})
        self.finish(machine)

    def test_without_permission(self) -> None:
        """A host that allows no priority has a drive all the same."""
        if os.geteuid() or not allows_priority(3):
            self.skipTest("there is no permission that could be taken away")
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "qemu"
            script.write_text(
                "#!/bin/sh\n"
                "exec setpriv --bounding-set -sys_nice --inh-caps -sys_nice "
                f'prlimit --rtprio=0 {self.qemu} "$@"\n'
            )
            script.chmod(0o755)
            drive = flash(more=",clock=realtime,priority=3")
            machine = Machine(script, [*drive, *controller(), *namespace()])
        self.addCleanup(machine.close)
        ns = Namespace(HostController(machine).create_queue())
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(machine.stats()["realtime"]["realtime_priority"], 0)
        self.finish(machine)

    def test_more_rows_than_a_thread_writes_at_once(self) -> None:
        machine, _, ns = self.started()
        for index in range(900):
            ns.read(index % 64 * 4 * KIB, 4 * KIB)
        commands = self.finish(machine)
        self.assertEqual([c.offset // (4 * KIB) for c in commands], [n % 64 for n in range(900)])

    def test_a_log_that_cannot_be_written(self) -> None:
        machine = self.machine(
            [
                "-device",
                f"nvme-flash,id=f0,description={DESCRIPTION},clock=realtime,cmd-log=/dev/full",
            ],
            controller(),
            namespace(),
        )
        ns = Namespace(HostController(machine).create_queue())
        for index in range(900):
            ns.read(index % 64 * 4 * KIB, 4 * KIB)
        self.assertNotEqual(machine.quit(), 0)
        self.assertIn("cmd-log: could not be written completely", machine.stderr())

    def test_data(self) -> None:
        machine, _, ns = self.started()
        for index in range(64):
            self.assertEqual(ns.write(index * 4 * KIB, pattern(index, 4 * KIB)).status, 0)
        self.assertEqual(ns.flush(), 0)
        self.assertEqual(ns.deallocate([(0, 16 * KIB)]), 0)
        self.assertEqual(ns.read(0, 16 * KIB), bytes(16 * KIB))
        for index in range(4, 64):
            self.assertEqual(ns.read(index * 4 * KIB, 4 * KIB), pattern(index, 4 * KIB))
        self.assertEqual(len([row for row in self.finish(machine) if row.op == 1]), 64)

    def test_latencies_are_at_least_the_models(self) -> None:
        machine, _, ns = self.started()
        began = time.monotonic()
        for index in range(20):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        self.assertGreater(time.monotonic() - began, 20 * 0.00075)
        for row in self.finish(machine):
            self.assertGreater(row.latency_ns, 750_000)

    def test_deep_queue_through_garbage_collection(self) -> None:
        machine, _, ns = self.started(
            ",overrides=timing.program_ns=20000;timing.erase_ns=50000;timing.read_ns=5000"
        )
        units = machine.stats()["logical_bytes"] // (4 * KIB)
        slots = [ns.buffer(4 * KIB) for _ in range(128)]
        version = [0] * units
        for turn in range(units * 4 // len(slots)):
            cids = []
            for index, (addr, prp) in enumerate(slots):
                unit = (turn * len(slots) + index) * 37 % units
                version[unit] += 1
                machine.write(addr, pattern(unit << 32 | version[unit], 4 * KIB))
                cids.append(ns.start(Op.WRITE, unit * 4 * KIB, 4 * KIB, prp, ring=False))
            ns.queue.ring()
            if turn % 16 == 0:
                machine.stats()  # another thread's look at the engine
            for cid in cids:
                self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertGreater(machine.stats()["gc_runs"], 0)
        for unit in range(0, units, 7):
            self.assertEqual(
                ns.read(unit * 4 * KIB, 4 * KIB), pattern(unit << 32 | version[unit], 4 * KIB)
            )
        self.finish(machine)

    def start_some(self, machine: Machine, ns: Namespace) -> list[int]:
        _, prp = ns.buffer(4 * KIB)
        cids = [
            ns.start(Op.WRITE, (64 + index) * 4 * KIB, 4 * KIB, prp, ring=False)
            for index in range(64)
        ]
        ns.queue.ring()
        machine.wait_until(lambda: machine.stats()["writes"] >= 65, "all writes with the drive")
        return cids

    def test_reset_in_flight(self) -> None:
        machine, ctrl, ns = self.started(SLOW)
        ns.write(0, pattern(1, 4 * KIB))
        self.start_some(machine, ns)
        stats = machine.stats()
        self.assertGreater(stats["cmds_accepted"], stats["cmds_completed"])
        ctrl.disable()
        ctrl.enable()
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        self.finish(machine)

    def test_abort_and_delete_queue_in_flight(self) -> None:
        machine, ctrl, ns = self.started(SLOW)
        ns.write(0, pattern(1, 4 * KIB))
        cids = self.start_some(machine, ns)
        ctrl.check(Admin.ABORT, cdw=(cids[-1] << 16 | ns.queue.qid,))
        self.assertNotEqual(ns.queue.wait(cids[-1]).status, 0)
        ctrl.check(Admin.DELETE_SQ, cdw=(ns.queue.qid,))
        ctrl.check(Admin.DELETE_CQ, cdw=(ns.queue.qid,))
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        self.finish(machine)

    def test_end_in_flight(self) -> None:
        machine, _, ns = self.started(SLOW)
        ns.write(0, pattern(1, 4 * KIB))
        self.start_some(machine, ns)
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))
        rows = read_commands(machine.dir / "f0.cmd")
        self.assertEqual(len(rows), 65)
        self.assertTrue(rows[-1].unseen)

    def test_shutdown(self) -> None:
        machine, ctrl, ns = self.started(",overrides=controller.buffer_bytes=1048576")
        ns.write(0, pattern(1, 4 * KIB))
        ctrl.notify_shutdown()
        machine.wait_until(
            lambda: machine.readl(ctrl.bar + 0x1C) & 0xC == 0x8, "the shutdown's end"
        )
        self.assertEqual(machine.stats()["flushes"], 1)
        self.finish(machine)
