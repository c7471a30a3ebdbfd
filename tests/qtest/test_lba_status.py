# SPDX-License-Identifier: GPL-2.0-or-later
"""Get LBA Status: the ranges that the mapping has."""

from __future__ import annotations

import struct

from fixture import KIB, DriveTest, pattern
from machine import Machine
from nvme import PAGE, Admin, Op, Status

ALLOCATED, SCAN, TRACKED = 0x02, 0x10, 0x11
MORE, COMPLETE = 1, 2
UNIT = 4 * KIB // 512


class LbaStatus(DriveTest):
    def setUp(self) -> None:
        super().setUp()
        self.ran: Machine
        self.ran, self.ctrl, self.ns = self.drive()
        self.blocks = struct.unpack_from("<Q", self.ctrl.identify(0, 1))[0]

    def ask(
        self, lba: int = 0, blocks: int = 0, action: int = ALLOCATED, dwords: int = 1024
    ) -> tuple[int, list[tuple[int, int, int]]]:
        """The completion's condition, and first block, length and status of each range."""
        buffer = self.ran.alloc(PAGE)
        self.ran.write(buffer, b"\xee" * PAGE)
        cdw = (lba & 0xFFFFFFFF, lba >> 32, dwords - 1, action << 24 | blocks)
        self.ctrl.check(Admin.LBA_STATUS, 1, buffer, cdw)
        page = self.ran.read(buffer, PAGE)
        count, condition = struct.unpack_from("<IB", page)
        end = 8 + 16 * count
        self.assertLessEqual(end, 4 * dwords)
        self.assertEqual(page[end:], b"\xee" * (PAGE - end))
        rows = [struct.unpack_from("<QIxB", page, at) for at in range(8, end, 16)]
        return condition, [(lba, length, status) for lba, length, status in rows]

    def status(self, nsid: int = 1, cdw: tuple[int, ...] = ()) -> int:
        return self.ctrl.command(Admin.LBA_STATUS, nsid, self.ran.alloc(PAGE), cdw).status

    def test_ranges(self) -> None:
        self.assertEqual(self.ask(), (COMPLETE, []))
        ns = self.ns
        # A unit is allocated as a whole: what is not written of it reads as zeroes.
        ns.write(0, pattern(1, 512))
        ns.write(16 * KIB, pattern(2, 8 * KIB))
        last = self.blocks * 512 - 4 * KIB
        ns.write(last, pattern(3, 4 * KIB))
        rows = [(0, UNIT, 2), (4 * UNIT, 2 * UNIT, 2), (self.blocks - UNIT, UNIT, 2)]
        self.assertEqual(self.ask(), (COMPLETE, rows))
        self.assertEqual(ns.deallocate([(20 * KIB, 4 * KIB)]), 0)
        rows[1] = (4 * UNIT, UNIT, 2)
        self.assertEqual(self.ask(), (COMPLETE, rows))
        # Parts of units, and less than all.
        self.assertEqual(self.ask(3, 4 * UNIT), (COMPLETE, [(3, UNIT - 3, 2), (4 * UNIT, 3, 2)]))
        self.assertEqual(self.ask(4 * UNIT + 1, 2), (COMPLETE, [(4 * UNIT + 1, 2, 2)]))
        self.assertEqual(self.ask(UNIT, 2 * UNIT), (COMPLETE, []))
        self.assertEqual(self.ctrl.command(Admin.FORMAT, 1).status, 0)
        self.assertEqual(self.ask(), (COMPLETE, []))
        self.finish(self.ran)

    def test_room(self) -> None:
        for at in range(4):
            self.ns.write(at * 8 * KIB, pattern(at, 4 * KIB))
        rows = [(at * 2 * UNIT, UNIT, 2) for at in range(4)]
        for dwords, fit in ((1024, 4), (18, 4), (17, 3), (14, 3), (6, 1), (5, 0), (2, 0)):
            condition = COMPLETE if fit == 4 else MORE
            self.assertEqual(self.ask(dwords=dwords), (condition, rows[:fit]), dwords)
        # What is left over is there when it is asked from the next block on.
        self.assertEqual(self.ask(rows[1][0]), (COMPLETE, rows[1:]))
        self.finish(self.ran)

    def test_large_drive(self) -> None:
        """One command looks at 4 GiB, or farther if nothing is there: a host can always go on."""
        keys = "geometry.blocks_per_plane=1024;geometry.pages_per_block=512"
        self.finish(self.ran)
        self.ran, self.ctrl, self.ns = self.drive(more=f",overrides={keys}")
        self.blocks = struct.unpack_from("<Q", self.ctrl.identify(0, 1))[0]
        last = self.blocks - UNIT
        self.assertGreater(last, 4 << 21)
        for at, lba in enumerate((8 * UNIT, last)):
            self.ns.write(lba * 512, pattern(at, 4 * KIB))
        self.assertEqual(self.ask(), (MORE, [(8 * UNIT, UNIT, 2)]))
        self.assertEqual(self.ask(9 * UNIT), (COMPLETE, [(last, UNIT, 2)]))
        self.finish(self.ran)

    def test_nothing_is_unreadable(self) -> None:
        self.ns.write(0, pattern(1, 4 * KIB))
        for action in (SCAN, TRACKED):
            self.assertEqual(self.ask(action=action), (COMPLETE, []))
        self.assertEqual(self.ctrl.get_log(0x0E, 16), (0, b"\x10" + bytes(15)))
        self.finish(self.ran)

    def test_refusals(self) -> None:
        whole = ALLOCATED << 24
        self.assertEqual(self.status(cdw=(0, 0, 1, 0)), Status.INVALID_FIELD)
        self.assertEqual(self.status(cdw=(0, 0, 1, 3 << 24)), Status.INVALID_FIELD)
        self.assertEqual(self.status(0, (0, 0, 1, whole)), Status.INVALID_NSID)
        self.assertEqual(self.status(0xFFFFFFFF, (0, 0, 1, whole)), Status.INVALID_NSID)
        self.assertEqual(self.status(2, (0, 0, 1, whole)), Status.INVALID_FIELD)
        for lba, blocks in ((self.blocks, 0), (self.blocks - 1, 2), (1 << 63, 1)):
            cdw = (lba & 0xFFFFFFFF, lba >> 32, 1, whole | blocks)
            self.assertEqual(self.status(cdw=cdw), Status.LBA_RANGE)
        # More than the controller sends at once (MDTS).
        self.assertEqual(self.status(cdw=(0, 0, 0xFFFFFFFF, whole)), Status.INVALID_FIELD)
        # Commands are answered meanwhile.
        self.assertEqual(self.ns.simple(Op.VERIFY, 0, 4 * KIB), 0)
        self.finish(self.ran)
