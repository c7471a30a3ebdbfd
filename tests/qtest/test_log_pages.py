# SPDX-License-Identifier: GPL-2.0-or-later
"""Log pages that the drive itself serves, read at an offset, to their ends and past them."""

from __future__ import annotations

from fixture import DriveTest, pattern
from nvme import PAGE, Admin, Controller, Status
from test_sanitize import start, wait

# Numbers and sizes: self-test, LBA status, Sanitize.
SIZES = {0x06: 564, 0x0E: 16, 0x81: 512}
FILL = 0xEE


class Edges(DriveTest):
    def read(self, ctrl: Controller, lid: int, offset: int, size: int) -> tuple[int, bytes]:
        """The status, and a page of memory that was full of something else before."""
        buffer = ctrl.machine.alloc(PAGE)
        ctrl.machine.write(buffer, bytes([FILL]) * PAGE)
        cdw = ((size // 4 - 1) << 16 | lid, 0, offset)
        done = ctrl.command(Admin.GET_LOG, 0xFFFFFFFF, buffer, cdw)
        return done.status, ctrl.machine.read(buffer, PAGE)

    def test_parts_and_ends(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, PAGE))
        # A result for the log of self-tests, and the latest Sanitize for its own.
        ctrl.check(Admin.SELF_TEST, 0, cdw=(1,))
        self.assertEqual(start(ctrl), Status.OK)
        wait(machine, ctrl)
        for lid, size in SIZES.items():
            with self.subTest(hex(lid)):
                status, whole = self.read(ctrl, lid, 0, PAGE)
                self.assertEqual(status, Status.OK)
                self.assertTrue(any(whole[:size]))
                self.assertEqual(whole[size:], bytes([FILL]) * (PAGE - size))
                for offset, asked in ((0, 4), (4, 8), (size - 4, 4), (size - 8, PAGE)):
                    status, page = self.read(ctrl, lid, offset, asked)
                    there = whole[offset : min(offset + asked, size)]
                    self.assertEqual(status, Status.OK)
                    self.assertEqual(page, there.ljust(PAGE, bytes([FILL])))
                for offset in (size, size + 4, 2, 1 << 31):
                    refused = (Status.INVALID_FIELD, bytes([FILL]) * PAGE)
                    self.assertEqual(self.read(ctrl, lid, offset, 4), refused, offset)
        self.finish(machine)
