# SPDX-License-Identifier: GPL-2.0-or-later
"""Telemetry and the persistent event log: what the drive keeps of itself."""

from __future__ import annotations

import struct

from fixture import KIB, DriveTest, pattern
from nvme import PAGE, Admin, Controller, Status
from test_sanitize import BLOCK_ERASE, cut, start, wait

EVENTS = 0x0D
READ, ESTABLISH, RELEASE = 0, 1, 2
TIMESTAMP, STARTED, FORMAT, FORMATTED, SANITIZE, SANITIZED, CAPTURED = 3, 4, 7, 8, 9, 10, 12
TIMESTAMP_FEATURE, SET_BY_HOST = 0x0E, 1 << 49


class Telemetry(DriveTest):
    def test_what_was_captured(self) -> None:
        machine, ctrl, ns = self.drive()

        def read(lid: int, create: int = 0, offset: int = 0, size: int = PAGE) -> tuple[int, bytes]:
            buffer = machine.alloc(PAGE)
            dw10 = (size // 4 - 1) << 16 | create << 8 | lid
            done = ctrl.command(Admin.GET_LOG, 0xFFFFFFFF, buffer, (dw10, 0, offset))
            return done.status, machine.read(buffer, size)

        head = read(7)[1]
        self.assertEqual((head[0], struct.unpack_from("<3H", head, 8)), (7, (0, 0, 0)))
        ns.write(0, pattern(1, 4 * KIB))
        status, page = read(7, create=1)
        self.assertEqual(status, Status.OK)
        blocks = struct.unpack_from("<3H", page, 8)
        self.assertEqual(len(set(blocks)), 1)
        ns.write(0, pattern(1, 4 * KIB))
        text = b"".join(
            read(7, offset=512 * block, size=512)[1] for block in range(1, blocks[0] + 1)
        )
        self.assertTrue(text.startswith(b"[{"))
        self.assertIn(b'"writes": 1,', text)
        behind = 512 * (blocks[0] + 1)
        self.assertEqual(read(7, offset=behind)[0], Status.INVALID_FIELD)
        # A capture that nobody can read leaves the earlier one.
        self.assertEqual(read(7, create=1, offset=behind * 2)[0], Status.INVALID_FIELD)
        self.assertEqual(read(7), (Status.OK, page))
        # Whole blocks only.
        self.assertEqual(read(7, offset=4)[0], Status.INVALID_FIELD)
        self.assertEqual(read(7, size=64)[0], Status.INVALID_FIELD)
        self.assertEqual(read(8, size=512), (Status.OK, b"\x08".ljust(5, b"\0") + head[5:512]))
        self.finish(machine)


class PersistentEvents(DriveTest):
    def ask(
        self, ctrl: Controller, action: int, size: int = PAGE, offset: int = 0
    ) -> tuple[int, bytes]:
        buffer = ctrl.machine.alloc(PAGE)
        dw10 = (size // 4 - 1) << 16 | action << 8 | EVENTS
        done = ctrl.command(Admin.GET_LOG, 0, buffer, (dw10, 0, offset))
        return done.status, ctrl.machine.read(buffer, size)

    def events(self, ctrl: Controller) -> list[tuple[int, bytes]]:
        """Type and data of each, the latest first; the log is established and released."""
        status, page = self.ask(ctrl, ESTABLISH)
        self.assertEqual(status, Status.OK)
        count, whole = struct.unpack_from("<IQ", page, 4)
        # The revision of NVMe 1.4.
        self.assertEqual(struct.unpack_from("<BxH", page, 16), (1, 492))
        self.cycles = struct.unpack_from("<Q", page, 44)[0]
        log = page + b"".join(self.ask(ctrl, READ, offset=at)[1] for at in range(PAGE, whole, PAGE))
        found, at, before_ms = [], 512, 1 << 63
        for _ in range(count):
            kind, revision, head, ctrl_id, ms = struct.unpack_from("<BBBxHQ", log, at)
            vendor, size = struct.unpack_from("<HH", log, at + 20)
            self.assertEqual((revision, head, ctrl_id, vendor), (1, 21, 0, 0))
            self.assertLessEqual(ms, before_ms)
            # The head says that there are events of this kind.
            self.assertTrue(page[480 + kind // 8] >> kind % 8 & 1)
            found.append((kind, log[at + 24 : at + 24 + size]))
            # A start sets the timestamp to 0, so what came before it may have a later one.
            at, before_ms = at + 24 + size, 1 << 63 if kind == STARTED else ms
        self.assertEqual(at, whole)
        self.assertEqual(self.ask(ctrl, RELEASE)[0], Status.OK)
        return found

    def test_events(self) -> None:
        machine, ctrl, _ = self.drive(more=",overrides=nand.power_cuts=1;ftl.recovery=2")
        self.assertEqual([kind for kind, _ in self.events(ctrl)], [STARTED])
        ctrl.check(Admin.FORMAT, 1, cdw=(1,))
        dw10 = 1023 << 16 | 1 << 8 | 7
        ctrl.check(Admin.GET_LOG, 0, machine.alloc(PAGE), (dw10,))
        self.assertEqual(start(ctrl), Status.OK)
        wait(machine, ctrl)
        cut(machine, ctrl)
        found = self.events(ctrl)
        self.assertEqual(
            [kind for kind, _ in found],
            [STARTED, SANITIZED, SANITIZE, CAPTURED, FORMATTED, FORMAT, STARTED],
        )
        data = dict(found)
        self.assertEqual(struct.unpack("<IB3xI", data[FORMAT]), (1, 0, 1))
        self.assertEqual(struct.unpack("<IBBHI", data[FORMATTED]), (1, 0, 0, 0, 0))
        self.assertEqual(struct.unpack("<4xII", data[SANITIZE]), (BLOCK_ERASE, 0))
        self.assertEqual(struct.unpack("<4H", data[SANITIZED]), (0xFFFF, 0x101, 0, 0))
        self.assertEqual((data[CAPTURED][0], len(data[CAPTURED])), (7, 512))
        starts = [event for kind, event in found if kind == STARTED]
        for cycle, event in zip((2, 1), starts, strict=True):
            self.assertEqual(event[:8], ctrl.identify(1)[64:72])
            self.assertEqual(struct.unpack_from("<I", event, 24)[0], cycle)
        self.assertEqual(self.cycles, 2)
        self.finish(machine)

    def test_timestamp(self) -> None:
        """Events carry what the host has set, and the setting is one of them."""
        machine, ctrl, _ = self.drive()
        machine.step(7_000_000)
        data, new = machine.alloc(PAGE), 1_700_000_000_000
        for _ in range(2):
            machine.write(data, struct.pack("<Q", new))
            ctrl.check(Admin.SET_FEATURES, 0, data, (TIMESTAMP_FEATURE,))
            machine.step(3_000_000)
        found = self.events(ctrl)
        self.assertEqual([kind for kind, _ in found], [TIMESTAMP, TIMESTAMP, STARTED])
        (second, second_ms), (first, first_ms) = (struct.unpack("<QQ", at) for _, at in found[:2])
        self.assertEqual(first, first_ms)
        self.assertIn(first, range(7, 12))
        self.assertEqual((second - new - SET_BY_HOST, second_ms - first_ms), (3, 3))
        page = self.ask(ctrl, ESTABLISH)[1]
        times = [new + SET_BY_HOST, new + SET_BY_HOST, 0]
        self.assertEqual(
            [struct.unpack_from("<Q", page, 512 + 40 * n + 6)[0] for n in range(3)], times
        )
        self.assertIn(struct.unpack_from("<Q", page, 20)[0] - times[0], range(3, 10))
        self.assertEqual(self.ask(ctrl, RELEASE)[0], Status.OK)
        self.finish(machine)

    def test_aborted_format(self) -> None:
        """A Format that does not succeed has its end, too."""
        machine, ctrl, _ = self.drive()
        form = ctrl.admin.submit(Admin.FORMAT, 1)
        ctrl.admin.submit(Admin.ABORT, cdw=(form << 16,))
        self.assertEqual(ctrl.admin.wait(form).status, Status.ABORT_REQUESTED)
        found = self.events(ctrl)
        self.assertEqual([kind for kind, _ in found], [FORMATTED, FORMAT, STARTED])
        ended = struct.unpack("<IBBHI", found[0][1])
        self.assertEqual(ended, (1, 0, 3, 0, Status.ABORT_REQUESTED))
        self.finish(machine)

    def test_context(self) -> None:
        machine, ctrl, _ = self.drive()
        self.assertEqual(self.ask(ctrl, READ)[0], Status.SEQUENCE_ERROR)
        self.assertEqual(self.ask(ctrl, 3)[0], Status.INVALID_FIELD)
        self.assertEqual(self.ask(ctrl, RELEASE)[0], Status.OK)
        # One that fails leaves no context.
        self.assertEqual(self.ask(ctrl, ESTABLISH, offset=PAGE)[0], Status.INVALID_FIELD)
        self.assertEqual(self.ask(ctrl, READ)[0], Status.SEQUENCE_ERROR)
        self.assertEqual(self.ask(ctrl, ESTABLISH)[0], Status.OK)
        self.assertEqual(self.ask(ctrl, ESTABLISH)[0], Status.SEQUENCE_ERROR)
        first = self.ask(ctrl, READ)[1]
        # A copy: what happens meanwhile is not in it.
        ctrl.check(Admin.FORMAT, 1)
        self.assertEqual(self.ask(ctrl, READ)[1], first)
        self.assertEqual(self.ask(ctrl, READ, offset=PAGE)[0], Status.INVALID_FIELD)
        # A reset releases it.
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(self.ask(ctrl, READ)[0], Status.SEQUENCE_ERROR)
        self.assertEqual(len(self.events(ctrl)), 4)
        for _ in range(60):
            ctrl.check(Admin.FORMAT, 1)
        # The latest hundred.
        self.assertEqual([kind for kind, _ in self.events(ctrl)], [FORMATTED, FORMAT] * 50)
        self.finish(machine)
