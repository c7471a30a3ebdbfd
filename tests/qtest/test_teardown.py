# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive is taken apart while QEMU goes on: controller, namespaces, flash, in this order.

No guest can do the last two, and none of ours does: QEMU's own "realized" property can.
Or the guest goes, and QEMU stays.
"""

from __future__ import annotations

from pathlib import Path

from fixture import DESCRIPTION, KIB, MIB, DriveTest, controller, flash, namespace, pattern
from logs import read_commands
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op
from test_interruptions import EJECT
from test_realtime import HostController

SLOT = 4
PATIENCE_S = 30
SLOW = "overrides=controller.link_mbs=16"
# On the host's clock, too, no write of 128 KiB ends before the guest does.
SLOWER = "overrides=controller.link_mbs=1"
SLOW_PROGRAMS = "overrides=timing.program_ns=1000000000"
LOGS = ",cmd-log={dir}/f0.cmd,gc-log={dir}/f0.gc,progress={dir}/f0.progress,trace={dir}/f0.trace"


class Teardown(DriveTest):
    def with_all(self, more: str) -> Machine:
        return self.machine(
            ["-machine", "pc"],
            ["-device", f"nvme-flash,id=f0,description={DESCRIPTION},{SLOW}{LOGS}{more}"],
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", f"nvme,id=nvme0,serial=scarp0,subsys=subsys0,addr={SLOT}"],
            ["-device", f"nvme-ns,id=ns0,bus=nvme0,flash=f0,nsid=1,size={4 * MIB}"],
            ["-device", "nvme-ns,id=ns1,bus=nvme0,flash=f0,nsid=2"],
        )

    def remove(self, machine: Machine, name: str) -> None:
        machine.qmp("qom-set", path=f"/machine/peripheral/{name}", property="realized", value=False)

    def unplug(self, machine: Machine) -> None:
        machine.qmp("device_del", id="nvme0")
        machine.outl(EJECT, 1 << SLOT)
        machine.wait_until(lambda: "nvme0" not in machine.peripherals(), "the controller's end")

    def check(self, kind: type[Controller], more: str = "") -> None:
        for busy in (False, True):
            with self.subTest(busy=busy):
                machine = self.with_all(more)
                queue = kind(machine, SLOT).create_queue()
                spaces = [Namespace(queue, nsid) for nsid in (1, 2)]
                for ns in spaces:
                    self.assertEqual(ns.write(0, pattern(ns.nsid, 4 * KIB)).status, 0)
                if busy:
                    for ns in spaces:
                        _, prp = ns.buffer(512 * KIB)
                        ns.start(Op.WRITE, 0, 512 * KIB, prp)
                        ns.start(Op.READ, 0, 4 * KIB, prp)
                    machine.step(1000)
                self.unplug(machine)
                for name in ("ns0", "ns1", "f0"):
                    self.remove(machine, name)
                machine.step(1_000_000_000)
                self.assertEqual((machine.quit(), machine.stderr()), (0, ""))
                commands = read_commands(machine.dir / "f0.cmd")
                self.assertEqual(len(commands), 6 if busy else 2)
                for name in ("gc", "progress", "trace"):
                    self.assertGreater((machine.dir / f"f0.{name}").stat().st_size, 0, name)

    def test_virtual(self) -> None:
        self.check(Controller)

    def test_on_the_hosts_clock(self) -> None:
        self.check(HostController, ",clock=realtime")


class Threads(DriveTest):
    """Drives that are taken out one after the other, of a QEMU that goes on."""

    DRIVES = 5

    def coroutines(self, machine: Machine) -> int:
        """Stacks of theirs, which are of a MiB: below each is a page that nobody may touch."""
        text = Path(f"/proc/{machine.process.pid}/maps").read_text(encoding="utf-8")
        count, guard = 0, 0
        for line in text.splitlines():
            places, access = line.split()[:2]
            first, last = (int(place, 16) for place in places.split("-"))
            count += access == "rw-p" and first == guard and last - first == MIB
            guard = last if access == "---p" and last - first == PAGE else 0
        return count

    def take_out(self, machine: Machine, index: int) -> None:
        machine.qmp("device_del", id=f"nvme{index}")
        machine.outl(EJECT, 1 << SLOT + index)
        machine.wait_until(lambda: f"nvme{index}" not in machine.peripherals(), "its end")
        machine.qmp(
            "qom-set", path=f"/machine/peripheral/f{index}", property="realized", value=False
        )

    def test_a_format_leaves_nothing_of_a_thread(self) -> None:
        """Each has formatted in a thread of its own, and what that needed goes with it."""
        indexes = range(self.DRIVES)
        machine = self.machine(
            ["-machine", "pc"],
            *(
                flash(f"f{index}", more=f",clock=realtime,{SLOWER}")
                + controller(index)
                + namespace(f"f{index}", index)
                for index in indexes
            ),
        )
        for index in indexes:
            ctrl = HostController(machine, SLOT + index)
            ns = Namespace(ctrl.create_queue())
            _, prp = ns.buffer(128 * KIB)
            cid = ns.start(Op.WRITE, 0, 128 * KIB, prp)
            # It waits for that write, whose end is in the drive's thread.
            ctrl.check(Admin.FORMAT, 1)
            self.assertEqual(ns.queue.wait(cid).status, 0)
            self.take_out(machine, index)
            if index == 0:
                before = self.coroutines(machine)
        self.assertGreater(before, 0, "the main thread keeps some for itself")
        self.assertEqual(self.coroutines(machine), before)
        self.finish(machine)


class NoShutdown(DriveTest):
    """The guest turns its machine off with I/O in flight, and -no-shutdown keeps QEMU."""

    def start(self, more: str, slow: str = SLOWER) -> Machine:
        return self.machine(
            ["-no-shutdown"], flash(more=f",{slow}{more}"), controller(), namespace()
        )

    def wait_for(self, machine: Machine, wanted: str) -> None:
        def status() -> object:
            return machine.qmp("query-status")["status"]  # type: ignore[index]

        machine.wait_until(lambda: status() == wanted, f"the machine is '{wanted}'")

    def turn_off(self, machine: Machine, ns: Namespace) -> None:
        # The chipset's registers of power management get a place, and sleep state S5: before the
        # writes, which on the host's clock may end as soon as they have begun.
        for register, value in ((0x40, 0x601), (0x44, 0x80)):
            machine.outl(0xCF8, 0x80000000 | 31 << 11 | register)
            machine.outl(0xCFC, value)
        for at in range(4):
            _, prp = ns.buffer(128 * KIB)
            ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp)
        machine.step(1000)
        machine.command("outw 0x604 0x2000")
        self.wait_for(machine, "shutdown")
        # What the drive has ended without telling is cancelled.
        machine.qmp("system_reset")
        self.wait_for(machine, "prelaunch")

    def check(self, kind: type[Controller], more: str = "") -> None:
        # On the host's clock a busy host may take seconds until the machine is off.
        machine = self.start(more, SLOW_PROGRAMS)
        self.turn_off(machine, Namespace(kind(machine, SLOT).create_queue()))
        self.assertEqual([c.unseen for c in self.finish(machine)], [True] * 4)

    def test_virtual(self) -> None:
        self.check(Controller)

    def test_on_the_hosts_clock(self) -> None:
        self.check(HostController, ",clock=realtime")

    def check_going_on(self, kind: type[Controller], more: str = "") -> None:
        """The next guest finds the drive as the last one left it, and working."""
        machine = self.start(more)
        machine.give_up_after(PATIENCE_S)
        for turn in range(3):
            ns = Namespace(kind(machine, SLOT).create_queue())
            for before in range(turn):
                kept = ns.read(MIB + before * 4 * KIB, 4 * KIB)
                self.assertEqual(kept, pattern(before, 4 * KIB))
            self.assertEqual(ns.write(MIB + turn * 4 * KIB, pattern(turn, 4 * KIB)).status, 0)
            self.assertEqual(ns.flush(), 0)
            if turn < 2:
                self.turn_off(machine, ns)
                machine.qmp("cont")
        stats = machine.stats()
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        unseen = [c.unseen for c in self.finish(machine)]
        off = [True] * 4
        # Each turn reads what those before it wrote, writes, and flushes.
        self.assertEqual(unseen, [False] * 2 + off + [False] * 3 + off + [False] * 4)

    def test_that_goes_on(self) -> None:
        self.check_going_on(Controller)

    def test_that_goes_on_on_the_hosts_clock(self) -> None:
        self.check_going_on(HostController, ",clock=realtime")
