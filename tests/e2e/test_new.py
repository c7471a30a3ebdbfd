# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp new`: what it writes compiles, runs, and keeps every law, on each of its axes."""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path

import changed_engine
from scarplib.errors import UserError
from scarplib.own_scheme import new
from scarplib.own_scheme.command import AXES

ROOT = Path(__file__).resolve().parents[2]
_TINY = ROOT / "tests" / "qtest" / "tiny.ini"


class New(unittest.TestCase):
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.program = changed_engine.program()

    def stats(self, scheme: str) -> dict[str, int]:
        command = [str(self.program), "--quiet", "-d", str(_TINY), "--age", "900", "-s", scheme]
        command += ["-m", "closed", "-q", "8", "gen:mixed,requests=1000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found: dict[str, int] = json.loads(done.stdout)["stats"]
        self.assertEqual(found["cmds_accepted"], found["cmds_completed"])
        return found

    def test_each_axis_runs_and_changes_what_is_collected(self) -> None:
        base = self.stats("baseline")
        for axis in AXES:
            with self.subTest(axis):
                found = self.stats(f"my-{axis}")
                self.assertEqual(found["scheme"], f"my-{axis}")
                self.assertGreater(found["gc_runs"], 0)
                self.assertNotEqual(found["read_latency"], base["read_latency"])

    def test_they_combine(self) -> None:
        self.assertGreater(self.stats("+".join(f"my-{axis}" for axis in AXES))["gc_runs"], 0)

    def test_they_are_listed(self) -> None:
        command = [str(self.program), "--list"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in ("my-victim: victim: ", "my-pacing: pacing: ",
                     "my-placement: relocation placement: "):  # fmt: skip
            self.assertIn(f"\n{line}", said)

    def test_what_is_there_is_left_alone(self) -> None:
        engine = changed_engine.engine()
        path = engine / "gc" / "victim_my_victim.c"
        path.write_text(f"{path.read_text()}/* mine */\n")
        before = {x: x.read_bytes() for x in engine.rglob("*.[ch]")}
        for name, said in (("my-victim", "is there already"), ("My", "is no name"),
                           ("a+b", "is no name"), ("a:b", "is no name")):  # fmt: skip
            with self.subTest(name), self.assertRaisesRegex(UserError, said):
                new.write(engine, "victim", name)
        after = {x: x.read_bytes() for x in engine.rglob("*.[ch]")}
        self.assertEqual(before, after)


if __name__ == "__main__":
    unittest.main()
