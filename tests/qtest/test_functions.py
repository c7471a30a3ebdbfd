# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions, each with a driver of its own; and those that turn on their physical one."""

from __future__ import annotations

import random
import socket
import struct

from fixture import KIB, DriveTest, flash, namespace, pattern
from machine import Machine
from nvme import Admin, Controller, Namespace, Op
from pci import (
    EXPRESS,
    FUNCTION_RESET,
    POWER_OFF,
    SLOT_CONTROL,
    ControllerBehindPort,
    Function,
    enable_mmconfig,
)
from test_realtime import HostController

SLOT = 4
FUNCTIONS = 2
WITH_VFS = (
    f"sriov_max_vfs={FUNCTIONS},sriov_vq_flexible=4,sriov_vi_flexible=2,max_ioqpairs=6,msix_qsize=5"
)
SRIOV = 0x10  # the extended capability, and its registers:
CONTROL, NUMBER, BAR = 0x08, 0x10, 0x24
ENABLE, MEMORY = 1, 8
VIRTUALISATION = 0x1C
QUEUES, INTERRUPTS = 0, 1
OFFLINE, ASSIGN, ONLINE = 7, 8, 9
VF_BARS = 0xE0000000
SECONDARY = 0x15  # Identify: the list of secondary controllers
CONTROLLERS = 0x13  # and of all that the subsystem has
FATAL = 2  # of CSTS, whose first bit is that it is ready
CLOCKS: tuple[tuple[type[Controller], str], ...] = (
    (Controller, ""),
    (HostController, ",clock=realtime"),
)


class Functions(DriveTest):
    def physical(self, kind: type[Controller], more: str) -> tuple[Machine, Controller]:
        machine = self.machine(
            flash(more=more),
            ["-device", "nvme-subsys,id=subsys0"],
            [
                "-device",
                f"nvme,id=nvme0,serial=s,subsys=subsys0,addr={SLOT},{WITH_VFS}",
            ],
            namespace(),
        )
        enable_mmconfig(machine)
        return machine, kind(machine, SLOT)

    def manage(
        self, ctrl: Controller, action: int, number: int, kind: int = 0, of: int = 0
    ) -> None:
        ctrl.check(VIRTUALISATION, cdw=(number << 16 | kind << 8 | action, of))

    def enable(
        self,
        machine: Machine,
        ctrl: Controller,
        function: Function | None = None,
        bars: int = VF_BARS,
    ) -> None:
        """Give each virtual function its queues, and turn all of them on."""
        function = function or Function(machine, SLOT)
        at = function.extended(SRIOV)
        for number in range(1, FUNCTIONS + 1):
            self.manage(ctrl, ASSIGN, number, QUEUES, 2)
            self.manage(ctrl, ASSIGN, number, INTERRUPTS, 1)
        function.write(at + NUMBER, FUNCTIONS)
        function.write(at + BAR, 0xFFFFFFFF)
        self.size = -(function.read(at + BAR) & ~0xF) & 0xFFFFFFFF
        function.write(at + BAR, bars)
        function.write(at + BAR + 4, 0)
        function.write(at + CONTROL, ENABLE | MEMORY)
        for number in range(1, FUNCTIONS + 1):
            self.manage(ctrl, ONLINE, number)

    def virtual(self, kind: type[Controller], machine: Machine, index: int) -> Controller:
        function = Function(machine, SLOT, function=1 + index)
        return self.at(kind, machine, function, VF_BARS + index * self.size)

    def at(
        self, kind: type[Controller], machine: Machine, function: Function, base: int
    ) -> Controller:
        class Virtual(kind):  # type: ignore[misc, valid-type]
            """Its registers are where the physical function's capability says."""

            def _config_write(self, slot: int, offset: int, value: int) -> None:
                if offset == 0x04:
                    function.write(offset, value)
                self.bar = base

        return Virtual(machine, SLOT)

    def test_all_at_once(self) -> None:
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine, ctrl = self.physical(kind, more)
                self.enable(machine, ctrl)
                ctrls = [ctrl] + [self.virtual(kind, machine, index) for index in range(FUNCTIONS)]
                spaces = [Namespace(each.create_queue()) for each in ctrls]
                pick = random.Random(1)
                kept: dict[int, bytes] = {}
                for number in range(100):
                    ns, unit = pick.choice(spaces), pick.randrange(64)
                    if unit in kept and pick.random() < 0.5:
                        self.assertEqual(ns.read(unit * 4 * KIB, 4 * KIB), kept[unit])
                    else:
                        kept[unit] = pattern(number, 4 * KIB)
                        self.assertEqual(ns.write(unit * 4 * KIB, kept[unit]).status, 0)
                self.finish(machine)

    def test_off_with_commands_in_flight(self) -> None:
        for kind, more in CLOCKS:
            for how in ("offline", "no SR-IOV", "reset"):
                with self.subTest(more, how=how):
                    machine, ctrl = self.physical(kind, more)
                    self.enable(machine, ctrl)
                    ns = Namespace(ctrl.create_queue())
                    other = Namespace(self.virtual(kind, machine, 1).create_queue())
                    _, prp = other.buffer(4 * KIB)
                    for index in range(32):
                        other.start(Op.WRITE, index * 4 * KIB, 4 * KIB, prp)
                    machine.step(1000)
                    function = Function(machine, SLOT)
                    if how == "offline":
                        self.manage(ctrl, OFFLINE, 2)
                    elif how == "no SR-IOV":
                        function.write(function.extended(SRIOV) + CONTROL, 0)
                    else:
                        ctrl.disable()
                        ctrl.enable()
                        ns = Namespace(ctrl.create_queue())
                    self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
                    self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
                    self.finish(machine)

    def test_none_outlives_a_reset(self) -> None:
        """Of the physical function; the list of secondary controllers has them offline."""
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine, ctrl = self.physical(kind, more)
                self.enable(machine, ctrl)
                others = [self.virtual(kind, machine, index) for index in range(FUNCTIONS)]
                states = [ctrl.identify(SECONDARY)[32 * index + 4] for index in (1, 2)]
                self.assertEqual(states, [1, 1])
                ctrl.disable()
                for other in others:
                    self.assertEqual(machine.readl(other.bar + 0x1C) & 3, FATAL)
                ctrl.enable()
                states = [ctrl.identify(SECONDARY)[32 * index + 4] for index in (1, 2)]
                self.assertEqual(states, [0, 0])
                self.finish(machine)

    def test_that_are_ejected(self) -> None:
        """With the physical function, by a guest: they are off, or have commands in flight."""
        for on in (False, True):
            with self.subTest(on=on):
                machine = self.machine(
                    # Or it is ACPI's ports that eject.
                    ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"],
                    flash(),
                    ["-device", "pcie-root-port,id=port0,chassis=1,addr=5"],
                    ["-device", "nvme-subsys,id=subsys0"],
                    ["-device", f"nvme,id=nvme0,serial=s,subsys=subsys0,bus=port0,{WITH_VFS}"],
                    ["-device", "nvme,id=nvme1,serial=s,subsys=subsys0,addr=0x10"],
                    namespace(),
                )
                ctrl, left = ControllerBehindPort(machine, 5), Controller(machine, 16)
                self.assertEqual(left.identify(CONTROLLERS)[0], 2 + FUNCTIONS)
                if on:
                    bars = ctrl.bar + 0x800000  # where the port leads to, too
                    self.enable(machine, ctrl, ctrl.function, bars)
                    for index in range(FUNCTIONS):
                        function = Function(machine, 0, bus=1, function=1 + index)
                        other = self.at(Controller, machine, function, bars + index * self.size)
                        ns = Namespace(other.create_queue())
                        _, prp = ns.buffer(4 * KIB)
                        for at in range(32):
                            ns.start(Op.WRITE, at * 4 * KIB, 4 * KIB, prp)
                        machine.step(1)
                ctrl.port.write(ctrl.port.capability(EXPRESS) + SLOT_CONTROL, POWER_OFF)
                self.assertNotIn("nvme0", machine.peripherals())
                self.assertEqual(left.identify(CONTROLLERS)[0], 1)
                ns = Namespace(left.create_queue())
                self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
                self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
                self.finish(machine)

    def test_data_that_resets_the_physical_function(self) -> None:
        for kind, more in CLOCKS:
            for how in ("reset of the function", "no SR-IOV", "disable"):
                with self.subTest(more, how=how):
                    machine, ctrl = self.physical(kind, more)
                    self.enable(machine, ctrl)
                    other = Namespace(self.virtual(kind, machine, 0).create_queue())
                    function = Function(machine, SLOT)
                    target, value = {
                        "reset of the function": (function.device_control(), FUNCTION_RESET),
                        "no SR-IOV": (function.config + function.extended(SRIOV) + CONTROL, 0),
                        "disable": (ctrl.bar + 0x14, 0),
                    }[how]
                    data = struct.pack("<I", value).ljust(512, b"\0")
                    self.assertEqual(other.write(0, data).status, 0)
                    _, prp = other.buffer(4 * KIB)
                    cids = [
                        other.start(Op.READ, index * 4 * KIB, size, where)
                        for index, (size, where) in enumerate(
                            [(512, (target, 0)), (4 * KIB, prp), (4 * KIB, prp)]
                        )
                    ]
                    for cid in cids:
                        self.assertEqual(other.queue.wait(cid).status, 0)
                    self.assertEqual(
                        ctrl.command(Admin.IDENTIFY, 0, machine.alloc(4096), (1,)).status, 0
                    )
                    self.finish(machine)


class NotRealized(DriveTest):
    """A controller that is plugged in, and refused at its last step."""

    def test_leaves_the_subsystem(self) -> None:
        machine = self.machine(
            flash(),
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", f"nvme,id=nvme0,serial=s,subsys=subsys0,addr={SLOT}"],
            ["-device", "pcie-root-port,id=port0,chassis=1,addr=5"],
            namespace(),
        )
        ctrl = Controller(machine, SLOT)
        plugged = {"driver": "nvme", "bus": "port0", "subsys": "subsys0", "serial": "s"}

        def controllers() -> tuple[int, ...]:
            listed = ctrl.identify(CONTROLLERS)
            (count,) = struct.unpack_from("<H", listed)
            return struct.unpack_from(f"<{count}H", listed, 2)

        # Nobody listens there, and nobody else can.
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            refused = {**plugged, "spdm_port": taken.getsockname()[1]}
            vfs = {"sriov_max_vfs": 2, "sriov_vq_flexible": 4, "sriov_vi_flexible": 2}
            for more in ({}, {**vfs, "max_ioqpairs": 6, "msix_qsize": 5}):
                with self.assertRaisesRegex(AssertionError, "QMP device_add"):
                    machine.qmp("device_add", **refused, **more)
                self.assertEqual(controllers(), (0,))
        machine.qmp("device_add", **plugged, id="nvme1")
        self.assertEqual(controllers(), (0, 1))
        # Each is told of what the drive does.
        ctrl.disable()
        ctrl.enable()
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        self.assertEqual(machine.quit(), 0)
