# SPDX-License-Identifier: GPL-2.0-or-later
"""The lateness of a drive on the host's clock: what is counted, and when the clock stands still.

No test says how late a completion may be: the host may be busy.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from fixture import DESCRIPTION, KIB, MIB, DriveTest, flash, namespace, pattern
from machine import Machine, start_fails
from nvme import Admin, Controller, Namespace, Op
from scarplib.device_logs import lateness_log, log_page
from test_realtime import SLOW, HostController, HostQueue

DBBUF_CONFIG = 0x7C


class ShadowQueue(HostQueue):
    """Its doorbells are in memory too, once the controller knows where."""

    shadow = 0

    def ring(self) -> None:
        if self.shadow and self.qid:
            self.ctrl.machine.write(self.shadow + self.qid * 8, self._tail.to_bytes(4, "little"))
        super().ring()

    def poll(self, now_ns: int = 0) -> None:
        before = self._head
        super().poll(now_ns)
        if self.shadow and self.qid and self._head != before:
            self.ctrl.machine.write(
                self.shadow + self.qid * 8 + 4, self._head.to_bytes(4, "little")
            )


class ShadowController(Controller):
    queue_class = ShadowQueue


class Lateness(DriveTest):
    def started(self, more: str = "") -> tuple[Machine, HostController, Namespace]:
        machine = self.drive_machine(more=f",clock=realtime,lateness-log={{dir}}/f0.late{more}")
        ctrl = HostController(machine)
        return machine, ctrl, Namespace(ctrl.create_queue())

    def realtime(self, machine: Machine) -> dict[str, Any]:
        found: dict[str, Any] = machine.stats()["realtime"]
        return found

    def log_page(self, ctrl: Controller) -> dict[str, int]:
        status, data = ctrl.get_log(log_page.LOG_ID, log_page.size(realtime=True))
        self.assertEqual(status, 0)
        path = ctrl.machine.dir / "page"
        path.write_bytes(data)
        return log_page.read(path).realtime

    def test_each_completion_is_counted_once(self) -> None:
        machine, ctrl, ns = self.started(",lateness-bound-ns=1")
        for index in range(10):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        for index in range(7):
            ns.read(index * 4 * KIB, 4 * KIB)
        ns.flush()
        # Of two ranges: one completion; the first range is a part.
        ns.deallocate([(0, 4 * KIB), (8 * KIB, 4 * KIB)])
        counted = self.realtime(machine)
        page = self.log_page(ctrl)
        self.assertEqual(set(page), set(counted))
        for name, count in (("read", 7), ("write", 10), ("all", counted["all_late_n"])):
            self.assertEqual((counted[f"{name}_late_n"], page[f"{name}_late_n"]), (count, count))
            points = [page[f"{name}_late_{p}_ns"] for p in ("p50", "p99", "p99_9", "max")]
            self.assertEqual(points, sorted(points))
            self.assertGreater(points[0], 0)
        self.assertEqual(counted["other_late_n"], 2)
        # Nothing is as fast as that.
        self.assertEqual(page["realtime_over_bound"], page["all_late_n"])
        self.assertEqual(page["realtime_bound_ns"], 1)
        self.assertGreater(page["realtime_thread_cpu_ns"], 0)
        self.assertGreaterEqual(page["realtime_elapsed_ns"], counted["realtime_elapsed_ns"])
        ctrl.check(Admin.FLASH, cdw=(2,))
        self.assertEqual(self.realtime(machine)["all_late_n"], 0)
        ns.read(0, 4 * KIB)
        self.assertEqual(self.realtime(machine)["read_late_n"], 1)

        commands = {row.seq: row for row in self.finish(machine)}
        late = list(lateness_log.completions(machine.dir / "f0.late"))
        self.assertEqual({row.seq for row in late}, set(commands))
        self.assertEqual(len(late), len(commands))
        for row in late:
            command = commands[row.seq]
            self.assertEqual(
                (row.submit, row.complete, row.op),
                (command.submit_ns, command.complete_ns, command.op),
            )
            self.assertLessEqual(row.arrived, row.submit)
            self.assertGreaterEqual(row.posted, row.complete)
            self.assertGreater(row.late_ns, 0)
        self.assertEqual(sum(row.part for row in late), 1)

    def test_arrival_is_when_the_doorbell_is_rung(self) -> None:
        """Commands of one doorbell arrived at one time, whenever they were taken."""
        machine, _, ns = self.started()
        cids = []
        for index in range(8):
            _, prp = ns.buffer(4 * KIB)
            cids.append(ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp, ring=False))
        ns.queue.ring()
        for cid in cids:
            ns.queue.wait(cid)
        self.finish(machine)
        rows = list(lateness_log.completions(machine.dir / "f0.late"))
        # One doorbell, one time.
        self.assertEqual(len({row.arrived for row in rows}), 1)
        self.assertEqual(len(rows), 8)

    def test_the_models_time_begins_at_the_doorbell(self) -> None:
        """However late the engine is told of it: it has not gone on while nobody needed it."""
        machine, _, ns = self.started()
        for index in range(50):
            self.wait_for_sleep(machine)
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        self.finish(machine)
        rows = list(lateness_log.completions(machine.dir / "f0.late"))
        self.assertEqual(len(rows), 50)
        self.assertEqual([row.submit - row.arrived for row in rows], [0] * 50)

    def wait_for_sleep(self, machine: Machine) -> None:
        """Until the drive's thread has nothing to do; QEMU's own has answered, and waits for us."""
        (thread,) = (
            task
            for task in Path(f"/proc/{machine.process.pid}/task").iterdir()
            if (task / "comm").read_text().strip() == "nvme-flash"
        )
        machine.wait_until(
            lambda: (thread / "stat").read_text().rpartition(")")[2].split()[0] == "S",
            "the thread's sleep",
        )

    def test_shadow_doorbells_and_event_descriptors(self) -> None:
        machine = self.machine(
            flash(more=",clock=realtime,lateness-log={dir}/f0.late"),
            ["-device", "nvme,id=nvme0,serial=scarp0,addr=4,ioeventfd=on"],
            namespace(),
        )
        ctrl = ShadowController(machine)
        shadow, events = machine.alloc(4 * KIB), machine.alloc(4 * KIB)
        machine.write(shadow, bytes(4 * KIB))
        machine.write(events, bytes(4 * KIB))
        cid = ctrl.admin.submit(DBBUF_CONFIG, prp=(shadow, events))
        self.assertEqual(ctrl.admin.wait(cid).status, 0)
        ShadowQueue.shadow = shadow
        try:
            ns = Namespace(ctrl.create_queue())
            for index in range(300):
                self.assertEqual(ns.write(index * 4 * KIB, pattern(index, 4 * KIB)).status, 0)
            for index in range(0, 300, 11):
                self.assertEqual(ns.read(index * 4 * KIB, 4 * KIB), pattern(index, 4 * KIB))
        finally:
            ShadowQueue.shadow = 0
        self.finish(machine)
        rows = list(lateness_log.completions(machine.dir / "f0.late"))
        self.assertEqual(len([row for row in rows if row.op == 1]), 300)
        self.assertTrue(all(row.arrived <= row.submit for row in rows))

    def test_the_clock_stands_still_while_the_machine_is_stopped(self) -> None:
        machine, _, ns = self.started(SLOW)
        _, prp = ns.buffer(4 * KIB)
        # Many, so that a busy host cannot come too late for all of them.
        cids = [
            ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp, ring=False) for index in range(64)
        ]
        ns.queue.ring()
        machine.wait_until(lambda: machine.stats()["writes"] >= len(cids), "all with the drive")
        machine.qmp("stop")
        before = machine.stats()
        self.assertGreater(before["cmds_accepted"], before["cmds_completed"])
        time.sleep(1.5)
        after = machine.stats()
        for name in ("realtime_elapsed_ns", "realtime_thread_cpu_ns"):
            spent = after["realtime"][name] - before["realtime"][name]
            self.assertLess(spent, 10**9 if name.endswith("cpu_ns") else 1, name)
        self.assertEqual(after["cmds_completed"], before["cmds_completed"])
        self.assertIsNone(ns.queue.done(cids[-1]))
        machine.qmp("cont")
        for cid in cids:
            self.assertEqual(ns.queue.wait(cid).status, 0)
        self.finish(machine)

    def test_the_thread_stands_still_too(self) -> None:
        """It lays in memory for what will be written, but not while the machine is stopped."""
        machine = self.machine(
            ["-S"], flash(more=",clock=realtime,overrides=geometry.page_bytes=32768")
        )
        machine.qmp("cont")
        machine.qmp("stop")
        before = self.resident(machine)
        time.sleep(0.2)
        # It had begun to find 128 MiB.
        self.assertLess(self.resident(machine) - before, 8 * MIB)
        self.finish(machine)

    def resident(self, machine: Machine) -> int:
        text = Path(f"/proc/{machine.process.pid}/statm").read_text(encoding="utf-8")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def test_neither_saved_nor_migrated(self) -> None:
        machine, _, _ = self.started()
        with self.assertRaisesRegex(AssertionError, "nvme-flash.*migrat|non-migratable"):
            machine.qmp("migrate", uri="exec:cat >/dev/null")
        said = machine.qmp("human-monitor-command", **{"command-line": "savevm x"})
        self.assertIn("Error", str(said))
        self.finish(machine)

    def test_refused(self) -> None:
        for more, word in (
            (",lateness-log=/tmp/x", "needs clock=realtime"),
            (",clock=realtime,lateness-log=/nonexistent/x", "/nonexistent/x"),
            (",spin-ns=1", "needs clock=realtime"),
            (",lateness-bound-ns=1", "needs clock=realtime"),
            (",clock=realtime,spin-ns=2000000000", "0 to 1000000000\n"),
            (",clock=realtime,lateness-bound-ns=18446744073709551614", "0 to 1000000000"),
        ):
            device = f"nvme-flash,id=f0,description={DESCRIPTION}{more}"
            said = start_fails(self.qemu, ["-device", device])
            self.assertIn(word, f"{said}\n")
            self.assertEqual(len(said.splitlines()), 1, said)
        # On virtual time its queues have timers, which no event descriptor runs.
        device = f"nvme-flash,id=f0,description={DESCRIPTION}"
        served = ["-device", "nvme,id=nvme0,serial=scarp0,addr=4,ioeventfd=on"]
        said = start_fails(self.qemu, ["-device", device, *served, *namespace()])
        self.assertIn("ioeventfd", said)
        # Nor of another controller of the subsystem, whichever comes first.
        nvme = "nvme,serial=same,subsys=s0"
        event = ["-device", f"{nvme},addr=5,ioeventfd=on"]
        bus = ["-device", "nvme-subsys,id=s0", "-device", device]
        own = ["-device", f"{nvme},id=nvme0,addr=4"]
        for order in ([*event, *own, *namespace()], [*own, *namespace(), *event]):
            said = start_fails(self.qemu, [*bus, *order])
            self.assertIn("ioeventfd", said)
            self.assertEqual(len(said.splitlines()), 1, said)
        # One that cannot have it may.
        machine = self.machine(bus, event, own, namespace(more=",shared=off"))
        Controller(machine, 4).create_queue()
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))
