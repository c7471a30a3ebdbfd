# SPDX-License-Identifier: GPL-2.0-or-later
"""Identify announces what is served: each bit has its probe, and a bit without one is an error."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from fixture import KIB, DriveTest, controller, flash, namespace, pattern
from nvme import PAGE, Admin, Controller, Namespace, Op, Status

GET_FEATURES, EVENT, ATTACHMENT, DIRECTIVE_RECEIVE, DOORBELLS = 0x0A, 0x0C, 0x15, 0x1A, 0x7C
NAMESPACE_MANAGEMENT = 0x0D
ERROR_LOG, SMART_LOG, FIRMWARE_LOG, CHANGED_LOG, EFFECTS_LOG, GROUP_LOG = 1, 2, 3, 4, 5, 9
SELF_TEST_LOG, TELEMETRY_LOG, LBA_STATUS_LOG, SANITIZE_LOG = 0x06, 0x07, 0x0E, 0x81
EVENTS_LOG = 0x0D
CREATE = 1 << 8
CACHE, EVENTS, TIMESTAMP, BEHAVIOUR = 0x06, 0x0B, 0x0E, 0x16
FDP_LOG = 0x20
CONTROLLERS = 0x13
SUPPORTED = 1 << 0

# Bit by bit: whether what it announces is there.
Probes = dict[int, Callable[[], bool]]


class Announced(DriveTest):
    def setUp(self) -> None:
        super().setUp()
        self.ran = self.machine(
            ["-device", "nvme-subsys,id=subsys0,fdp=on,fdp.nruh=2"],
            flash(more=",overrides=ftl.streams=2"),
            ["-device", "nvme,id=nvme0,serial=s0,addr=4.0,subsys=subsys0"],
            namespace(more=",fdp.ruhs=0-1"),
        )
        self.ctrl = Controller(self.ran)
        self.ns = Namespace(self.ctrl.create_queue())
        self.said = self.ctrl.identify(1)

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.said[at : at + size], "little")

    def good(self, opcode: int, nsid: int = 0, cdw: tuple[int, ...] = ()) -> bool:
        return self.ctrl.command(opcode, nsid, self.ran.alloc(PAGE), cdw).status == Status.OK

    def log(self, lid: int, nsid: int = 0xFFFFFFFF, offset: int = 0, which: int = 0) -> bool:
        return self.good(Admin.GET_LOG, nsid, (15 << 16 | lid, which << 16, offset))

    def status(self, opcode: int, cdw: tuple[int, ...]) -> int:
        return self.ctrl.command(opcode, 0, self.ran.alloc(PAGE), cdw).status

    def telemetry(self) -> bool:
        """Captured by the host, and read in whole blocks."""
        return self.good(Admin.GET_LOG, 0, (1023 << 16 | CREATE | TELEMETRY_LOG,))

    def persistent_events(self) -> bool:
        """A context is established, read and released; the log is no longer than Identify says."""
        actions = (1 << 8, 0, 2 << 8)
        served = all(
            self.good(Admin.GET_LOG, 0, (127 << 16 | action | EVENTS_LOG,)) for action in actions
        )
        return served and self.number(352, 4) == 1

    def controllers_telemetry(self) -> bool:
        return self.good(Admin.GET_LOG, 0, (127 << 16 | TELEMETRY_LOG + 1,))

    def get(self, feature: int, select: int = 0) -> bool:
        return self.good(GET_FEATURES, 1, (select << 8 | feature,))

    def copied(self, kind: int) -> bool:
        """By a list of one range, in the descriptor's format `kind`."""
        self.ns.write(0, pattern(kind, 4 * KIB))
        size, named = (32, 40)[kind % 2], kind > 1
        row = struct.pack("<I4xQH", 1 if named else 0, 0, 4 * KIB // 512 - 1).ljust(size, b"\0")
        ranges = self.ran.alloc(PAGE)
        self.ran.write(ranges, row)
        queue = self.ns.queue
        done = queue.wait(queue.submit(Op.COPY, 1, (ranges, 0), (64, 0, kind << 8)))
        # Formats with a tag of 48 bits are for namespaces with such tags, and there are none.
        wanted = Status.INVALID_FORMAT if kind % 2 else Status.OK
        same = self.ns.read(32 * KIB, 4 * KIB) == pattern(kind, 4 * KIB)
        return done.status == wanted and same == (not kind % 2)

    def told(self) -> bool:
        """A notice that a namespace came or went, and its list."""
        self.ctrl.check(Admin.SET_FEATURES, cdw=(EVENTS, 1 << 8))
        event = self.ctrl.admin.submit(EVENT)
        listed = self.ran.alloc(PAGE)
        self.ran.write(listed, struct.pack("<HH", 1, self.number(78, 2)))
        for detach in (1, 0):
            self.ctrl.check(ATTACHMENT, 1, listed, (detach,))
        done = self.ctrl.admin.done(event)
        return bool(done and done.result == CHANGED_LOG << 16 | 2) and self.log(CHANGED_LOG)

    def wide(self) -> bool:
        """Formats beyond the sixteenth are taken once the host says that it knows them."""
        behaviour = self.ran.alloc(PAGE)
        self.ran.write(behaviour, b"\0\0\1".ljust(512, b"\0"))
        return not self.ctrl.command(Admin.SET_FEATURES, 0, behaviour, (BEHAVIOUR,)).status

    def walk(self, name: str, value: int, probes: Probes) -> None:
        for bit in range(value.bit_length()):
            if value >> bit & 1:
                self.assertIn(bit, probes, f"{name}: nobody knows who serves bit {bit}")
                self.assertTrue(probes[bit](), f"{name}: bit {bit} is announced and not served")

    def test_every_bit_is_served(self) -> None:
        ns = self.ns
        block = (0, 4 * KIB)
        self.walk("OAES", self.number(92, 4), {8: self.told})
        self.walk(
            "CTRATT",
            self.number(96, 4),
            {
                4: lambda: self.log(GROUP_LOG, which=1),
                15: self.wide,
                19: lambda: self.log(FDP_LOG, which=1),
            },
        )
        self.walk(
            "OACS",
            self.number(256, 2),
            {
                1: lambda: self.good(Admin.FORMAT, 1),
                4: lambda: self.good(Admin.SELF_TEST, 1, (1,)) and self.log(SELF_TEST_LOG),
                5: lambda: self.good(DIRECTIVE_RECEIVE, 1, (1023, 1)),
                # Buffers that are not aligned: the command is there, and says so.
                8: lambda: self.ctrl.command(DOORBELLS, data=1).status == Status.INVALID_FIELD,
                9: lambda: (
                    self.good(Admin.LBA_STATUS, 1, (0, 0, 1023, 2 << 24))
                    and self.log(LBA_STATUS_LOG)
                ),
            },
        )
        # One slot of firmware, which is read only.
        self.assertEqual(self.number(260, 1), 1 << 1 | 1)
        self.assertTrue(self.log(FIRMWARE_LOG))
        self.walk(
            "LPA",
            self.number(261, 1),
            {
                0: lambda: self.log(SMART_LOG, 1),
                1: lambda: self.log(EFFECTS_LOG),
                2: lambda: self.log(ERROR_LOG, offset=64),
                3: lambda: self.telemetry() and self.controllers_telemetry(),
                4: self.persistent_events,
            },
        )
        self.walk(
            "SANICAP",
            self.number(328, 4),
            {
                # Block erase itself is this test's last command.
                1: lambda: self.log(SANITIZE_LOG),
                # No-deallocate is inhibited: who asks for it gets an error.
                29: lambda: self.status(Admin.SANITIZE, (2 | 1 << 9,)) == Status.INVALID_FIELD,
                # NODMMAS, of two bits: the media is not modified after a Sanitize.
                30: lambda: self.number(328, 4) >> 30 == 1,
            },
        )
        self.walk(
            "ONCS",
            self.number(520, 2),
            {
                0: lambda: ns.compare(0, ns.read(*block)) == Status.OK,
                2: lambda: ns.deallocate([block]) == Status.OK,
                3: lambda: ns.simple(Op.WRITE_ZEROES, *block) == Status.OK,
                4: lambda: all(self.get(CACHE, select) for select in (0, 1, 2, 3)),
                6: lambda: self.get(TIMESTAMP),
                7: lambda: ns.simple(Op.VERIFY, *block) == Status.OK,
                **{bit: lambda: self.copied(0) for bit in (8, 9, 10)},
            },
        )
        everywhere = ns.queue.submit(Op.FLUSH, 0xFFFFFFFF)
        self.walk(
            "VWC",
            self.number(525, 1),
            {
                0: lambda: self.get(CACHE),
                1: lambda: ns.queue.wait(everywhere).status == Status.OK,
                2: lambda: ns.flush() == Status.OK,
            },
        )
        behaviour = self.ran.alloc(PAGE)
        # Copies may name another namespace, once the host knows of that (CDFE).
        self.ran.write(behaviour, b"\0\0\1\0\x0c".ljust(512, b"\0"))
        self.ctrl.check(Admin.SET_FEATURES, 0, behaviour, (BEHAVIOUR,))
        formats: Probes = {kind: partial(self.copied, kind) for kind in range(4)}
        self.walk("OCFS", self.number(534, 2), formats)
        # Block erase: last, as most commands are refused until it ends.
        self.assertEqual(self.status(Admin.SANITIZE, (2,)), Status.OK)
        self.finish(self.ran)

    def test_nothing_else_is_announced(self) -> None:
        """Reservations, fused commands, power states, protection."""
        for name, at, size in (
            ("RPMBS", 312, 4),
            ("DSTO", 318, 1),
            ("KAS", 320, 2),
            ("HCTMA", 322, 2),
            ("ANACAP", 343, 1),
            ("FUSES", 522, 2),
            ("FNA", 524, 1),
        ):
            self.assertEqual(self.number(at, size), 0, name)
        # A controller of NVMe 1.4 with Sanitize says whether the media is modified after it.
        self.assertEqual(self.number(328, 4) >> 30, 1, "NODMMAS")
        said = self.ctrl.identify(0, 1)
        self.assertEqual(list(said[27:30]), [0, 0, 0], "MC, DPC, DPS")
        self.assertEqual(said[31], 0, "RESCAP")
        # An extended self-test takes a minute, by this field's unit.
        self.assertEqual(self.number(316, 2), 1, "EDSTT")
        self.finish(self.ran)

    def effects(self) -> tuple[int, ...]:
        buffer = self.ran.alloc(PAGE)
        self.ctrl.check(Admin.GET_LOG, 0xFFFFFFFF, buffer, (1023 << 16 | EFFECTS_LOG,))
        return struct.unpack("<512I", self.ran.read(buffer, 2048))

    def test_commands_are_those_of_the_log(self) -> None:
        """Invalid Opcode is the answer to every command without effects, and to no other."""
        effects = self.effects()
        # An event may never come; Scarp's own two are of no log.
        skipped = {EVENT, Admin.FLASH, Admin.FLASH_SCHEME}
        for opcode in set(range(256)) - skipped:
            # Nothing is at an address that is not aligned: no command has an effect.
            status = self.ctrl.command(opcode, 1, 1, (0xFFFF,)).status
            known = bool(effects[opcode] & SUPPORTED)
            self.assertEqual(status != Status.INVALID_OPCODE, known, f"admin {opcode:#x}")
        queue = self.ns.queue
        for opcode in range(256):
            done = queue.wait(queue.submit(opcode, 1, (0, 0), (0, 0, 0)))
            known = bool(effects[256 + opcode] & SUPPORTED)
            self.assertEqual(done.status != Status.INVALID_OPCODE, known, f"I/O {opcode:#x}")
        self.assertFalse(effects[NAMESPACE_MANAGEMENT])
        self.finish(self.ran)

    def test_namespaces_without_placement(self) -> None:
        """Bit 3 of OACS: a subsystem without FDP that is one drive may be divided anew."""
        self.finish(self.ran)
        self.ran, self.ctrl, self.ns = self.drive()
        self.said = self.ctrl.identify(1)
        self.assertTrue(self.number(256, 2) >> 3 & 1)
        self.assertTrue(self.effects()[NAMESPACE_MANAGEMENT] & SUPPORTED)
        self.assertGreater(self.number(280, 16), 0)
        self.assertEqual(self.number(296, 16), 0)
        self.assertEqual(self.ctrl.command(NAMESPACE_MANAGEMENT, 1, cdw=(1,)).status, Status.OK)
        self.said = self.ctrl.identify(1)
        self.assertEqual(self.number(280, 16), self.number(296, 16))
        self.finish(self.ran)


class Group(DriveTest):
    def test_health_and_units(self) -> None:
        """In billions of bytes, rounded up; two namespaces of one flash are counted once."""
        machine = self.machine(
            flash(more=",age=900,overrides=nand.endurance_erases=20"),
            controller(),
            namespace(more=f",size={64 * KIB}"),
            namespace(),
        )
        ctrl = Controller(machine)
        status, page = ctrl.get_log(SMART_LOG, 512)
        self.assertEqual(status, Status.OK)
        warnings, spare, threshold, used = struct.unpack_from("<B2xBBB", page)
        ns = Namespace(ctrl.create_queue())
        for _ in range(4):
            ns.write(0, pattern(1, 64 * KIB))
            ns.read(0, 64 * KIB)
        buffer = machine.alloc(PAGE)
        ctrl.check(Admin.GET_LOG, 0, buffer, (127 << 16 | GROUP_LOG, 1 << 16))
        group = machine.read(buffer, 512)
        self.assertEqual(struct.unpack_from("<B2xBBB", group), (warnings, spare, threshold, used))
        self.assertGreater(spare, 10)
        self.assertGreater(used, 0)
        counts = [int.from_bytes(group[at : at + 16], "little") for at in range(48, 128, 16)]
        self.assertEqual(counts, [1, 1, 1, 4, 4])
        self.finish(machine)
