# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches that a page tells its reader to apply fit this checkout."""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Patches(unittest.TestCase):
    def test_apply(self) -> None:
        patches = sorted((ROOT / "docs").glob("*.patch"))
        self.assertTrue(patches)
        for patch in patches:
            done = subprocess.run(
                ["git", "-C", str(ROOT), "apply", "--check", str(patch)],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, f"{patch.name}: {done.stderr}")
