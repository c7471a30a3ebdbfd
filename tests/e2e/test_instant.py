# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay --at`: one run until an instant, and then a column for each scheme."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.build import cuts, first_answer  # noqa: E402
from scarplib.device_logs import changes, command_log, log_file  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.results import instant  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
SCRIPT = ROOT / "scripts" / "scarp"
LOAD = ("--age", "900", "-m", "closed", "-q", "8", "gen:mixed,requests=1500")


def scarp(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class At(unittest.TestCase):
    top: Path
    out: Path
    at_ns: int

    @classmethod
    def setUpClass(cls) -> None:
        # What is built says so on the standard error, which the tests compare.
        cuts.first_why()
        first_answer.first_replay()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.top = Path(folder.name)
        cls.out = cls.top / "forked"
        schemes = "baseline,pgc,gftl:gftl_floor=2"
        done = scarp(
            *("replay", "-d", DRIVE, "--schemes", schemes, "--at", "start+0.5"),
            *("--out", cls.out, *LOAD),
        )
        assert done.returncode == 0, done.stderr
        cls.at_ns = changes.read(cls.out / "pgc" / changes.NAME)[0].time_ns

    def test_one_run_until_the_instant(self) -> None:
        stem = list(command_log.command_rows(self.out / "baseline" / "cmd.bin"))
        before = [row for row in stem if row[1] < self.at_ns]
        self.assertGreater(len(before), 100)
        for name in ("pgc", "gftl-gftl_floor=2"):
            rows = list(command_log.command_rows(self.out / name / "cmd.bin"))
            self.assertEqual([row for row in rows if row[1] < self.at_ns], before)
            self.assertNotEqual(rows, stem)

    def test_the_stem_is_a_run_without_an_instant(self) -> None:
        plain = self.top / "plain"
        plain.mkdir()
        # As a comparison does, but for the report: from the aged drive, with logs.
        logs = ("--cmd-log", plain / "cmd.bin", "--gc-log", plain / "gc.bin")
        image = ("-i", self.out / "drive.img", "-s", "baseline", "--json", "-")
        done = scarp("replay", *image, *logs, *LOAD[2:])
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("cmd.bin", "gc.bin"):
            found = (self.out / "baseline" / name).read_bytes()
            self.assertEqual(found, (plain / name).read_bytes())
            self.assertGreater(len(found), 1000)

    def test_a_forked_column_is_repeated(self) -> None:
        """It began as the stem, and its switch is in its folder."""
        out = self.top / "moment"
        words = ("--around", self.at_ns, "--for", 20_000, "-o", out)
        done = scarp("timeline", self.out / "pgc", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = scarp("why", self.out / "pgc", "--slowest", 2, "--under", "baseline", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for episode in json.loads(done.stdout)["episodes"]:
            self.assertIsNone(episode["control"]["differs_ns"])

    def test_a_spoiled_row_is_named(self) -> None:
        spoiled = self.top / "spoiled"
        shutil.copytree(self.out / "pgc", spoiled)
        data = bytearray((spoiled / "cmd.bin").read_bytes())
        at = log_file.HEADER.size + 50 * command_log.LAYOUT.row.size
        data[at + 16] ^= 1
        (spoiled / "cmd.bin").write_bytes(data)
        with self.assertRaisesRegex(UserError, "row 50 of .*cmd.bin"):
            instant.check_equal(self.out / "baseline", spoiled, self.at_ns)
        instant.check_equal(self.out / "baseline", self.out / "pgc", self.at_ns)

    def test_times(self) -> None:
        for text, ns in (("start", 7), ("start+1.5", 1_500_000_007), ("12ns", 12)):
            self.assertEqual(instant.at_ns(text, 7, 2 * 10**9), ns)
        with self.assertRaisesRegex(UserError, "the job ends at 9 ns"):
            instant.at_ns("10ns", 7, 9)

    def test_a_change_with_too_small_a_number_is_refused(self) -> None:
        """Also where the drive is idle until the change, and nothing else comes before it."""
        trace = self.top / "two.csv"
        # A second lies between them; their times are in units of 100 ns.
        trace.write_text("128166372003061629,h,0,Read,8192,4096,0\n"
                         "128166372013061629,h,0,Read,4096,4096,0\n")  # fmt: skip
        path = self.top / "two-changes.csv"
        for number, status in ((1, 0), (0, 1), (2, 1)):
            with self.subTest(number):
                changes.write(path, [changes.Change(500_000_000, number, "scheme", "pgc")])
                words = ("-d", DRIVE, "--changes", path, "--json", "/dev/null", "--quiet", trace)
                done = scarp("replay", *words)
                self.assertEqual(done.returncode, status, done.stderr)
                if status:
                    self.assertIn("of another run", done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_bad_input(self) -> None:
        for words, says in (
            (("--schemes", "baseline,pgc", "--at", "soon"), "--at: 'soon' is no time"),
            (("--schemes", "baseline,pgc", "--at", "start+900000"), "the job ends at"),
            (("--schemes", "baseline,dynamic", "--at", "start"), "keeps its kind"),
            (("-s", "pgc", "--at", "start"), "--at: needs --schemes"),
        ):
            with self.subTest(words):
                folder = self.top / "bad"
                shutil.rmtree(folder, ignore_errors=True)
                out = ("--out", folder) if "--schemes" in words else ()
                done = scarp("replay", "-d", DRIVE, *words, *out, *LOAD)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
