# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/hunt-nvme/record.py: which sequences come next, and what counts towards a goal."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "scripts")]

# Of the sequences it needs their numbers alone; theirs and our modules have the same names.
CASES = types.ModuleType("cases")
CASES.__dict__.update(
    CLOCKS=("virtual", "realtime"),
    Case=object,
    Outcome=object,
    drawn=lambda seed, clock: types.SimpleNamespace(seed=seed, clock=clock),
)
SPEC = importlib.util.spec_from_file_location("record", TESTS / "hunt-nvme" / "record.py")
assert SPEC
assert SPEC.loader
record = importlib.util.module_from_spec(SPEC)
with mock.patch.dict(sys.modules, cases=CASES, record=record):
    SPEC.loader.exec_module(record)

LINE = "{} c 1 20 {} {} 9 -\n"


class AGoal(unittest.TestCase):
    """Of sequences that all pass, with a thousand commands each."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name) / "record.txt"
        patches = (
            mock.patch.object(record, "RECORD", self.path),
            mock.patch.object(record, "BLOCK", 2),
            mock.patch.object(record.present, "device_hash", lambda: "today"),
        )
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def run_to(self, commands: int, wrong: int = 0) -> list[int]:
        """The seeds that it asks for; this one fails."""
        goal, seeds = record.Goal(commands), []
        for case in goal.cases():
            seeds.append(case.seed)
            outcome = types.SimpleNamespace(wrong=case.seed == wrong, commands=1000)
            goal.ended(case, outcome)
        return seeds

    def test_what_another_device_has_passed_does_not_count(self) -> None:
        self.path.write_text("# comment\n" + LINE.format("other", 5000, 5000))
        self.assertEqual(self.run_to(4000), [21, 22, 23, 24])
        self.assertEqual(self.run_to(4000), [])
        last = self.path.read_text().splitlines()[-1].split()
        self.assertEqual((last[0], last[2:6]), ("today", ["23", "24", "1000", "1000"]))

    def test_each_clock_has_its_half(self) -> None:
        self.path.write_text(LINE.format("today", 9000, 1000))
        self.assertEqual(self.run_to(4000), [21, 22])

    def test_one_that_fails_is_named_and_does_not_count(self) -> None:
        self.path.write_text(LINE.format("other", 0, 0))
        self.assertEqual(self.run_to(2000, wrong=21), [21, 22, 23, 24])
        self.assertEqual([each.failed for each in record.read()], [[], [21], []])


if __name__ == "__main__":
    unittest.main()
