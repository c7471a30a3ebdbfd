# SPDX-License-Identifier: GPL-2.0-or-later
"""Sanitize: all is erased in the drive's time, and what other commands get meanwhile."""

from __future__ import annotations

import struct
from typing import NamedTuple

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op, Status
from test_realtime import HostController

EXIT_FAILURE, BLOCK_ERASE, OVERWRITE, CRYPTO_ERASE = 1, 2, 3, 4
AUSE, NO_DEALLOCATE = 1 << 3, 1 << 9
NEVER, DONE, RUNS = 0, 1, 2
ERASED = 1 << 8
ERROR_LOG, SMART_LOG, EFFECTS_LOG, SELF_TEST_LOG, LOG = 1, 2, 5, 6, 0x81
GET_FEATURES, ASYNC_EVENT, DIRECTIVE_RECEIVE = 0x0A, 0x0C, 0x1A
CUTS = ",overrides=nand.power_cuts=1;ftl.recovery=2"
STEP_NS = 200_000
PLANES, ERASE_NS = 4, 3_800_000  # of tiny.ini


class Log(NamedTuple):
    progress: int
    state: int
    erased: bool
    cdw10: int
    seconds: tuple[int, ...]


def read_log(ctrl: Controller) -> Log:
    status, page = ctrl.get_log(LOG, 512)
    assert status == Status.OK and not any(page[32:])
    progress, state, cdw10, *seconds = struct.unpack_from("<HHI6I", page)
    return Log(progress, state & 7, bool(state & ERASED), cdw10, tuple(seconds))


def start(ctrl: Controller, cdw10: int = BLOCK_ERASE) -> int:
    return ctrl.command(Admin.SANITIZE, cdw=(cdw10,)).status


def wait(machine: Machine, ctrl: Controller) -> list[Log]:
    """Each state of the log that differs from the one before."""
    logs = [read_log(ctrl)]
    for _ in range(100_000):
        if logs[-1].state != RUNS:
            return logs
        machine.step(STEP_NS)
        if (log := read_log(ctrl)) != logs[-1]:
            logs.append(log)
    raise AssertionError("it never ends")


def cut(machine: Machine, ctrl: Controller) -> None:
    """The power fails and returns; the host starts the controller again."""
    machine.qmp("qom-set", path="/machine/peripheral/f0", property="power", value="cut")
    ctrl.disable()
    ctrl.ask_enable()
    ctrl.wait_ready()


class Sanitize(DriveTest):
    def check_empty(self, ns: Namespace, size: int) -> None:
        for offset in range(0, size, 64 * KIB):
            self.assertEqual(ns.read(offset, 64 * KIB), bytes(64 * KIB))
        buffer = ns.machine.alloc(PAGE)
        ns.queue.ctrl.check(Admin.LBA_STATUS, ns.nsid, buffer, (0, 0, 1023, 2 << 24))
        self.assertEqual(struct.unpack("<IB", ns.machine.read(buffer, 5)), (0, 2))

    def test_all_is_erased(self) -> None:
        """Of every namespace, in steps that the log tells."""
        machine = self.machine(
            flash(more=",age=900"),
            controller(),
            namespace(more=f",nsid=1,size={MIB}"),
            namespace(more=",nsid=2"),
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        first, second = Namespace(queue, 1), Namespace(queue, 2)
        first.write(0, pattern(1, 64 * KIB))
        log = read_log(ctrl)
        self.assertEqual((log.progress, log.state, log.erased), (0xFFFF, NEVER, False))
        # Collections that the write has made due come first.
        machine.step(10**9)
        before = machine.stats()
        began_ns = machine.step(1)
        self.assertEqual(start(ctrl, BLOCK_ERASE | AUSE), Status.OK)
        logs = wait(machine, ctrl)
        took_ns = machine.step(1) - began_ns
        self.assertGreater(len(logs), 3)
        self.assertEqual([x.progress for x in logs], sorted(x.progress for x in logs))
        self.assertEqual({x.cdw10 for x in logs}, {BLOCK_ERASE | AUSE})
        self.assertEqual(logs[-1][:3], (0xFFFF, DONE, True))
        # An estimate for block erase alone, and not less than this one took.
        estimates = [x != 0xFFFFFFFF for x in logs[-1].seconds]
        self.assertEqual(estimates, [False, True, False, False, False, False])
        self.assertLessEqual(took_ns, logs[-1].seconds[1] * 10**9)
        after = machine.stats()
        erases = after["erases"] - before["erases"]
        self.assertGreater(erases, 0)
        self.assertGreaterEqual(took_ns, erases // PLANES * ERASE_NS)
        for name in ("gc_page_programs", "host_page_programs", "gc_runs"):
            self.assertEqual(after[name], before[name], name)
        self.check_empty(first, MIB)
        self.check_empty(second, MIB)
        # One write, and the drive is not as empty as it was any more.
        self.assertTrue(read_log(ctrl).erased)
        self.assertEqual(second.write(0, pattern(2, 4 * KIB)).status, 0)
        self.assertEqual(second.read(0, 4 * KIB), pattern(2, 4 * KIB))
        self.assertFalse(read_log(ctrl).erased)
        self.finish(machine)

    def test_schemes_mappings_and_clocks(self) -> None:
        for scheme, more in (
            ("pgc", ",age=900,overrides=controller.buffer_bytes=65536"),
            ("background", ",age=900"),
            ("baseline", ",overrides=ftl.mapping=demand;ftl.map_cache_bytes=1024"),
            ("baseline", ",overrides=ftl.mapping=fast"),
            ("baseline", ",clock=realtime"),
        ):
            with self.subTest(scheme + more):
                machine = self.drive_machine(more, scheme)
                kind = HostController if "realtime" in more else Controller
                ctrl = kind(machine)
                ns = Namespace(ctrl.create_queue())
                for at in range(0, MIB, 64 * KIB):
                    ns.write(at, pattern(at, 64 * KIB))
                self.assertEqual(start(ctrl), Status.OK)
                self.assertEqual(wait(machine, ctrl)[-1][:3], (0xFFFF, DONE, True))
                self.check_empty(ns, MIB)
                self.finish(machine)

    def test_what_is_refused_meanwhile(self) -> None:
        machine, ctrl, ns = self.drive(more=",age=900")
        self.assertEqual(start(ctrl), Status.OK)
        _, prp = ns.buffer(4 * KIB)
        for opcode in (Op.READ, Op.WRITE):
            done = ns.queue.wait(ns.start(opcode, 0, 4 * KIB, prp))
            self.assertEqual(done.status, Status.SANITIZE_IN_PROGRESS)
        for opcode in (Op.WRITE_ZEROES, Op.VERIFY):
            self.assertEqual(ns.simple(opcode, 0, 4 * KIB), Status.SANITIZE_IN_PROGRESS)
        self.assertEqual(ns.deallocate([(0, 4 * KIB)]), Status.SANITIZE_IN_PROGRESS)
        self.assertEqual(ns.flush(), Status.OK)
        for command, cdw in (
            (Admin.SANITIZE, (BLOCK_ERASE,)),
            (Admin.FORMAT, ()),
            (Admin.SELF_TEST, (1,)),
            (Admin.LBA_STATUS, (0, 0, 1, 2 << 24)),
            (DIRECTIVE_RECEIVE, (1023, 1)),
        ):
            done = ctrl.command(command, 1, machine.alloc(PAGE), cdw)
            self.assertEqual(done.status, Status.SANITIZE_IN_PROGRESS, hex(command))
        for lid in (EFFECTS_LOG, SELF_TEST_LOG, 0xCA):
            self.assertEqual(ctrl.get_log(lid, 64)[0], Status.SANITIZE_IN_PROGRESS, hex(lid))
        for lid in (ERROR_LOG, SMART_LOG, LOG):
            self.assertEqual(ctrl.get_log(lid, 64)[0], Status.OK, hex(lid))
        self.assertEqual(ctrl.command(GET_FEATURES, cdw=(7,)).status, Status.OK)
        self.assertEqual(len(ctrl.identify(1)), PAGE)
        ctrl.create_queue()
        self.assertEqual(read_log(ctrl).state, RUNS)
        wait(machine, ctrl)
        self.assertEqual(ns.simple(Op.VERIFY, 0, 4 * KIB), Status.OK)
        self.finish(machine)

    def test_refusals(self) -> None:
        machine, ctrl, ns = self.drive()
        self.assertEqual(read_log(ctrl)[:3], (0xFFFF, NEVER, True))
        for cdw10 in (0, OVERWRITE, CRYPTO_ERASE, 5, 7, BLOCK_ERASE | NO_DEALLOCATE):
            self.assertEqual(start(ctrl, cdw10), Status.INVALID_FIELD, hex(cdw10))
        # There is no failure to come out of.
        self.assertEqual(start(ctrl, EXIT_FAILURE), Status.OK)
        self.assertEqual(read_log(ctrl).state, NEVER)
        form = ctrl.admin.submit(Admin.FORMAT, 1)
        self.assertEqual(start(ctrl), Status.FORMAT_IN_PROGRESS)
        self.assertEqual(ctrl.admin.wait(form).status, Status.OK)
        self.assertEqual(ns.simple(Op.VERIFY, 0, 4 * KIB), Status.OK)
        self.finish(machine)

    def test_commands_before_it(self) -> None:
        """They end, and are erased; a self-test is over, and says why."""
        machine, ctrl, ns = self.drive()
        addr, prp = ns.buffer(64 * KIB)
        machine.write(addr, pattern(1, 64 * KIB))
        writes = [ns.start(Op.WRITE, at * 64 * KIB, 64 * KIB, prp) for at in range(16)]
        ctrl.check(Admin.SELF_TEST, 1, cdw=(2,))
        sanitize = ctrl.admin.submit(Admin.SANITIZE, cdw=(BLOCK_ERASE,))
        self.assertEqual(ctrl.admin.wait(sanitize).status, Status.OK)
        self.assertEqual({ns.queue.wait(cid).status for cid in writes}, {0})
        wait(machine, ctrl)
        self.check_empty(ns, MIB)
        # The code of an extended test; it was stopped by a Sanitize.
        self.assertEqual(ctrl.get_log(SELF_TEST_LOG, 32)[1][4], 0x29)
        self.finish(machine)

    def test_event(self) -> None:
        machine, ctrl, _ = self.drive(more=",age=500")
        event = ctrl.admin.submit(ASYNC_EVENT)
        self.assertEqual(start(ctrl), Status.OK)
        self.assertIsNone(ctrl.admin.done(event))
        done = ctrl.admin.wait(event)
        # Of an I/O command set; completed; the log page.
        self.assertEqual(done.result, LOG << 16 | 1 << 8 | 6)
        self.assertEqual(read_log(ctrl).state, DONE)
        self.finish(machine)

    def test_reset_and_shutdown(self) -> None:
        """A reset does not end it, and a shutdown is complete only once all is erased."""
        machine, ctrl, ns = self.drive(more=",age=900" + CUTS)
        self.assertEqual(start(ctrl), Status.OK)
        machine.step(10 * ERASE_NS)
        before = read_log(ctrl)
        self.assertGreater(before.progress, 0)
        ctrl.disable()
        ctrl.enable()
        after = read_log(ctrl)
        self.assertEqual((before.state, after.state), (RUNS, RUNS))
        self.assertGreaterEqual(after.progress, before.progress)
        ctrl.shutdown()
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(read_log(ctrl)[:3], (0xFFFF, DONE, True))
        ns = Namespace(ctrl.create_queue())
        self.check_empty(ns, MIB)
        self.finish(machine)

    def test_power_cut(self) -> None:
        """It goes on after the recovery, and no old data comes back."""
        for recovery in (1, 2):
            keys = CUTS.replace("recovery=2", f"recovery={recovery}")
            machine, ctrl, ns = self.drive(more=",age=900" + keys)
            for at in range(0, MIB, 64 * KIB):
                ns.write(at, pattern(at, 64 * KIB))
            self.assertEqual(start(ctrl), Status.OK)
            machine.step(3 * ERASE_NS)
            self.assertGreater(read_log(ctrl).progress, 0)
            cut(machine, ctrl)
            self.assertEqual(read_log(ctrl).state, RUNS)
            self.assertEqual(wait(machine, ctrl)[-1][:3], (0xFFFF, DONE, True))
            for _ in range(2):
                ns = Namespace(ctrl.create_queue())
                self.check_empty(ns, MIB)
                cut(machine, ctrl)
            self.finish(machine)

    def test_zones_are_empty(self) -> None:
        machine, ctrl, ns = self.drive(more_ns=",zoned=on,zoned.zone_size=1048576")
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(start(ctrl), Status.OK)
        wait(machine, ctrl)
        # The write pointer is at the zone's begin again.
        self.assertEqual(ns.write(0, pattern(2, 4 * KIB)).status, 0)
        self.finish(machine)

    def test_not_of_a_part(self) -> None:
        """A subsystem on two flashes, or a flash of two subsystems, has no Sanitize."""
        two = self.machine(flash("f0"), flash("f1"), controller(), namespace("f0"), namespace("f1"))
        shared = self.machine(
            flash(),
            controller(0),
            controller(1),
            namespace(bus=0, more=f",size={MIB}"),
            namespace(bus=1),
        )
        for machine in (two, shared):
            ctrl = Controller(machine)
            self.assertEqual(struct.unpack_from("<I", ctrl.identify(1), 328)[0], 0)
            self.assertEqual(start(ctrl), Status.INVALID_OPCODE)
            self.assertEqual(ctrl.get_log(LOG, 32)[0], Status.INVALID_FIELD)
            self.finish(machine)
