# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/guest/file_systems.py: which guests have run on a device, by its record."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "guest"))

import file_systems


class Recorded(unittest.TestCase):
    def test_only_lines_of_that_device(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "record.txt"
            path.write_text("# a head\nold 1234 xfs/page/pgc 9\nnew 5678 ext4/fast/pgc 43\n")
            with mock.patch.object(file_systems, "RECORD", path):
                self.assertEqual(file_systems.recorded("new"), {"ext4/fast/pgc"})
                self.assertEqual(file_systems.recorded("none"), set())

    def test_what_is_written_down_are_runs_that_there_are(self) -> None:
        devices = {
            line.split()[0]
            for line in file_systems.RECORD.read_text().splitlines()
            if line[:1] != "#"
        }
        self.assertTrue(devices)
        there = {combination.name for combination in file_systems.combinations()}
        for device in devices:
            self.assertLessEqual(file_systems.recorded(device), there)


if __name__ == "__main__":
    unittest.main()
