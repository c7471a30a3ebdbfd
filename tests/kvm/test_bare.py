# SPDX-License-Identifier: GPL-2.0-or-later
"""The device under a guest without an operating system, on KVM, on TCG and on virtual time.

One binary runs on all three.  Asserted are data, counts, interrupts, and which doorbells reached
QEMU; how late completions were is only reported: that is the host's affair.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import unittest
from pathlib import Path
from typing import ClassVar

import bare
import listed
from bare import Bare
from logs import read_commands

FILL, DEPTHS = 256, 4  # LOAD_PAGES, and how many runs of n commands both_depths() has
IN_FLIGHT = 32
SEED = 20261129
STOPS = 12


class _OnOne(unittest.TestCase):
    """All tasks on one accelerator."""

    accelerator: ClassVar[str]
    n: ClassVar[int] = 200
    rounds: ClassVar[int] = 24
    commands: ClassVar[int] = 400
    qemu: ClassVar[Path]
    firmware: ClassVar[Path]
    guest: ClassVar[Path]

    def bare(self) -> Bare:
        found = Bare(self.qemu, self.firmware, self.guest, self.accelerator)
        return self.enterContext(found)

    def finish(self, run: Bare) -> bytes:
        """Every command's causes are its latency; the log's bytes."""
        log = run.dir / "f0.cmd"
        for command in read_commands(log):
            self.assertEqual(sum(command.causes), command.latency_ns, command)
        return log.read_bytes()

    def say(self, text: str) -> None:
        print(f"# {self.accelerator}: {text}", flush=True)

    def test_doorbells_that_reach_qemu(self) -> None:
        run, n = self.bare(), self.n
        run.run(f"polled={n} shadow={n}")
        self.finish(run)
        polled, shadow = run.results["polled"], run.results["shadow"]
        self.assertEqual(polled["commands"], FILL + DEPTHS * n)
        self.assertEqual(shadow["commands"], FILL + DEPTHS * n)
        # One doorbell at least for each command that is alone, and one for its completion.
        self.assertGreaterEqual(polled["doorbells"], 2 * n)
        reached = run.doorbells_in_qemu(1)
        # With event descriptors those of shadow doorbells wake the device, not QEMU's MMIO.
        mmio = polled["doorbells"] + (0 if run.realtime else shadow["doorbells"])
        self.assertEqual(reached, mmio)
        self.say(f"doorbells: {polled}, {shadow}, {reached} reached QEMU")

    def test_interrupts_and_processors(self) -> None:
        run, n = self.bare(), self.n
        run.run(f"interrupts={n} processors={n} latency={n}")
        self.finish(run)
        one, two = run.results["interrupts"], run.results["processors"]
        # A command that is alone has an interrupt of its own.
        self.assertGreaterEqual(one["interrupts"], n)
        self.assertLessEqual(one["interrupts"], one["commands"])
        self.assertEqual(two["commands"], FILL + 2 * n)
        self.assertGreater(two["first"], 0)
        self.assertGreater(two["second"], 0)
        self.assertLessEqual(two["second"], n)
        self.say(f"interrupts: {one}, {two}; not judged: {run.results['latency']}")
        if run.realtime:
            self.say(f"lateness, not judged: {run.stats['realtime']}")

    def test_resets_deletions_doorbells(self) -> None:
        run, rounds = self.bare(), self.rounds
        run.run(f"resets={rounds} deletions={rounds} doorbells={rounds}")
        self.finish(run)
        resets, deletions = run.results["resets"], run.results["deletions"]
        self.assertEqual(resets["ended"] + resets["cancelled"], rounds * IN_FLIGHT)
        ends = ("ended", "aborted", "unanswered")
        self.assertEqual(sum(deletions[each] for each in ends), rounds * IN_FLIGHT)
        self.assertGreater(run.results["doorbells"]["rung"], 0)
        self.say(f"{resets}, {deletions}, {run.results['doorbells']}")

    def listed(self, run: Bare, drawn: listed.Drawn) -> None:
        module = run.dir / "list"
        module.write_bytes(drawn.bytes())
        run.run(f"list={listed.QUEUES}", module)
        self.assertEqual(run.results["list"]["steps"], len(drawn.memory.steps))

    def test_commands_of_the_hunts_tables(self) -> None:
        run, drawn = self.bare(), listed.Drawn(SEED, self.commands)
        self.listed(run, drawn)
        self.finish(run)
        self.say(f"kinds of each table that ran: {drawn.kinds()}")


class _OnTheHostsClock(_OnOne):
    def test_stops_with_commands_in_flight(self) -> None:
        def stop(run: Bare, line: str) -> None:
            for _ in range(STOPS if line == "stop me" else 0):
                run.qmp("stop")
                run.qmp("cont")
                time.sleep(0.005)

        run = self.bare()
        run.run(f"stops={20 * self.n}", told=stop)
        self.finish(run)
        self.assertEqual(run.results["stops"]["commands"], 20 * self.n)


class OnKvm(_OnTheHostsClock):
    accelerator = "kvm"
    n = 100
    rounds = 12
    commands = 200

    def setUp(self) -> None:
        if why := bare.kvm_trouble():
            self.skipTest(why)


class OnTcg(_OnTheHostsClock):
    accelerator = "tcg"


class OnVirtualTime(_OnOne):
    accelerator = "icount"

    def test_twice_the_same_bytes(self) -> None:
        found = set()
        for _ in range(2):
            run = self.bare()
            run.run(f"interrupts={self.n} processors={self.n} resets={self.rounds} latency=100")
            said = "\n".join(run.lines).encode()
            found.add((hashlib.sha256(self.finish(run)).hexdigest(), said))
        self.assertEqual(len(found), 1, found)


def load_tests(
    loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: str | None
) -> unittest.TestSuite:
    """Those of the three accelerators, not of what they have in common."""
    suite = unittest.TestSuite()
    for case in (OnKvm, OnTcg, OnVirtualTime):
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


def setUpModule() -> None:
    folder = tempfile.TemporaryDirectory(prefix="scarp-bare-")
    unittest.addModuleCleanup(folder.cleanup)
    _OnOne.guest = bare.build(Path(folder.name))
