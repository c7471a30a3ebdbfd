# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces as people bring them: what the drive gets, what is said of it, what the report shows."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
from scarplib.results import replay_words  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
SCRIPT = ROOT / "scripts" / "scarp"
DAY_US = 86_400_000_000


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "trace"
        replayer.ensure_replay()

    def scarp(self, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(SCRIPT), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def result(self, text: str, *words: object) -> dict[str, Any]:
        """Of a trace with this text, as JSON."""
        self.trace.write_text(text)
        done = self.scarp("replay", "-d", DRIVE, "--json", "-", *words, self.trace)
        return dict(json.loads(done.stdout))


class Requests(Case):
    """One input for each kind of public report, and the right value of each."""

    def test_blktrace_flushes_and_fua(self) -> None:
        line = "259,3    1  {}   {:.9f}  9  D {} [x]\n"
        fields = ("W 64 + 8", "FWS", "WFS 128 + 8", "FWFS 256 + 8")
        text = "".join(line.format(i, i / 500, what) for i, what in enumerate(fields))
        out = self.result(text, "-o", "controller.buffer_bytes=262144")
        self.assertEqual((out["writes"], out["flushes"], out["fua_writes"]), (3, 2, 2))
        self.assertEqual(out["stats"]["flushes"], 2)
        # Without a cache in the way of a write, FUA has nothing to wait for.
        log = self.folder / "cmd.bin"
        self.result(text, "--cmd-log", log)
        rows = list(csv.DictReader(self.scarp("rows", log).stdout.splitlines()))
        self.assertEqual([row["fua"] for row in rows if row["op"] == "write"], ["0", "1", "1"])

    def test_blktrace_queue_only(self) -> None:
        text = "8,0 1 1 0.0 7 Q W 80 + 16 [x]\n8,0 1 2 0.25 7 Q R 80 + 16 [x]\n"
        out = self.result(text)
        self.assertEqual((out["reads"], out["writes"]), (1, 1))
        self.assertEqual(out["trace"]["span_ns"], 250_000_000)

    def test_fio_waits(self) -> None:
        text = "fio version 2 iolog\na add\na open\na write 0 4096\na wait 1500 0\n"
        out = self.result(text + "a read 0 4096\na close\n")
        self.assertEqual((out["requests"], out["trace"]["span_ns"]), (2, 1_500_000))

    def test_fio_files_are_devices(self) -> None:
        head = "fio version 2 iolog\na add\nb add\na open\nb open\na write 0 8192\n"
        for file, found in (("a", 0), ("b", 2)):
            out = self.result(f"{head}{file} wait 9000 0\n{file} read 0 8192\n")
            self.assertEqual(out["trace"]["devices"], 1 + (file == "b"))
            self.assertEqual(out["stats"]["unmapped_read_units"], found)

    def test_disksim_of_256_kib(self) -> None:
        text = "".join(f"{i * 7}.000 0 {i * 512} 512 {i % 2}\n" for i in range(30))
        out = self.result(text)
        self.assertEqual(out["trace"]["format"], "disksim")
        self.assertEqual(out["trace"]["mean_read_bytes"], 262_144)
        self.assertEqual((out["trace"]["sniffed"], out["trace"]["also"]), (30, "heimdall"))
        named = self.result(text, "--format", "heimdall")
        self.assertEqual(named["trace"]["mean_read_bytes"], 512)
        self.assertEqual((named["trace"]["sniffed"], named["trace"]["also"]), (0, None))

    def test_msr_with_a_head(self) -> None:
        head = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
        rows = "133000000000000000,x,0,Write,0,4096,9\n133000000000100000,x,0,Read,0,4096,9\n"
        spec = "csv:header=1,time=1:100ns,device=3,op=4,offset=5,length=6"
        for text, words, name in (
            (head + rows, (), "msr-header"),
            (head + rows, ("--format", spec), "csv"),
            (head + rows, ("--format", "msr"), "msr"),
            ("# x\n" + rows, (), "msr"),
            ("\ufeff" + head + rows, (), "msr-header"),
        ):
            with self.subTest(text=text[:9], words=words):
                out = self.result(text, *words)
                self.assertEqual((out["requests"], out["trace"]["format"]), (2, name))
                self.assertEqual(out["trace"]["span_ns"], 10_000_000)

    def test_a_table_without_operations(self) -> None:
        spec = "csv:offset=1:sectors,length=2:sectors,time=3"
        text = "0,8,0.0\n8,8,0.1\n"
        for op, key in (("write", "writes"), ("read", "reads"), ("trim", "deallocates")):
            out = self.result(text, "--format", f"{spec},op={op}")
            self.assertEqual((out["requests"], out[key]), (2, 2))
        done = self.scarp("replay", "-d", DRIVE, "--format", spec, self.trace, status=1)
        self.assertIn("'op' is missing", done.stderr)
        self.assertIn("op=read", done.stderr)

    def test_several_words_for_an_operation(self) -> None:
        text = "0,8,get\n8,8,scan\n16,8,put\n24,8,1\n"
        spec = "csv:offset=1,length=2,op=3,read=get|scan,write=put|1"
        out = self.result(text, "--format", spec)
        self.assertEqual((out["reads"], out["writes"]), (2, 2))


class Shape(Case):
    TEXT = "0,R,0,4096,0\n0,W,4096,4096,10000\n0,R,8192,4096,30000\n"

    def test_repeat_skip_and_gaps(self) -> None:
        out = self.result(self.TEXT, "--repeat", 4, "--max-gap", 15000, "--skip", "writes")
        self.assertEqual((out["requests"], out["writes"], out["skipped_requests"]), (8, 0, 4))
        # Each run takes 15 ms, and a mean gap of a half of that follows.
        self.assertEqual(out["trace"]["span_ns"], 4 * 15_000_000 + 3 * 7_500_000)
        self.assertEqual((out["gaps_cut"], out["gaps_cut_ns"]), (4, 4 * 15_000_000))
        self.assertEqual(out["repeat"], 4)
        # Places stay.
        self.assertEqual(out["trace"]["footprint_bytes"], 8192)

    def test_refused(self) -> None:
        self.trace.write_text(self.TEXT)
        for words, says in (
            (("--repeat", 0), "--repeat=0: must be from 1"),
            (("--max-gap", -1), "--max-gap=-1: must be from 0"),
            (("--skip", "read"), "--skip=read: allowed: reads, writes, trims, flushes"),
        ):
            done = self.scarp("replay", "-d", DRIVE, *words, self.trace, status=1)
            self.assertIn(says, done.stderr)
        for words in (("--repeat", 2), ("--max-gap", 9), ("--skip", "reads")):
            job = ("--job", "1=gen:uniform,requests=9")
            done = self.scarp("replay", "-d", DRIVE, *words, *job, status=1)
            self.assertIn(f"--job: excludes {words[0]}", done.stderr)


class Compared(Case):
    """A trace with a pause of 14,662 days, which a public one has."""

    def pause(self) -> str:
        rows = [f"0,{'RW'[i % 2]},{i * 4096},4096,{i * 100}\n" for i in range(40)]
        return "# own\n" + "".join(rows) + f"0,R,0,4096,{14_662 * DAY_US + 5000}\n"

    def compare(self, *words: object) -> tuple[subprocess.CompletedProcess[str], Path]:
        self.trace.write_text(self.pause())
        out = self.folder / "out"
        schemes = ("--schemes", "baseline,pgc", "--out", out)
        return self.scarp("replay", "-d", DRIVE, *schemes, *words, self.trace), out

    def test_a_pause_of_decades(self) -> None:
        done, out = self.compare()
        self.assertIn(f"{self.trace}:42: time jumps ahead by 14662 days", done.stderr)
        self.assertIn("--max-gap", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        page = (out / "report.html").read_text()
        self.assertIn("days of the drive&#x27;s time".replace("&#x27;", "'"), page)
        self.assertIn("time jumps ahead by 14662 days", page)

    def test_the_pause_is_cut_and_no_collection_ran(self) -> None:
        done, out = self.compare("--max-gap", 1000)
        first = done.stdout.splitlines()[0]
        self.assertIn("(alibaba, by its first 41 requests): 41 requests measured", first)
        self.assertIn("1 gap cut by 14,662 days", first)
        summary = json.loads((out / "summary.json").read_text())
        self.assertEqual(summary["replayed"]["gaps_cut"], 1)
        self.assertEqual(summary["schemes"]["pgc"]["virtual_ns"] // 10**9, 0)
        page = (out / "report.html").read_text()
        self.assertIn("1 gap cut by 14,662 days", page[: page.index("<table>")])
        self.assertIn("scarp-columns", page)
        for name in ("baseline", "pgc"):
            lines = (out / name / "lines.csv").read_text().splitlines()
            numbers = [line.split(",")[0] for line in lines]
            self.assertEqual(numbers, ["line", *map(str, range(2, 43))])
        said = next(line for line in done.stdout.splitlines() if "No collection ran" in line)
        self.assertIn("No collection ran: the schemes cannot differ. About ", said)
        self.assertIn("the schemes cannot differ", page[: page.index("<table>")])
        # So much more is as much as is said.
        missing = json.loads((out / "baseline" / "replay.json").read_text())
        pages = missing["until_collection_bytes"] // 4096 + 20
        for part, collects in ((0.5, False), (1.1, True)):
            load = f"gen:uniform,write=1000,requests={int(pages * part)}"
            run = self.scarp("replay", "-d", DRIVE, "-m", "closed", "-q", 4, load)
            self.assertEqual("No collection ran" not in run.stdout, collects, run.stdout)

    def test_rows_name_the_line(self) -> None:
        self.trace.write_text(self.pause())
        log, lines = self.folder / "cmd.bin", self.folder / "lines.csv"
        logs = ("--cmd-log", log, "--line-log", lines)
        self.scarp("replay", "-d", DRIVE, *logs, "--max-gap", 1000, "--skip", "reads", self.trace)
        rows = list(csv.DictReader(self.scarp("rows", log).stdout.splitlines()))
        self.assertEqual(sorted(int(row["line"]) for row in rows), list(range(3, 42, 2)))
        for row in rows:
            self.assertEqual(int(row["offset_bytes"]), (int(row["line"]) - 2) * 4096)
            self.assertEqual((row["op"], row["job"]), ("write", ""))
        times = sorted(int(row["submit_ns"]) for row in rows)
        part = self.scarp("rows", log, "--between", f"{times[3]}:{times[6]}").stdout
        found = list(csv.DictReader(part.splitlines()))
        self.assertEqual(sorted(int(row["submit_ns"]) for row in found), times[3:6])
        words = self.scarp("rows", log, "--words", "--slowest", 1, "--op", "write").stdout
        self.assertRegex(words, r"write of 4 KiB at \d+, line \d+: ")


class Rows(Case):
    def test_jobs_and_operations(self) -> None:
        log, lines = self.folder / "a.bin", self.folder / "lines.csv"
        jobs = ("2=gen:uniform,requests=20,write=0", "1=gen:uniform,requests=9,write=1000")
        words = [word for job in jobs for word in ("--job", job)]
        self.scarp("replay", "-d", DRIVE, "--cmd-log", log, "--line-log", lines, *words)
        done = self.scarp("rows", log, "--lines", lines)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual({(row["op"], row["job"]) for row in rows},
                         {("read", jobs[0]), ("write", jobs[1])})  # fmt: skip
        reads = self.scarp("rows", log, "--op", "read").stdout
        self.assertEqual(len(reads.splitlines()), 21)
        self.assertNotIn("job", reads.splitlines()[0])
        both = self.scarp("rows", log, "--op", "read,write", "--between", ":1").stdout
        at_once = [row for row in rows if int(row["submit_ns"]) == 0]
        self.assertEqual(len(both.splitlines()), 1 + len(at_once))

    def test_refused(self) -> None:
        log, gc = self.folder / "cmd.bin", self.folder / "gc.bin"
        lines = self.folder / "lines.csv"
        load = ("-m", "closed", "gen:uniform,requests=5")
        self.scarp("replay", "-d", DRIVE, "--cmd-log", log, "--gc-log", gc, *load)
        lines.write_text("line,job\n1,\n")
        for words, says in (
            ((log, "--op", "reed"), "--op: 'reed': allowed: read, write"),
            ((gc, "--op", "read"), "--op: needs a command log"),
            ((log, "--between", "5"), "--between: '5' is not FROM:TO"),
            ((log, "--between", "5:5"), "--between: '5:5' ends before it begins"),
            ((log,), "lines.csv: has 1 requests; the command log has more"),
        ):
            done = self.scarp("rows", *words, status=1)
            self.assertIn(says, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


class Words(unittest.TestCase):
    """What the first line says of a workload."""

    def test_of_each_change(self) -> None:
        result: dict[str, Any] = dict.fromkeys(replay_words.CHANGES, 0)
        result |= {"repeat": 1, "workload": "t", "measured": 1200, "warnings": []}
        result["trace"] = {"format": "msr", "sniffed": 0, "also": None}
        self.assertEqual(replay_words.workload(result), "t (msr): 1,200 requests measured")
        result |= {"folded": 2, "skipped_lines": 1, "empty_requests": 3, "foreign_lines": 1,
                   "broken_lines": 4, "skipped_requests": 7, "gaps_cut": 2,
                   "gaps_cut_ns": 5_000_000_000, "repeat": 3}  # fmt: skip
        result["trace"] |= {"sniffed": 900, "also": "spc"}
        self.assertEqual(
            replay_words.workload(result),
            "t (msr, by its first 900 requests, which fit spc, too: --format says which it is): "
            "1,200 requests measured, 2 requests folded onto the drive, 1 line of its head "
            "skipped, 3 requests of no bytes left out, 1 line left out that no drive has a command "
            "for, 4 broken lines left out, 7 requests left out by --skip, 2 gaps cut by 5.00 s, "
            "run 3 times",
        )
        self.assertFalse(re.search(r"\bNone\b", replay_words.workload(result)))


if __name__ == "__main__":
    unittest.main()
