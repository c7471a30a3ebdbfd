# SPDX-License-Identifier: GPL-2.0-or-later
"""The data log: what the host wrote, byte by byte, in the order of the command log."""

from __future__ import annotations

import random

from fixture import DESCRIPTION, KIB, DriveTest, controller, namespace, pattern
from logs import GC_RUN, read_commands
from logs import HEADER as ROWS_HEADER
from machine import Machine, start_fails
from nvme import FUA, Controller, Namespace, Op
from test_realtime import HostController

HEADER = b"SCARPDT1" + bytes(8)
LOG = ",data-log={dir}/f0.data"


class DataLog(DriveTest):
    def test_bytes_in_the_order_of_completion(self) -> None:
        """Many writes in flight at once, which do not end in the order of their submission."""
        machine, _, ns = self.drive(more=LOG)
        pick = random.Random(1)
        written: dict[int, bytes] = {}
        waiting = []
        for number in range(64):
            # Three of four to one die, whose queue is then longer than the others'.
            die = pick.choice((0, 0, 0, pick.randrange(1, 4)))
            at, size = (number * 8 + die) * 4 * KIB, pick.choice((1, 2, 4)) * KIB
            data = pick.randbytes(size)
            _, prp = ns.buffer(4 * KIB)
            machine.write(prp[0], data)
            written[at] = data
            waiting.append(ns.start(Op.WRITE, at, size, prp, FUA if number % 5 == 0 else 0))
            # Which have no bytes in the log.
            if number % 7 == 0:
                waiting.append(ns.start(Op.WRITE_ZEROES, at + 16 * KIB, 4 * KIB))
        for cid in waiting:
            ns.queue.wait(cid)
        ns.read(0, 4 * KIB)
        self.finish(machine)
        commands = [c for c in read_commands(machine.dir / "f0.cmd") if c.op == 1]
        self.assertEqual(len(commands), 64)
        self.assertNotEqual([c.seq for c in commands], sorted(c.seq for c in commands))
        data = (machine.dir / "f0.data").read_bytes()
        self.assertEqual(data, HEADER + b"".join(written[c.offset] for c in commands))

    def refuse(self, more: str, *words: str) -> None:
        device = ["-device", f"nvme-flash,id=f0,description={DESCRIPTION},data-log={more}"]
        text = start_fails(self.qemu, device)
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in ("data-log", *words):
            self.assertIn(word, text)

    def test_refused(self) -> None:
        self.refuse("/nonexistent/log,cmd-log=/dev/null", "/nonexistent/log")
        self.refuse("/dev/null,cmd-log=/dev/null,clock=realtime", "excludes clock=realtime")
        self.refuse("/dev/null", "needs 'cmd-log'")

    def test_no_room_for_it(self) -> None:
        machine, _, ns = self.drive(more=",data-log=/dev/full")
        ns.write(0, bytes(4 * KIB))
        self.assertNotEqual(machine.quit(), 0)
        self.assertIn("data-log: could not be written completely", machine.stderr())

    def full(self, kind: type[Controller], more: str) -> tuple[Machine, Namespace]:
        """A drive whose command log has no room."""
        drive = f"nvme-flash,id=f0,description={DESCRIPTION},age=900,cmd-log=/dev/full{more}"
        machine = self.machine(["-device", drive], controller(), namespace())
        return machine, Namespace(kind(machine).create_queue())

    def check_full(self, machine: Machine) -> None:
        self.assertNotEqual(machine.quit(), 0)
        self.assertIn("cmd-log: could not be written completely", machine.stderr())

    def test_no_room_for_another(self) -> None:
        """The other logs are written to their ends nevertheless."""
        machine, ns = self.full(Controller, f"{LOG},gc-log={{dir}}/gc")
        data = pattern(1, 128 * KIB)
        for at in range(8):
            ns.write(at * len(data), data)
        runs = machine.stats()["gc_runs"]
        self.assertGreater(runs, 0)
        self.check_full(machine)
        rows = (machine.dir / "gc").stat().st_size - ROWS_HEADER.size
        self.assertGreaterEqual(rows, runs * GC_RUN.size)
        self.assertEqual((machine.dir / "f0.data").read_bytes(), HEADER + 8 * data)

    def test_no_room_for_another_on_the_hosts_clock(self) -> None:
        machine, ns = self.full(HostController, ",clock=realtime,lateness-log={dir}/late")
        for _ in range(20):
            ns.read(0, 4 * KIB)
        self.check_full(machine)
        self.assertEqual((machine.dir / "late").stat().st_size, ROWS_HEADER.size + 20 * 48)
