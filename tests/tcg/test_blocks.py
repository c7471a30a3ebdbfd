# SPDX-License-Identifier: GPL-2.0-or-later
"""Which translation block follows: interrupts, code that changes, breakpoints, several CPUs."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar

from firmware import BUDGET, CALLS, CHECKS, CHECKS_ICOUNT, CPUS, ICOUNT, REAL_TIME, Guest, Machine
from gdb import INTERRUPT, TRAP, Ended, Gdb

# So often does the guest still call what should stop it at the first call.
LEFT = 100_000
IN_CHECKS = 10


class Blocks(unittest.TestCase):
    qemu: ClassVar[Path]
    firmware: ClassVar[Path]
    machine: ClassVar[Machine]
    folder: ClassVar[tempfile.TemporaryDirectory[str]]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory(prefix="scarp-tcg-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.machine = Machine(cls.qemu, cls.firmware, Guest(Path(cls.folder.name)))

    def good(self, output: str, checks: int) -> None:
        lines = output.splitlines()
        self.assertEqual(lines[-1], "done", output)
        self.assertEqual([x for x in lines if x.startswith("not ok")], [], output)
        self.assertEqual(len([x for x in lines if x.startswith("ok ")]), checks, output)


class OneCpu(Blocks):
    def test_instructions_counted_twice_the_same(self) -> None:
        output = self.machine.output(CHECKS_ICOUNT, *ICOUNT)
        self.good(output, IN_CHECKS + 1)
        self.assertEqual(output, self.machine.output(CHECKS_ICOUNT, *ICOUNT))

    def test_on_real_time(self) -> None:
        self.good(self.machine.output(CHECKS, *REAL_TIME), IN_CHECKS)

    def test_one_instruction_in_a_block(self) -> None:
        """Blocks of another kind, the same instructions: the same output to the last digit."""
        usual = self.machine.output(CHECKS_ICOUNT, *ICOUNT)
        single = ("-accel", "tcg,thread=single,one-insn-per-tb=on", *ICOUNT[2:])
        self.assertEqual(self.machine.output(CHECKS_ICOUNT, *single), usual)


class SeveralCpus(Blocks):
    def test_instructions_counted_twice_the_same(self) -> None:
        output = self.machine.output(CPUS, *ICOUNT, "-smp", "4")
        self.good(output, 1)
        self.assertEqual(output, self.machine.output(CPUS, *ICOUNT, "-smp", "4"))

    def test_a_thread_for_each(self) -> None:
        self.good(self.machine.output(CPUS, *REAL_TIME, "-smp", "4"), 1)


class Debugger(Blocks):
    def _debug(self, *options: str) -> None:
        symbols = self.machine.guest.symbols
        target, calls = symbols["target"], symbols["calls"]
        path = Path(self.folder.name) / f"{self.id()}.socket"
        gdbstub = f"unix:path={path},server=on,wait=off"
        command = self.machine.command(CALLS, *options, "-S", "-gdb", gdbstub)
        with contextlib.ExitStack() as stack:
            qemu = stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
                )
            )
            stack.callback(qemu.kill)
            assert qemu.stdout
            with Gdb(path) as gdb:
                gdb.resume()
                # The way to target() has been looked up often by now.
                self.assertEqual(qemu.stdout.readline(), "warm\n")
                gdb.interrupt()
                self.assertEqual(gdb.stopped(), INTERRUPT)

                gdb.insert(target)
                gdb.write(BUDGET, LEFT)
                for _ in range(5):
                    gdb.resume()
                    self.assertEqual(gdb.stopped(), TRAP)
                    self.assertEqual(gdb.rip(), target)
                before = gdb.read(calls)
                self.assertEqual(gdb.step(), TRAP)
                self.assertNotEqual(gdb.rip(), target)
                gdb.resume()
                self.assertEqual(gdb.stopped(), TRAP)
                self.assertEqual((gdb.rip(), gdb.read(calls)), (target, before + 1))

                gdb.remove(target)
                gdb.write(BUDGET, LEFT)
                before = gdb.read(calls)
                gdb.resume()
                with self.assertRaises(Ended):
                    gdb.stopped()
            self.good(qemu.stdout.read(), 0)

    def test_breakpoints_with_instructions_counted(self) -> None:
        self._debug(*ICOUNT)

    def test_breakpoints_on_real_time(self) -> None:
        self._debug(*REAL_TIME)
