# SPDX-License-Identifier: GPL-2.0-or-later
"""A moment of a run looked at closely: where a command was served, and `scarp timeline`."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import timeline  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log, flash_log, log_file  # noqa: E402
from scarplib.drive.start import of_run, said  # noqa: E402
from scarplib.results.interactive import served  # noqa: E402
from scarplib.results.summary import SchemeData  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
SCRIPT = ROOT / "scripts" / "scarp"


class Moment(unittest.TestCase):
    """A run's folder as a guest would have left it, from a saved state and its command log."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name)
        self.folder = self.run_folder / "baseline"
        self.folder.mkdir()
        self.image = self.run_folder / "drive.img"
        self.replay("-d", DRIVE, "--age", 900, "--save", self.image)
        self.log = self.folder / "cmd.bin"
        self.load = ("-m", "closed", "-q", 8, "gen:mixed,requests=1500")
        self.replay("-i", self.image, "--cmd-log", self.log, *self.load)
        self.result = {
            "schemes": {"baseline": {}},
            "start": [["image", said(self.image, self.run_folder)]],
        }
        (self.run_folder / "summary.json").write_text(json.dumps(self.result))
        self.commands = command_log.read_commands(self.log)

    def replay(self, *arguments: object) -> None:
        command = [str(replayer.ensure_replay()), "--quiet", "--json", "/dev/null"]
        done = subprocess.run([*command, *map(str, arguments)], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def scheme(self) -> SchemeData:
        begin, end = min(self.commands.submit), max(self.commands.complete)
        return SchemeData("baseline", self.folder, begin, end, self.commands, [], {}, {})

    def test_served_as_the_timeline_shows(self) -> None:
        """The plane of the last flash command that an arrow leads to from the command."""
        trace = self.run_folder / "trace"
        self.replay("-i", self.image, "--trace", trace, self.log)
        slices, _ = timeline.read(trace)
        last: dict[int, timeline.Slice] = {}
        for s in slices:
            for flow in s.flows if s.category == "flash" and s.track.startswith("plane") else ():
                if flow not in last or s.end_ns >= last[flow].end_ns:
                    last[flow] = s
        found = served.find(self.scheme(), of_run(self.result, self.run_folder, "baseline"))
        assert found
        rows = zip(self.commands.submit, self.commands.offset, self.commands.length, strict=True)
        places = {row: i for i, row in enumerate(rows)}
        reads = 0
        for s in slices:
            if s.track != "commands" or s.name != "read" or not s.args.get("array_ns"):
                continue
            i = places[s.begin_ns, s.args["offset_bytes"], s.args["length_bytes"]]
            ends = [last[flow] for flow in s.flows if flow in last]
            if s.args["length_bytes"] <= 4096 and ends:
                reads += 1
                self.assertEqual(f"plane {found.plane[i]}", ends[0].track)
        self.assertGreater(reads, 50)

    def test_a_column_may_have_another_name(self) -> None:
        for result, scheme in (
            (self.result, "baseline"),
            ({**self.result, "columns": {"baseline": "pgc"}}, "pgc"),
        ):
            found = of_run(result, self.run_folder, "baseline")
            assert found
            self.assertEqual(found.words()[:2], ["--scheme", scheme])

    def test_a_command_without_flash_is_nowhere(self) -> None:
        flash, log = self.run_folder / "flash", self.run_folder / "log"
        self.replay("-d", DRIVE, "--cmd-log", log, "--flash-log", flash, "gen:uniform,requests=50")
        rows = list(log_file.rows(flash, flash_log.LAYOUT))
        commands = command_log.read_commands(log)
        self.assertEqual(len(rows), 50)
        # A fresh drive has nothing to read; what is written needs a program.
        for op, row in zip(commands.op, rows, strict=True):
            if op == command_log.READ:
                self.assertEqual(row[0], flash_log.NOWHERE)
        self.assertTrue(any(row[0] != flash_log.NOWHERE for row in rows))

    def test_another_state_is_not_believed(self) -> None:
        start = of_run(self.result, self.run_folder, "baseline")
        self.assertIsNotNone(served.find(self.scheme(), start))
        data = bytearray(self.log.read_bytes())
        submit, complete = struct.unpack_from("<qq", data, log_file.HEADER.size)
        first_cause = log_file.HEADER.size + 48
        struct.pack_into("<q", data, log_file.HEADER.size + 8, complete + 1)
        cause = struct.unpack_from("<q", data, first_cause)[0]
        struct.pack_into("<q", data, first_cause, cause + 1)
        self.log.write_bytes(data)
        self.commands = command_log.read_commands(self.log)
        self.assertLess(submit, complete)
        self.assertIsNone(served.find(self.scheme(), start))
        self.image.unlink()
        self.assertIsNone(of_run(self.result, self.run_folder, "baseline"))

    def command(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPT), "timeline", *map(str, words)], capture_output=True, text=True, check=False
        )

    def test_timeline_of_a_moment(self) -> None:
        latencies = [
            c - s for c, s in zip(self.commands.complete, self.commands.submit, strict=True)
        ]
        slowest = latencies.index(max(latencies))
        around, window = self.commands.submit[slowest], latencies[slowest] * 3 // 2000
        out = self.run_folder / "moment"
        done = self.command(self.folder, "--around", around, "--for", window, "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ui.perfetto.dev", done.stdout)
        slices, _ = timeline.read(out)
        found = [s for s in slices if s.track == "commands" and s.begin_ns == around]
        self.assertIn(self.commands.complete[slowest], [s.end_ns for s in found])
        first = around - window * 1000 // 6 - 1000
        self.assertTrue(all(first <= s.begin_ns <= first + window * 1000 + 2000 for s in slices))
        # It is a window: most of the run is not in it.
        self.assertLess(len([s for s in slices if s.track == "commands"]), 750)

    def test_bad_input(self) -> None:
        out = self.run_folder / "x"
        for words, says in (
            ((self.run_folder, "--around", 1, "-o", out), "not a scheme's folder of a run"),
            ((self.folder, "--around", "soon", "-o", out), "--around: 'soon'"),
            ((self.folder, "--around", 1), "-o"),
            ((self.folder, "--around", 1, "-o", "/dev/null/x"), "/dev/null/x"),
        ):
            done = self.command(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.image.unlink()
        done = self.command(self.folder, "--around", 1, "-o", out)
        self.assertIn("the drive's state from which it began is not there", done.stderr)


if __name__ == "__main__":
    unittest.main()
