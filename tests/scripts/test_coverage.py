# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/coverage: the function that a line is in, by which a reason finds it."""

from __future__ import annotations

import runpy
import unittest
from pathlib import Path

# By its path: others have a module of this name.
HEAD = runpy.run_path(str(Path(__file__).resolve().parents[1] / "coverage/coverage.py"))["HEAD"]

HEADS = {
    "look(ScarpDrive *drive, uint32_t die, ScarpPick pick, bool enough,": "look",
    "static bool begin(ScarpDrive *drive, uint32_t p)": "begin",
    "static ScarpFlashCmd *pick_gc(ScarpDrive *drive)": "pick_gc",
    "static __attribute__((noinline)) void leave(void)": "leave",
}


class Names(unittest.TestCase):
    """A function whose head begins a line had lost its first letter."""

    def test_a_head_has_its_whole_name(self) -> None:
        found = {line: HEAD.match(line) for line in HEADS}
        self.assertEqual({line: match and match[1] for line, match in found.items()}, HEADS)
