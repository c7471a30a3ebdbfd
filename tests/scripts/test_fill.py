#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fill` without a drive: levels of rates that are written down here, and its arguments."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "scripts")]

from refused import Refused  # noqa: E402
from scarplib.replays import levels  # noqa: E402
from typed import typed  # noqa: E402

SECOND = 10**9


class Levels(unittest.TestCase):
    def check(self, windows: list[int], expected: list[tuple[int, int]]) -> None:
        """expected: where each level begins, to a hundredth of all bytes, and its rate."""
        found = levels.find(windows)
        total = sum(windows[:-1]) or windows[0]
        self.assertEqual(len(found), len(expected), found)
        self.assertEqual(found[-1].to_bytes, total)
        for level, (place, rate) in zip(found, expected, strict=True):
            self.assertAlmostEqual(level.from_bytes, place, delta=total / 99)
            self.assertAlmostEqual(level.bytes_per_s(SECOND), rate, delta=rate / 33)

    def test_one(self) -> None:
        self.check([500] * 100, [(0, 500)])

    def test_three(self) -> None:
        """The last window, which is no whole one, is left out."""
        windows = [5000] * 11 + [3500] * 116 + [130] * 10000 + [7]
        self.check(windows, [(0, 5000), (55000, 3500), (461000, 130)])

    def test_odd_window(self) -> None:
        """One second that is slow for its own reason is in the level around it."""
        self.check([1000] * 200 + [10] + [1000] * 200 + [0], [(0, 1000)])

    def test_scatter(self) -> None:
        """Rates that go up and down are one level."""
        windows = [700, 1000, 1300] * 50 + [300, 400, 200] * 200 + [0]
        self.check(windows, [(0, 1000), (150000, 300)])

    def test_pauses_of_a_second(self) -> None:
        """So are seconds in which nothing was written, if they come all over the level."""
        self.check([4000] * 100 + [900, 0, 0] * 300 + [0], [(0, 4000), (400000, 300)])

    def test_few_windows(self) -> None:
        self.check([700], [(0, 700)])


class Arguments(Refused):
    def test_pause(self) -> None:
        options = typed("fill", "demo", "--pause", "60@300GB", "--pause", "1min@5MiB")
        self.assertEqual(options.pause, ["60@300000000000", "60@5242880"])

    def test_refused(self) -> None:
        for text in ("60", "@5GB", "0@5GB", "1@x", "1@-5"):
            with self.subTest(text):
                self.assertIn("--pause", self.error("fill", "demo", "--pause", text))


if __name__ == "__main__":
    unittest.main()
