# SPDX-License-Identifier: GPL-2.0-or-later
"""Telemetry and the persistent event log: what the drive keeps of itself."""

from __future__ import annotations

import struct

from fixture import KIB, DriveTest, pattern
from nvme import PAGE, Admin, Controller, Status
from test_sanitize import BLOCK_ERASE, cut, start, wait

EVENTS = 0x0D
READ, ESTABLISH, RELEASE = 0, 1, 2
STARTED, FORMAT, FORMATTED, SANITIZE, SANITIZED, CAPTURED = 4, 7, 8, 9, 10, 12


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
        self.assertEqual(read(7, offset=512 * (blocks[0] + 1))[0], Status.INVALID_FIELD)
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
        self.assertEqual(struct.unpack_from("<BxH", page, 16), (3, 492))
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
            at, before_ms = at + 24 + size, ms
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
        self.assertEqual(data[STARTED][:8], ctrl.identify(1)[64:72])
        self.finish(machine)

    def test_context(self) -> None:
        machine, ctrl, _ = self.drive()
        self.assertEqual(self.ask(ctrl, READ)[0], Status.SEQUENCE_ERROR)
        self.assertEqual(self.ask(ctrl, 3)[0], Status.INVALID_FIELD)
        self.assertEqual(self.ask(ctrl, RELEASE)[0], Status.OK)
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
