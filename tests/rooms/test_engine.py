# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine itself passes the lint."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path


class Engine(unittest.TestCase):
    def test_the_engine_keeps_to_its_rooms(self) -> None:
        program = Path(__file__).resolve().parent / "rooms.py"
        done = subprocess.run(
            [sys.executable, program], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
