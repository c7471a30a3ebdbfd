# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that sleeps makes the virtual clock as late as it likes: later than the drive's time."""

from __future__ import annotations

from fixture import KIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import Admin, Controller, Namespace, Op
from test_power import BUFFER, CUT_POWER, overrides

INTERNAL_ERROR = 0x006
YEAR_NS = 365 * 86400 * 10**9
# The drive's time ends after 18 years; the engine's could not go beyond 36.
TIMES_NS = (17 * YEAR_NS, 18 * YEAR_NS, 20 * YEAR_NS, 40 * YEAR_NS, 150 * YEAR_NS)
TIME_LAST = (2**63 - 1) // 8 // 2
PATIENCE_S = 30
# QEMU's own timer would have to run a billion times.
NO_TIMERS = ["-machine", "pit=off,hpet=off"]
SAID = r"^.*nvme-flash f0: the clock is past 18 years, where the drive's time ends; .*$"


class EndOfTime(DriveTest):
    def check_over(self, machine: Machine, ctrl: Controller, ns: Namespace) -> None:
        """Each command fails, and says that it is the device's fault; QEMU goes on."""
        for _ in range(2):
            _, prp = ns.buffer(4 * KIB)
            for op in (Op.READ, Op.WRITE, Op.COMPARE, Op.VERIFY, Op.WRITE_ZEROES):
                done = ns.queue.wait(ns.start(op, 0, 4 * KIB, prp))
                self.assertEqual(done.status, INTERNAL_ERROR, op.name)
            self.assertEqual(ns.copy(0, 64 * KIB, 4 * KIB), INTERNAL_ERROR)
            self.assertEqual(ns.deallocate([(0, 4 * KIB)]), INTERNAL_ERROR)
            self.assertEqual(ns.flush(), INTERNAL_ERROR)
            ctrl.check(Admin.FLASH, cdw=(2,))
            self.assertNotEqual(ctrl.command(Admin.FLASH, cdw=(CUT_POWER, 10)).status, 0)
            self.assertEqual(ctrl.get_log(2, 512)[0], 0)
            ctrl.shutdown()
            ctrl.disable()
            ctrl.enable()
            ns = Namespace(ctrl.create_queue())
        with self.assertRaisesRegex(AssertionError, "the drive's time is over"):
            machine.qmp("qom-set", path="/machine/peripheral/f0", property="power", value="cut")
        machine.qmp(
            "qom-set", path="/machine/peripheral/f0", property="running-scheme", value="pgc"
        )

    def check(self, time_ns: int, busy: bool) -> None:
        machine = self.machine(NO_TIMERS, flash(more=overrides(BUFFER)), controller(), namespace())
        ctrl = Controller(machine)
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        cids = []
        if busy:
            _, prp = ns.buffer(128 * KIB)
            for op in (Op.WRITE, Op.READ, Op.WRITE):
                cids.append(ns.start(op, 0, 128 * KIB, prp))
            machine.step(1000)
        machine.step(time_ns)
        # Those that the engine had, it ends.
        for cid in cids:
            self.assertEqual(ns.queue.wait(cid).status, 0)
        if time_ns < 18 * YEAR_NS:
            self.assertEqual(ns.read(0, 4 * KIB), bytes(4 * KIB) if busy else pattern(1, 4 * KIB))
            self.finish(machine)
            return
        if time_ns > 19 * YEAR_NS:
            self.check_over(machine, ctrl, ns)
        self.assertEqual(machine.quit(), 0)
        if time_ns > 19 * YEAR_NS:
            self.assertRegex(machine.stderr(), SAID)
            self.assertEqual(len(machine.stderr().splitlines()), 1)

    def test_of_a_drive(self) -> None:
        for busy in (False, True):
            for time_ns in TIMES_NS:
                with self.subTest(busy=busy, years=time_ns // YEAR_NS):
                    self.check(time_ns, busy)

    def test_in_the_midst_of_a_command(self) -> None:
        """No time is left that it could end in: it ends at once, as begun in time."""
        machine = self.machine(NO_TIMERS, flash(), controller(), namespace())
        machine.give_up_after(PATIENCE_S)
        ns = Namespace(Controller(machine).create_queue())
        _, prp = ns.buffer(4 * KIB)
        machine.step(TIME_LAST - machine.step(1) - 10_000)
        cid = ns.start(Op.WRITE, 0, 4 * KIB, prp)
        machine.step(20_000)
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(machine.quit(), 0)
        self.assertRegex(machine.stderr(), SAID)

    def test_of_an_idle_drive(self) -> None:
        """Whose engine first hears of the time when QEMU ends."""
        machine = self.machine(NO_TIMERS, flash())
        machine.step(100 * YEAR_NS)
        self.finish(machine)
