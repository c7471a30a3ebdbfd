# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive is taken apart while QEMU goes on: controller, namespaces, flash, in this order.

No guest can do the last two, and none of ours does: QEMU's own "realized" property can.
"""

from __future__ import annotations

from fixture import DESCRIPTION, KIB, MIB, DriveTest, pattern
from logs import read_commands
from machine import Machine
from nvme import Controller, Namespace, Op
from test_interruptions import EJECT
from test_realtime import HostController

SLOT = 4
SLOW = "overrides=controller.link_mbs=16"
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
