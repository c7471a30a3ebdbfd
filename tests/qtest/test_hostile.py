# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that points the drive's own accesses to memory at what resets the drive.

Each of these ended QEMU, or wrote where memory had been freed.
"""

from __future__ import annotations

import resource
import struct
import tempfile
from pathlib import Path

from fixture import KIB, MIB, DriveTest, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue
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
TIMESTAMP, FDP_EVENTS = 0x0E, 0x1E
ZONE_REPORT, OFFLINE = 0x7A, 7 << 8
ZONE_BYTES, ZONES = 256 * KIB, 6
REPORT_BYTES = 64  # no more than the number of zones, and zeroes
CC, CSTS, AQA = 0x14, 0x1C, 0x24
ENABLED = 0x00460061
HOST_BEHAVIOR = 0x16
# Of scatter-gather lists: a command has one, and what a descriptor is that is no data.
LISTED, SEGMENT, LAST_SEGMENT = 0x40, 2, 3
TOO_MANY_DESCRIPTORS = 0x00E
# The hot-plug controller of a bridge: where its registers are put, a slot is turned off, and read.
BRIDGE_BAR = 0xD0800000
SLOT_COMMAND, SLOT_OFF = 0x14, 0x3F
SLOT_COUNT, SLOTS = 0x0C, 31
DOORBELL_BUFFERS = 0x7C
INTERRUPT = 2
PRACT = 1 << 29  # of a read or write
DEPTH = 8
# A QEMU that a guest keeps busy for ever is ended after so much processor time.
BUSY_S = 20
# What a write takes that others wait behind.
SLOW_NS = 50_000_000
CLOCKS: tuple[tuple[type[Controller], str], ...] = (
    (Controller, ""),
    (HostController, ",clock=realtime"),
)


def sector(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words).ljust(512, b"\0")


def create_queue(ctrl: Controller, vector: int = -1, cq_addr: int = 0) -> Queue:
    """With interrupts, or with its completions at a place of our choice."""
    queue = ctrl.queue_class(ctrl, len(ctrl.queues) + 1)
    ctrl.queues.append(queue)
    size = 255 << 16 | queue.qid
    flags = 1 if vector < 0 else vector << 16 | INTERRUPT | 1
    ctrl.check(Admin.CREATE_CQ, data=cq_addr or queue.cq_addr, cdw=(size, flags))
    ctrl.check(Admin.CREATE_SQ, data=queue.sq_addr, cdw=(size, queue.qid << 16 | 1))
    return queue


class Hostile(DriveTest):
    def check_alive(self, ns: Namespace) -> None:
        self.assertEqual(ns.write(64 * KIB, pattern(2, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(64 * KIB, 4 * KIB), pattern(2, 4 * KIB))

    def test_data_that_reset_the_function(self) -> None:
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine = self.drive_machine(more)
                ctrl = kind(machine)
                ns = Namespace(ctrl.create_queue())
                enable_mmconfig(machine)
                self.assertEqual(ns.write(0, sector(FUNCTION_RESET)).status, 0)
                _, prp = ns.buffer(4 * KIB)
                others = [ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp) for index in range(8)]
                target = Function(machine, SLOT).device_control()
                cid = ns.start(Op.READ, 0, 512, (target, 0))
                others += [ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp) for index in range(8)]
                self.assertEqual(ns.queue.wait(cid).status, 0)
                for other in others:
                    self.assertEqual(ns.queue.wait(other).status, 0)
                self.check_alive(ns)
                self.finish(machine)

    def test_data_of_a_block_backend_that_reset_the_function(self) -> None:
        """QEMU's own drive: what is no memory is written by its block layer's callback."""
        for more in ("", ",ms=8,pi=1"):
            with self.subTest(more), tempfile.TemporaryDirectory(prefix="scarp-qtest-") as folder:
                image = Path(folder) / "image"
                image.write_bytes(bytes(4 * MIB))
                machine = self.machine(
                    ["-drive", f"if=none,id=d0,file={image},format=raw"],
                    ["-device", f"nvme,id=nvme0,serial=s,addr={SLOT}"],
                    ["-device", f"nvme-ns,bus=nvme0,drive=d0{more}"],
                )
                machine.give_up_after(BUSY_S)
                ctrl = HostController(machine, SLOT)
                enable_mmconfig(machine)
                ns = Namespace(ctrl.create_queue())
                # The controller makes and checks the protection information.
                flags = PRACT if more else 0
                self.assertEqual(ns.write(0, sector(FUNCTION_RESET), flags).status, 0)
                _, prp = ns.buffer(4 * KIB)
                target = Function(machine, SLOT).device_control()
                cid = ns.start(Op.READ, 0, 512, (target, 0), flags)
                others = [ns.start(Op.READ, 0, 512, prp, flags) for _ in range(8)]
                for each in (cid, *others):
                    self.assertEqual(ns.queue.wait(each).status, 0)
                self.assertEqual((machine.quit(), machine.stderr()), (0, ""))

    def test_reset_while_data_waits_for_a_bounce_buffer(self) -> None:
        """QEMU's own drive: its block layer has one for each device, and the next write waits."""
        machine = self.machine(
            ["-blockdev", f"null-co,node-name=d0,size={4 * MIB},latency-ns={SLOW_NS}"],
            ["-device", f"nvme,id=nvme0,serial=s,addr={SLOT}"],
            ["-device", "nvme-ns,bus=nvme0,drive=d0"],
        )
        machine.give_up_after(BUSY_S)
        ctrl = HostController(machine, SLOT)
        enable_mmconfig(machine)
        registers = (Function(machine, SLOT).config, 0)
        ns = Namespace(ctrl.create_queue())
        for _ in range(2):
            for index in range(3):
                ns.start(Op.WRITE, index * 4 * KIB, 4 * KIB, registers)
            ctrl.disable()
            ctrl.enable()
            ns = Namespace(ctrl.create_queue())
        _, prp = ns.buffer(4 * KIB)
        self.assertEqual(ns.queue.wait(ns.start(Op.WRITE, 0, 4 * KIB, prp)).status, 0)
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))

    def test_interrupt_that_reset_the_function(self) -> None:
        for kind, more in CLOCKS:
            with self.subTest(more):
                machine = self.drive_machine(more)
                ctrl = kind(machine)
                enable_mmconfig(machine)
                function = Function(machine, SLOT)
                function.set_vector(ctrl.bar, 1, function.device_control(), FUNCTION_RESET)
                ns = Namespace(create_queue(ctrl, vector=1))
                self.check_alive(ns)
                self.finish(machine)

    def test_feature_that_reset_the_function(self) -> None:
        machine, ctrl, ns = self.drive()
        enable_mmconfig(machine)
        buffer = machine.alloc(PAGE)
        machine.write(buffer, struct.pack("<Q", FUNCTION_RESET))
        ctrl.check(Admin.SET_FEATURES, data=buffer, cdw=(TIMESTAMP,))
        ctrl.check(0x0A, data=Function(machine, SLOT).device_control(), cdw=(TIMESTAMP,))
        self.check_alive(ns)
        self.finish(machine)

    def test_data_that_reset_the_bus(self) -> None:
        """The bridge above resets its bus once the access has come to its end."""
        machine = self.machine(
            flash(),
            ["-device", "pcie-root-port,id=port0,chassis=1,addr=5"],
            ["-device", "nvme,id=nvme0,serial=scarp0,bus=port0,addr=0"],
            namespace(),
        )
        ctrl = ControllerBehindPort(machine, 5)
        ns = Namespace(ctrl.create_queue())
        bridge_control = ctrl.port.read(0x3C)
        self.assertEqual(ns.write(0, sector(bridge_control | 1 << 22, 0, 0)).status, 0)
        _, prp = ns.buffer(4 * KIB)
        ns.start(Op.READ, 0, 512, (ctrl.port.config + 0x3C, 0))
        for index in range(8):
            ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp)
        machine.step(1_000_000_000)
        ctrl.port.write(0x3C, bridge_control)
        ctrl = ControllerBehindPort(machine, 5)
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_data_that_ejects_the_drive(self) -> None:
        """The slot's power goes off; the controller goes once the access has come to its end."""
        machine = self.machine(
            # Or it is ACPI's ports that eject, which no access to memory reaches.
            ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"],
            flash(),
            ["-device", "pcie-root-port,id=port0,chassis=1,addr=5"],
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", "nvme,id=nvme0,serial=scarp0,bus=port0,addr=0,subsys=subsys0"],
            namespace(),
        )
        ctrl = ControllerBehindPort(machine, 5)
        ns = Namespace(ctrl.create_queue())
        target = ctrl.port.config + ctrl.port.capability(EXPRESS) + SLOT_CONTROL
        self.assertEqual(ns.write(0, sector(POWER_OFF)).status, 0)
        _, prp = ns.buffer(4 * KIB)
        for index in range(8):
            ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp)
        ns.start(Op.READ, 0, 512, (target, 0))
        for index in range(8):
            ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp)
        machine.step(1_000_000_000)
        machine.step(1_000_000_000)
        self.assertNotIn("nvme0", machine.peripherals())
        self.assertEqual(machine.quit(), 0)
        # A controller without power has no way to memory.
        self.assertRegex(machine.stderr(), r"^(.*: aio failed: Input/output error\n?)*$")

    def test_data_that_ejects_the_drive_from_a_bridge(self) -> None:
        """As that, by a command to the bridge's own hot-plug controller."""
        machine = self.machine(
            ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"],
            flash(),
            ["-device", "pci-bridge,id=bridge0,chassis_nr=1,addr=5,msi=off"],
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", "nvme,id=nvme0,serial=scarp0,bus=bridge0,addr=1,subsys=subsys0"],
            namespace(),
        )
        machine.give_up_after(BUSY_S)
        ctrl = ControllerBehindPort(machine, 5, slot=1)
        for register, value in ((0x10, BRIDGE_BAR), (0x14, 0)):
            ctrl.port.write(register, value)
        self.assertEqual(machine.readl(BRIDGE_BAR + SLOT_COUNT) & 0x1F, SLOTS)
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.write(0, sector(1 << 8 | SLOT_OFF)).status, 0)
        _, prp = ns.buffer(4 * KIB)
        for index in range(8):
            ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp)
        ns.start(Op.READ, 0, 512, (BRIDGE_BAR + SLOT_COMMAND, 0))
        for index in range(8):
            ns.start(Op.READ, index * 4 * KIB, 4 * KIB, prp)
        machine.step(1_000_000_000)
        machine.step(1_000_000_000)
        self.assertNotIn("nvme0", machine.peripherals())
        self.assertEqual(machine.quit(), 0)
        # A controller without a bridge has no way to memory.
        self.assertRegex(machine.stderr(), r"^(.*: aio failed: Input/output error\n?)*$")

    def test_list_that_is_read_again_and_again(self) -> None:
        """A segment of zeroes, which are descriptors, with a byte of data and itself at its end."""
        machine, _, ns = self.drive()
        machine.give_up_after(BUSY_S)
        resource.prlimit(machine.process.pid, resource.RLIMIT_CPU, (BUSY_S, BUSY_S))
        size = 96 * MIB
        first = machine.alloc(size)
        target = machine.alloc(PAGE)
        again = (first, size | SEGMENT << 60)
        machine.write(first, struct.pack("<QQ", target, 1))
        machine.write(first + size - 16, struct.pack("<QQ", *again))
        cid = ns.queue.submit(Op.READ, 1, again, (0, 0, 7), flags=LISTED)
        self.assertEqual(ns.queue.wait(cid).status, TOO_MANY_DESCRIPTORS)
        # Many are as good as few, empty ones among them.
        entries = b"".join(struct.pack("<QQ", target + at, at % 2) for at in range(1024))
        machine.write(first, entries)
        self.assertEqual(ns.write(0, pattern(1, 512)).status, 0)
        some = (first, len(entries) | LAST_SEGMENT << 60)
        cid = ns.queue.submit(Op.READ, 1, some, flags=LISTED)
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(machine.read(target, 1024)[1::2], pattern(1, 512))
        self.check_alive(ns)
        self.finish(machine)

    def test_commands_that_ring_their_own_queue(self) -> None:
        """Four admin commands that write the tail of their queue, and are served for ever."""
        machine = self.drive_machine()
        machine.give_up_after(BUSY_S)
        resource.prlimit(machine.process.pid, resource.RLIMIT_CPU, (BUSY_S, BUSY_S))
        ctrl = Controller(machine, enable=False)
        ctrl.ask_enable()
        machine.writel(ctrl.bar + CC, 0)
        machine.writel(ctrl.bar + AQA, 7 << 16 | 3)
        machine.writel(ctrl.bar + CC, ENABLED)
        shadow, events, first, second = (machine.alloc(PAGE) for _ in range(4))
        # The queue's tail, and the head of its completions.
        machine.write(first, struct.pack("<II", 2, 2).ljust(512, b"\0"))
        machine.write(second, struct.pack("<II", 0, 1).ljust(512, b"\0"))
        entries = [
            (0x0A, shadow, HOST_BEHAVIOR),
            (DOORBELL_BUFFERS, shadow, 0),
            (Admin.SET_FEATURES, first, HOST_BEHAVIOR),
            (0x0A, shadow, HOST_BEHAVIOR),
            (Admin.SET_FEATURES, second, HOST_BEHAVIOR),
        ]
        for at, (opcode, data, feature) in enumerate(entries[1:] + entries[:1]):
            words = (opcode | at << 16, 0, 0, 0, data, events, feature, 0, 0, 0, 0, 0)
            command = struct.pack("<IIQQQQ6I", *words)
            # The last one is where the doorbell buffers were told of.
            machine.write(ctrl.admin.sq_addr + at % 4 * 64, command)
            if at == 0:
                machine.writel(ctrl.bar + 0x1000, 1)
                machine.step(1)
        machine.write(shadow, struct.pack("<II", 0, 1))
        machine.writel(ctrl.bar + 0x1000, 0)
        for _ in range(5):
            machine.step(1000)
            machine.qmp("query-status")
        ctrl.disable()
        ctrl.enable()
        self.check_alive(Namespace(ctrl.create_queue()))
        self.finish(machine)

    def test_vector_beyond_the_pins(self) -> None:
        """A queue's vector may be one that only MSI-X has, and then there is no MSI-X."""
        machine, ctrl, _ = self.drive()
        enable_mmconfig(machine)
        function = Function(machine, SLOT)
        function.set_vector(ctrl.bar, 40, 0xFEE00000, 0x41)
        ns = Namespace(create_queue(ctrl, vector=40))
        function.disable_msix()
        self.check_alive(ns)
        self.finish(machine)

    def test_shadow_doorbells_out_of_range(self) -> None:
        for kind, more in CLOCKS:
            for value in (256, 257, 0x7FFF, 0x10001, 0xFFFFFFFF):
                with self.subTest(more, value=value):
                    self.check_shadow_doorbells(kind, more, value)

    def check_shadow_doorbells(self, kind: type[Controller], more: str, value: int) -> None:
        machine = self.drive_machine(more)
        resource.prlimit(machine.process.pid, resource.RLIMIT_CPU, (BUSY_S, BUSY_S))
        ctrl = kind(machine)
        shadow, events = machine.alloc(PAGE), machine.alloc(PAGE)
        ns = Namespace(ctrl.create_queue())
        machine.write(shadow, bytes(PAGE))
        done = ctrl.admin.wait(ctrl.admin.submit(DOORBELL_BUFFERS, 0, (shadow, events)))
        self.assertEqual(done.status, 0)
        _, prp = ns.buffer(4 * KIB)
        cid = ns.start(Op.READ, 0, 4 * KIB, prp, ring=False)
        for at in (8, 12):
            machine.writel(shadow + at, value)
        ns.queue.ring()
        machine.step(1_000_000)
        # A head or a tail that cannot be is none.
        machine.writel(shadow + 12, 0)
        machine.writel(shadow + 8, 1)
        ns.queue.ring()
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.finish(machine)

    def with_event_descriptors(self) -> tuple[Machine, HostController, HostController]:
        """Two controllers of a zoned namespace; the first one's doorbells are descriptors."""
        zones = f",zoned=on,zoned.zone_size={ZONE_BYTES},size={ZONES * ZONE_BYTES}"
        machine = self.machine(
            flash(more=",clock=realtime"),
            ["-device", "nvme-subsys,id=subsys0"],
            ["-device", f"nvme,id=nvme0,serial=s,subsys=subsys0,addr={SLOT},ioeventfd=on"],
            ["-device", f"nvme,id=nvme1,serial=s,subsys=subsys0,addr={SLOT + 1}"],
            namespace(more=zones),
        )
        first, second = HostController(machine, SLOT), HostController(machine, SLOT + 1)
        return machine, first, second

    def test_event_descriptors_are_guarded(self) -> None:
        """What serves a queue whose doorbell is an event descriptor cannot disable its controller.

        An answer of the first controller is the doorbell of the second, whose own answer, nothing
        but zeroes, is the first one's configuration.
        """
        machine, first, second = self.with_event_descriptors()
        own, other = first.create_queue(), second.create_queue()
        shadow = machine.alloc(PAGE)
        machine.write(shadow, bytes(PAGE))
        buffers = (shadow, machine.alloc(PAGE))
        done = first.admin.wait(first.admin.submit(DOORBELL_BUFFERS, 0, buffers))
        self.assertEqual(done.status, 0)
        none = (0, 0, REPORT_BYTES // 4 - 1, OFFLINE)
        zeroes = other.submit(ZONE_REPORT, 1, (first.bar + CC, 0), none, ring=False)
        # From the last zone on there is one: the tail of a queue with one command.
        last = ((ZONES - 1) * ZONE_BYTES // 512, 0, REPORT_BYTES // 4 - 1)
        doorbell = second.bar + 0x1000 + other.qid * 8
        one = own.submit(ZONE_REPORT, 1, (doorbell, 0), last, ring=False)
        machine.writel(shadow + own.qid * 8, 1)
        own.ring()
        self.assertEqual(own.wait(one).status, 0)
        other.wait(zeroes)
        self.assertEqual(machine.readl(first.bar + CC) & 1, 1)
        self.assertEqual(machine.readl(first.bar + CSTS) & 1, 1)
        self.assertEqual(machine.quit(), 0)
        self.assertRegex(machine.stderr(), r"^.*: warning: Blocked re-entrant IO .*$")

    def test_event_descriptors_are_guarded_without_data(self) -> None:
        """As above, but it is the index of its queue's event that is the second one's doorbell.

        Data has a guard of its own, whoever serves the queue.
        """
        machine, first, second = self.with_event_descriptors()
        own, other = first.create_queue(), second.create_queue()
        self.assertEqual(own.qid, other.qid)
        shadow = machine.alloc(PAGE)
        machine.write(shadow, bytes(PAGE))
        buffers = (shadow, second.bar + 0x1000)
        done = first.admin.wait(first.admin.submit(DOORBELL_BUFFERS, 0, buffers))
        self.assertEqual(done.status, 0)
        none = (0, 0, REPORT_BYTES // 4 - 1, OFFLINE)
        zeroes = other.submit(ZONE_REPORT, 1, (first.bar + CC, 0), none, ring=False)
        one = own.submit(Op.FLUSH, 1, (0, 0), ring=False)
        machine.writel(shadow + own.qid * 8, 1)
        own.ring()
        self.assertEqual(own.wait(one).status, 0)
        other.wait(zeroes)
        self.assertEqual(machine.readl(first.bar + CC) & 1, 1)
        self.assertEqual(machine.readl(first.bar + CSTS) & 1, 1)
        self.assertEqual(machine.quit(), 0)
        self.assertRegex(machine.stderr(), r"^.*: warning: Blocked re-entrant IO .*$")

    def test_doorbell_buffers_once_more(self) -> None:
        """A queue that has an event descriptor gets no other, which would outlive it."""
        machine = self.machine(
            flash(more=",clock=realtime"),
            ["-device", f"nvme,id=nvme0,serial=s,addr={SLOT},ioeventfd=on"],
            namespace(),
        )
        ctrl = HostController(machine, SLOT)
        descriptors = Path(f"/proc/{machine.process.pid}/fd")
        queue = ctrl.create_queue()
        buffers = (machine.alloc(PAGE), machine.alloc(PAGE))

        def configure() -> int:
            done = ctrl.admin.wait(ctrl.admin.submit(DOORBELL_BUFFERS, 0, buffers))
            self.assertEqual(done.status, 0)
            return len(list(descriptors.iterdir()))

        before = configure()
        self.assertEqual([configure() for _ in range(3)], [before] * 3)
        ctrl.check(Admin.DELETE_SQ, cdw=(queue.qid,))
        ctrl.check(Admin.DELETE_CQ, cdw=(queue.qid,))
        # Of queues that are no more: registers, and nothing that had been freed.
        for offset in (0, 4):
            machine.writel(ctrl.bar + 0x1000 + queue.qid * 8 + offset, 0)
        self.assertEqual(len(list(descriptors.iterdir())), before - 2)
        self.finish(machine)

    def test_events_of_all_namespaces(self) -> None:
        machine, ctrl, ns = self.drive()
        for nsid in (0xFFFFFFFF, 0, 1, 7):
            cdw = (FDP_EVENTS, 1 << 16)
            done = ctrl.command(Admin.SET_FEATURES, nsid, machine.alloc(PAGE), cdw)
            self.assertNotEqual(done.status, 0)
        self.check_alive(ns)
        self.finish(machine)

    def test_completions_that_ring_another_drive(self) -> None:
        """On the host's clock a doorbell is served at once, by whoever writes it.

        The completions of the first controller are the doorbells of the second.
        """
        machine = self.machine(
            flash(more=",clock=realtime"),
            ["-device", "nvme-subsys,id=subsys0"],
            *[
                ["-device", f"nvme,id=nvme{index},serial=s,subsys=subsys0,addr={SLOT + index}"]
                for index in range(2)
            ],
            namespace(),
        )
        first, second = HostController(machine, SLOT), HostController(machine, SLOT + 1)
        queues = [second.create_queue() for _ in range(32)]
        # Entry i of a completion queue there is, by its third word, the tail of queue 2 i + 1, and,
        # by its fourth, the head of that queue's completions: where it is anyway if the command
        # has number 0, and else one at which a queue that is empty counts as full.
        rung = [Namespace(queue) for queue in queues[::2]]
        _, prp = rung[0].buffer(4 * KIB)
        cids = [
            [each.start(Op.READ, 0, 4 * KIB, prp, ring=False) for _ in range(DEPTH)]
            for each in rung
        ]
        ns = Namespace(create_queue(first, cq_addr=second.bar + 0x1000))
        for index in range(DEPTH):
            ns.start(Op.READ, 0, 4 * KIB, prp, ring=False)
            machine.write(ns.queue.sq_addr + index * 64 + 2, bytes(2))
        # The completions say that the head of the first one's queue is now 8.
        ns.queue.ring()
        for each, some in zip(rung[:DEPTH], cids, strict=False):
            for cid in some:
                self.assertEqual(each.queue.wait(cid).status, 0)
        # None is posted twice.
        for each in rung[DEPTH:]:
            self.assertEqual(each.queue.unclaimed(), [])
        # The first one's queue ends in the second's registers: one that does not.
        self.check_alive(Namespace(first.create_queue()))
        self.assertEqual(machine.quit(), 0)
        # Where the second is within its own registers, the doorbell is not rung.
        self.assertRegex(machine.stderr(), r"^(.*: warning: Blocked re-entrant IO .*)?$")
