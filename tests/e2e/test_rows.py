# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp rows`: every field of a log's rows comes out, and the log could be made again from it."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(HERE), str(ROOT / "tests" / "scripts")]

import synthetic  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs.command_log import CAUSES, OPS  # noqa: E402
from scarplib.results.units import human_ns  # noqa: E402


def back(row: dict[str, str]) -> bytes:
    """The binary row of docs/logs.md, from what the CSV says."""
    # The job's name comes from fio's results, and the log does not have it.
    number = {key: int(value) for key, value in row.items() if key not in ("op", "job")}
    assert number["latency_ns"] == number["complete_ns"] - number["submit_ns"]
    return struct.pack(
        f"<qqQIBBHIIq{len(CAUSES)}q",
        number["submit_ns"],
        number["complete_ns"],
        number["offset_bytes"],
        number["length_bytes"],
        OPS.index(row["op"]),
        number["status"] | number["unseen"] << 7,
        number["stream"],
        number["nsid"],
        number["order"] | 1 << 30 | number["fua"] << 31,
        number["deadline_ns"],
        *(number[f"{name}_ns"] for name in CAUSES),
    )


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def rows(self, log: Path, *more: str) -> list[dict[str, str]]:
        out = self.folder / "out.csv"
        self.assertEqual(cli.main(["rows", str(log), "-o", str(out), *more]), 0)
        with out.open(newline="") as stream:
            return list(csv.DictReader(stream))

    def test_round_trip_of_a_replay(self) -> None:
        log, flash = self.folder / "cmd.bin", self.folder / "flash.bin"
        done = subprocess.run(
            [replayer.ensure_replay(), "--quiet", "-d", ROOT / "tests" / "qtest" / "tiny.ini",
             "--age", "900", "-m", "closed", "-q", "8", "--cmd-log", log,
             "--flash-log", flash, "gen:mixed,requests=6000"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.rows(log)
        self.assertEqual({row["op"] for row in rows}, {"read", "write", "deallocate", "flush"})
        data = log.read_bytes()
        self.assertEqual(data[:32] + b"".join(map(back, rows)), data)
        places = [list(row.values()) for row in self.rows(flash)]
        self.assertEqual(len(places), len(rows))
        # A flush needs no flash command of its own.
        self.assertIn([""] * 4, places)
        made = (struct.pack("<4I", *(int(x or 2**32 - 1) for x in row)) for row in places)
        self.assertEqual(flash.read_bytes()[32:], b"".join(made))
        for words in (("--slowest", "3"), ("--words",)):
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(cli.main(["rows", str(flash), *words]), 1)
            self.assertIn(f"{words[0]}: a flash log has no times", said.getvalue())

    def test_round_trip_of_a_guest(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=400)
        data = (self.folder / "cmd.bin").read_bytes()
        rows = self.rows(self.folder / "cmd.bin")
        self.assertIn("1", {row["unseen"] for row in rows})
        self.assertEqual(data[:32] + b"".join(map(back, rows)), data)
        data = (self.folder / "gc.bin").read_bytes()
        runs = [[int(value) for value in row.values()] for row in self.rows(self.folder / "gc.bin")]
        self.assertEqual(data[32:], b"".join(struct.pack("<qqIIII", *run) for run in runs))

    def test_standard_output_may_close_early(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=4000)
        for words, head in (
            (f"rows '{self.folder}/cmd.bin'", "submit_ns,complete_ns,latency_ns,op,"),
            ("schemes --json", "["),
        ):
            # Nothing is read: the pipe is closed before anything is written.
            for reader in ("head -n 1", "true"):
                command = f"'{ROOT}/scripts/scarp' {words} | {reader}"
                done = subprocess.run(
                    command, shell=True, capture_output=True, text=True, check=True
                )
                with self.subTest(command):
                    self.assertTrue(done.stdout.startswith(head) or reader == "true")
                    self.assertEqual(done.stderr, "")

    def test_the_slowest(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=400)
        for name, took in (("cmd.bin", "latency_ns"), ("gc.bin", "")):
            log = self.folder / name
            rows = self.rows(log)

            def slow(row: dict[str, str], took: str = took) -> int:
                return int(row[took]) if took else int(row["end_ns"]) - int(row["begin_ns"])

            wanted = sorted(rows, key=slow, reverse=True)
            for count in (1, 7, len(rows) + 1):
                self.assertEqual(self.rows(log, "--slowest", str(count)), wanted[:count])

    def test_in_words(self) -> None:
        """Each line says of its row what the columns do: moment, kind, place, latency, causes."""
        synthetic.write_scheme(self.folder, "baseline", count=400)
        out = self.folder / "out.txt"
        for log, more in ((self.folder / "cmd.bin", []), (self.folder, ["--slowest", "9"])):
            rows = self.rows(log, *more)
            self.assertEqual(cli.main(["rows", str(log), "--words", "-o", str(out), *more]), 0)
            lines = out.read_text().splitlines()
            self.assertEqual(len(lines), len(rows))
            for line, row in zip(lines, rows, strict=True):
                when, what, took, why = line.split(": ", 3)
                self.assertEqual(when, f"{row['submit_ns']} ns")
                self.assertEqual(what.split()[0], row["op"])
                self.assertEqual(took, human_ns(int(row["latency_ns"])))
                greatest = max(CAUSES, key=lambda name: int(row[f"{name}_ns"]))
                share = 100 * int(row[f"{greatest}_ns"]) / int(row["latency_ns"])
                self.assertRegex(why, rf"^{share:.0f} % ")
        self.assertIn(" of 4 KiB at ", lines[0])
        log = self.folder / "gc.bin"
        self.assertEqual(cli.main(["rows", str(log), "--words", "-o", str(out)]), 0)
        first = self.rows(log)[0]
        self.assertRegex(
            out.read_text().splitlines()[0],
            rf"^{first['begin_ns']} ns: block {first['victim_block']} of plane {first['plane']} on "
            rf"die {first['die']}: .* {first['moved_units']} units moved$",
        )

    def test_merges_are_called_so(self) -> None:
        folder = self.folder / "run" / "baseline"
        folder.mkdir(parents=True)
        synthetic.write_scheme(folder, "baseline", count=400)
        out = self.folder / "out.txt"
        for stats, word in (({"full_merges": 0}, "die: GC "), ({"full_merges": 3}, "die: merge ")):
            summary = {"schemes": {"baseline": {"stats": stats}}}
            (folder.parent / "summary.json").write_text(json.dumps(summary))
            words = ["rows", str(folder), "--words", "--slowest", "3", "-o", str(out)]
            self.assertEqual(cli.main(words), 0)
            self.assertIn(word, out.read_text())

    def test_bad_files(self) -> None:
        (self.folder / "empty").mkdir()
        other = self.folder / "other"
        other.write_bytes(b"SCARPXX1" + bytes(100))
        synthetic.write_scheme(self.folder, "baseline", count=30)
        whole = self.folder / "cmd.bin"
        cut = self.folder / "cut"
        cut.write_bytes(whole.read_bytes()[:-1])
        for arguments, *words in (
            ([str(other)], "SCARPXX1"),
            ([str(cut)], "no whole number"),
            ([str(self.folder / "none")], "No such file"),
            ([str(self.folder / "empty")], "a folder without cmd.bin"),
            ([str(cut), "--words"], "no whole number"),
            ([str(whole), "-o", "/nonexistent/x.csv"], "/nonexistent/x.csv"),
            ([str(whole), "-o", "/dev/full"], "/dev/full"),
        ):
            stream = io.StringIO()
            with self.subTest(arguments), contextlib.redirect_stderr(stream):
                self.assertEqual(cli.main(["rows", *arguments]), 1)
                self.assertEqual(len(stream.getvalue().splitlines()), 1)
                for word in words:
                    self.assertIn(word, stream.getvalue())


if __name__ == "__main__":
    unittest.main()
