# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp run --times` prints of a run's parts."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib.runs import parts  # noqa: E402


class Times(unittest.TestCase):
    def test_parts_add_up(self) -> None:
        # Clock and processor: two guests of 10 and 8 s on two cores, which boot in 2 and 1 s.
        moments = iter([(100.0, 5.0), (101.0, 5.5), (111.0, 23.5), (112.0, 24.5)])
        with mock.patch.object(parts, "_now", lambda: next(moments)):
            seen = parts.Parts()
            seen.end("before the guests")
            seen.end_guests([(2, 10), (1, 8)])
            seen.end("report")
        self.assertEqual(
            seen.rows,
            [
                ("before the guests", 1, 0.5),
                ("guests: until the job begins", 2, 3),
                ("guests: the job", 8, 15),
                ("report", 1, 1),
            ],
        )
        self.assertEqual(
            seen.text().splitlines()[-1].split(), ["together", "12.0", "s", "19.5", "s"]
        )

    def test_no_guest_ended(self) -> None:
        seen = parts.Parts()
        seen.end_guests([])
        self.assertEqual([row[0] for row in seen.rows][-1], "guests: the job")

    def test_children_count(self) -> None:
        seen = parts.Parts()
        subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
        seen.end("a program")
        self.assertGreater(seen.rows[0][2], 0.05)


class Options(Refused):
    def test_times_are_of_one_drive(self) -> None:
        self.assertIn("--times", self.error("run", "--times", "--drives", "2"))


if __name__ == "__main__":
    unittest.main()
