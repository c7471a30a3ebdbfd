# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts as a hang: not that the host has no time for QEMU."""

from __future__ import annotations

import os
import signal
import tempfile
import time
import unittest
from pathlib import Path

from fixture import DriveTest
from machine import MachineDied, MachineHangs
from patience import WATCH_S, Patience

PID = 7


class Patiences(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.proc = Path(folder.name)

    def is_in(self, *states: str, ticks: int = 0) -> None:
        """The program's threads are in these states, after so much processor time."""
        for number, state in enumerate(states):
            thread = self.proc / str(PID) / "task" / str(PID + number)
            thread.mkdir(parents=True, exist_ok=True)
            # A name may be anything, with brackets and spaces in it.
            (thread / "stat").write_text(f"{thread.name} (a) R (b) {state} 1 1 1 0 -1\n")
        said = f"{PID} (a) R (b) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0\n"
        (self.proc / str(PID) / "stat").write_text(said)

    def test_who_sleeps_for_ever_hangs(self) -> None:
        self.is_in("S", "S")
        patience = Patience(PID, 3.5, self.proc)
        self.assertEqual([patience.spend(1.0) for _ in range(4)], [True, True, True, False])

    def test_who_waits_for_a_processor_or_a_disk_does_not(self) -> None:
        for state in "RD":
            self.is_in("S", state)
            patience = Patience(PID, 3.5, self.proc)
            self.assertTrue(all(patience.spend(1000.0) for _ in range(100)), state)

    def test_who_is_busy_for_ever_hangs(self) -> None:
        self.is_in("R")
        patience = Patience(PID, 3.5, self.proc)
        second = os.sysconf("SC_CLK_TCK")
        spent = []
        for seconds in (3, 3, 4):
            self.is_in("R", ticks=seconds * second)
            spent.append(patience.spend(1000.0))
        self.assertEqual(spent, [True, True, False])

    def test_looks_end(self) -> None:
        self.is_in("S")
        looks = sum(1 for _ in Patience(PID, 3 * WATCH_S, self.proc).looks())
        self.assertGreater(looks, 3)


class Hangs(DriveTest):
    def test_a_machine_that_stands_still(self) -> None:
        machine = self.drive_machine()
        machine.give_up_after(0.1)
        os.kill(machine.process.pid, signal.SIGSTOP)
        with self.assertRaisesRegex(MachineHangs, "does not answer"):
            machine.readl(0)
        os.kill(machine.process.pid, signal.SIGCONT)

    def test_a_machine_that_is_no_more(self) -> None:
        machine = self.drive_machine()
        machine.give_up_after(1.0)
        machine.process.kill()
        with self.assertRaisesRegex(MachineDied, "has ended"):
            machine.wait_until(lambda: False, "the end of days")

    def test_a_condition_that_never_holds(self) -> None:
        machine = self.drive_machine()
        machine.give_up_after(0.1)
        began = time.monotonic()
        with self.assertRaisesRegex(AssertionError, "never: the end of days"):
            machine.wait_until(lambda: False, "the end of days")
        self.assertGreater(time.monotonic() - began, 0.05)
        self.finish(machine)
