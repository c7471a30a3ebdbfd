# SPDX-License-Identifier: GPL-2.0-or-later
"""The device under a guest without an operating system, on KVM, on TCG and on virtual time.

One binary runs on all three.  Asserted are data, counts, interrupts, and which doorbells reached
QEMU; how late completions were is only reported: that is the host's affair.
"""

from __future__ import annotations

import os
import tempfile
import time
import unittest
from pathlib import Path
from typing import ClassVar

import bare
import listed
from bare import Bare
from logs import read_commands
from scarplib.device_logs import gc_log
from scarplib.guest.realtime import allows_priority

FILL, DEPTHS = 256, 4  # LOAD_PAGES, and how many runs of n commands both_depths() has
IN_FLIGHT = 32
SEED = 20261129
STOPS = 12
STOPPED = 20  # times n: how many commands the machine is stopped in
# A guest that ends by itself, so many times; how long it waits before, and needs for it.
ENDS, PAUSE_US, REBOOT_US = 4, 40_000, 100
LATENESS = ("all_late_n", "all_late_p50_ns", "all_late_p99_ns", "all_late_max_ns")


def stop(run: Bare, line: str) -> None:
    """Stops and continues the machine while the guest has commands in flight."""
    for _ in range(STOPS if line == "stop me" else 0):
        run.qmp("stop")
        run.qmp("cont")
        time.sleep(0.005)


class OnOne(unittest.TestCase):
    """One boot on one accelerator, in which all tasks run; each test judges some of them."""

    accelerator: ClassVar[str]
    n: ClassVar[int] = 200
    rounds: ClassVar[int] = 24
    commands: ClassVar[int] = 400
    qemu: ClassVar[Path]
    firmware: ClassVar[Path]
    guest: ClassVar[Path]
    run_of: ClassVar[Bare]
    drawn: ClassVar[listed.Drawn]

    @classmethod
    def tasks(cls) -> str:
        n, rounds = cls.n, cls.rounds
        # The list comes first: its model begins with a drive that was never written.
        tasks = f"list={listed.QUEUES} polled={n} shadow={n} interrupts={n} processors={n} "
        tasks += f"latency={n} resets={rounds} deletions={rounds} doorbells={rounds} "
        return f"{tasks}stops={STOPPED * n} count=1"

    @classmethod
    def boot(cls) -> Bare:
        run = Bare(cls.qemu, cls.firmware, cls.guest, cls.accelerator)
        cls.enterClassContext(run)
        module = run.dir / "list"
        module.write_bytes(cls.drawn.bytes())
        run.run(cls.tasks(), module, stop if run.realtime else None)
        return run

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.drawn = listed.Drawn(SEED, cls.commands)
        cls.run_of = cls.boot()

    def result(self, task: str) -> dict[str, int]:
        found = self.run_of.results[task]
        print(f"# {self.accelerator}: {task} {found}", flush=True)
        return found

    def test_commands_of_the_hunts_tables(self) -> None:
        self.assertEqual(self.result("list")["steps"], len(self.drawn.memory.steps))
        print(f"# {self.accelerator}: kinds of each table that ran: {self.drawn.kinds()}")

    def test_verified_data(self) -> None:
        for task in ("polled", "shadow", "interrupts"):
            self.assertEqual(self.result(task)["commands"], FILL + DEPTHS * self.n)

    def test_doorbells_that_reach_qemu(self) -> None:
        count = self.result("count")
        reached = self.run_of.doorbells_in_qemu(1)
        print(f"# {self.accelerator}: {reached} reached QEMU")
        # With event descriptors those of shadow doorbells wake the device, not QEMU's MMIO.
        shadow = 0 if self.run_of.realtime else count["shadow"]
        self.assertEqual(reached, count["plain"] + shadow)
        self.assertGreater(count["plain"], 0)
        self.assertGreater(count["shadow"], 0)

    def test_interrupts(self) -> None:
        found = self.result("interrupts")
        # One that is not taken yet stands for those that come meanwhile.
        self.assertGreater(found["interrupts"], 0)
        self.assertLessEqual(found["interrupts"], found["commands"])

    def test_two_processors(self) -> None:
        found = self.result("processors")
        self.assertEqual(found["commands"], FILL + 2 * self.n)
        self.assertGreater(found["first"], 0)
        self.assertGreater(found["second"], 0)
        self.assertLessEqual(found["second"], self.n)

    def test_resets_and_deleted_queues(self) -> None:
        resets, deletions = self.result("resets"), self.result("deletions")
        self.assertEqual(resets["ended"] + resets["cancelled"], self.rounds * IN_FLIGHT)
        ends = ("ended", "aborted", "unanswered")
        self.assertEqual(sum(deletions[each] for each in ends), self.rounds * IN_FLIGHT)

    def test_random_doorbells_beside_resets(self) -> None:
        self.assertGreater(self.result("doorbells")["rung"], 0)

    def test_causes_are_the_latency(self) -> None:
        commands = read_commands(self.run_of.dir / "f0.cmd")
        self.assertGreater(len(commands), FILL)
        for command in commands:
            self.assertEqual(sum(command.causes), command.latency_ns, command)


class OnTheHostsClock(OnOne):
    def test_stops_with_commands_in_flight(self) -> None:
        self.assertEqual(self.result("stops")["commands"], STOPPED * self.n)

    def test_lateness_is_reported(self) -> None:
        self.result("latency")
        late = {key: self.run_of.stats["realtime"][key] for key in LATENESS}
        print(f"# {self.accelerator}: {late}, not judged")
        self.assertGreater(late["all_late_n"], 0)


class OnKvm(OnTheHostsClock):
    accelerator = "kvm"
    n = 100
    rounds = 12
    commands = 200

    @classmethod
    def setUpClass(cls) -> None:
        if why := bare.kvm_trouble():
            raise unittest.SkipTest(why)
        super().setUpClass()


class OnTcg(OnTheHostsClock):
    accelerator = "tcg"


class OnVirtualTime(OnOne):
    accelerator = "icount"

    def test_twice_the_same_bytes(self) -> None:
        again = self.boot()
        self.assertEqual(again.lines, self.run_of.lines)
        logs = [(run.dir / "f0.cmd").read_bytes() for run in (again, self.run_of)]
        self.assertEqual(logs[0], logs[1])

    def test_the_drive_stands_still_once_the_guest_has_ended(self) -> None:
        """How far the clock comes until QEMU ends is the host's affair: no log has any of it."""
        logs = []
        for _ in range(ENDS):
            run = Bare(self.qemu, self.firmware, self.guest, self.accelerator)
            self.enterContext(run)
            collections = run.dir / "f0.gc"
            more = f",overrides=gc.background_free_blocks=16,age=900,gc-log={collections}"
            run.run(f"polled=8 reboot={PAUSE_US}", more=more)
            last_ns = max(command.complete_ns for command in read_commands(run.dir / "f0.cmd"))
            ends = [each.end for each in gc_log.read_gc_runs(collections)]
            # It collects while the guest waits, and would go on.
            self.assertGreater(sum(end > last_ns for end in ends), 0)
            self.assertLess(max(ends), last_ns + (PAUSE_US + REBOOT_US) * 1000)
            logs.append(collections.read_bytes())
        self.assertEqual(len(set(logs)), 1)

    def test_the_clock_stands_still_until_a_reset(self) -> None:
        """When QEMU's main loop resets the machine is the host's affair: the guest sees none of it.

        The drive collects meanwhile.  What comes in the second boot comes at equal times, too.
        """
        logs = []
        for _ in range(ENDS):
            run = Bare(self.qemu, self.firmware, self.guest, self.accelerator)
            self.enterContext(run)
            collections = run.dir / "f0.gc"
            more = f",overrides=gc.background_free_blocks=16,age=900,gc-log={collections}"
            run.run(f"polled=8 again={PAUSE_US}", more=more)
            # Both boots ran the first task.
            self.assertEqual([line.split()[0] for line in run.lines], ["polled", "polled", "again"])
            commands = read_commands(run.dir / "f0.cmd")
            last_ns = max(command.complete_ns for command in commands)
            # Behind the second boot's end the clock goes on until the host has told QEMU to quit.
            found = [each for each in gc_log.read_gc_runs(collections) if each.end <= last_ns]
            reset_ns = commands[len(commands) // 2 - 1].complete_ns + PAUSE_US * 1000
            self.assertTrue(any(each.begin < reset_ns < each.end for each in found))
            logs.append((commands, found))
        for other in logs[1:]:
            self.assertEqual(other, logs[0])

    def test_a_read_takes_what_the_model_says(self) -> None:
        # 91,720 ns are docs/model.md's; the rest is the guest's polling.
        self.assertIn(self.result("latency")["seen_ns"], range(91_720, 92_720))


class OnOneCore(unittest.TestCase):
    """A drive's thread with priority, and the virtual CPUs on the same core of the host."""

    def test_no_poll_for_a_lock_whose_holder_cannot_run(self) -> None:
        if not allows_priority(1):
            self.skipTest("this host gives no priority")
        core = min(os.sched_getaffinity(0))
        run = Bare(OnOne.qemu, OnOne.firmware, OnOne.guest, "tcg")
        self.enterContext(run)
        run.run("latency=1000", more=f",cpu={core},priority=1", core=core)
        real = run.stats["realtime"]
        late = {key: real[key] for key in ("read_late_n", "read_late_p50_ns", "read_late_p99_ns")}
        print(f"# on one core: {run.results['latency']}, {late}, not judged", flush=True)
        self.assertEqual(real["realtime_priority"], 1)
        self.assertEqual(real["realtime_lost_polls"], 0)


def load_tests(
    loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: str | None
) -> unittest.TestSuite:
    """Those of the three accelerators, not of what they have in common."""
    suite = unittest.TestSuite()
    for case in (OnKvm, OnTcg, OnVirtualTime, OnOneCore):
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


def setUpModule() -> None:
    folder = tempfile.TemporaryDirectory(prefix="scarp-bare-")
    unittest.addModuleCleanup(folder.cleanup)
    OnOne.guest = bare.build(Path(folder.name))
