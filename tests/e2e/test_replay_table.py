# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay` as people call it: a table, or several schemes compared; JSON if asked for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / d) for d in ("scripts", "tests", "tests/e2e")]

import terminal  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.results import replayed  # noqa: E402
from scarplib.sweep import sweep  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
SCRIPT = ROOT / "scripts" / "scarp"
LOAD = ("-d", DRIVE, "--age", 900, "-m", "closed", "-q", 8)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # Built here, if it must be: nothing else may be said by what is tested.
        replayer.ensure_replay()

    def replay(self, *words: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [str(SCRIPT), "replay", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def cells(self, text: str) -> dict[str, list[str]]:
        """The rows by their labels, under the heading that they stand below."""
        found, heading = {}, ""
        for line in text.splitlines():
            words = re.split(r" {2,}", line.strip())
            if len(words) == 1:
                heading = words[0]
            else:
                found[f"{heading} {words[0]}"] = words[1:]
        return found


class One(Case):
    def test_table_and_json_agree(self) -> None:
        workload = "gen:mixed,requests=3000"
        text = self.replay(*LOAD, workload).stdout
        result = json.loads(self.replay(*LOAD, "--json", "-", workload).stdout)
        direct = subprocess.run(
            [str(replayer.ensure_replay()), *map(str, LOAD), workload],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        again = json.loads(direct.stdout)
        del result["wall_s"], again["wall_s"]
        self.assertEqual(result, again)
        cells = self.cells(text)
        stats = result["stats"]
        self.assertEqual(cells["drive GC runs"], [f"{stats['gc_runs']:,}"])
        self.assertEqual(cells["drive pages moved"], [f"{stats['gc_page_programs']:,}"])
        iops = stats["reads"] * 1e9 / result["drive_ns"]
        self.assertEqual(cells["reads IOPS"], [f"{iops:,.0f}"])
        rate = f"{result['requests_per_s']:,.0f} a second of the drive's time"
        self.assertTrue(text.splitlines()[0].endswith(f": 3,000 requests measured, {rate}"), text)
        for label in ("mean", "p50", "p99", "p99.9", "p99.99", "max"):
            self.assertIn(f"writes {label}", cells)
        self.assertTrue(any(label.endswith("die: GC program") for label in cells))
        self.assertNotIn("boot", text)

    def test_what_is_no_run_is_as_before(self) -> None:
        self.assertIn("baseline: ", self.replay("--list").stdout)
        self.assertIn("--backlog", self.replay("--help").stdout)
        image = self.folder / "a.img"
        done = self.replay("-d", DRIVE, "--age", 500, "--save", image)
        self.assertEqual((done.stdout, image.is_file()), ("", True))
        self.assertIn("writes", self.replay("-i", image, "--save", "b.img", "gen:uniform").stdout)
        self.assertTrue((self.folder / "b.img").is_file())

    def test_progress_on_a_terminal(self) -> None:
        load = [*map(str, LOAD), "gen:uniform,requests=1500000"]
        ended = terminal.run([str(SCRIPT), "replay", *load])
        self.assertRegex(ended.said, r"\r[0-9]+ requests \[")
        self.assertIn("1,500,000 requests measured", ended.output)

    def test_errors_are_the_replayers(self) -> None:
        for words, status, says in (
            (("gen:nonsense",), 1, "nonsense"),
            (("-z",), 2, "-z"),
            (("--out", "x", "gen:uniform"), 1, "--out: needs --schemes"),
        ):
            done = self.replay("-d", DRIVE, *words, status=status)
            self.assertIn(says, done.stderr)
            self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))

    def test_as_the_other_commands_have_it(self) -> None:
        load = ("--age", 900, "-m", "closed", "-q", 8, "--json", "-", "gen:mixed,requests=3000")
        found = []
        for words in (
            ("-d", DRIVE, "-o", "gc.trigger_free_blocks=4", "-o", "gc.after_reads=1"),
            ("--device", DRIVE, "--set", "gc.trigger_free_blocks=4,gc.after_reads=1"),
            (f"--device={DRIVE}", "--set=gc.trigger_free_blocks=4", "--set", "gc.after_reads=1"),
            ("-d", DRIVE),
        ):
            found.append(json.loads(self.replay(*words, *load).stdout)["stats"])
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertNotEqual(found[0], found[3])
        for name in ("--set", "--device"):
            done = self.replay("gen:mixed", name, status=1)
            self.assertEqual(done.stderr, f"scarp: error: {name}: needs a value\n")


class Several(Case):
    def test_compared(self) -> None:
        out = self.folder / "out"
        workload = "gen:mixed,requests=4000"
        few = "d-choices:d=1"
        schemes = ("--schemes", f"baseline,pgc,{few}", "--out", out)
        done = self.replay(*LOAD, *schemes, "--warmup", 500, "--seed", 5, workload)
        text = done.stdout
        # Without a terminal there is no progress whose scheme could be named.
        self.assertEqual(done.stderr, "")
        # A rate would be of the first scheme alone.
        self.assertTrue(text.splitlines()[0].endswith(": 3,500 requests measured"), text)
        self.assertEqual(text.splitlines()[1].split(), ["baseline", "pgc", few])
        cells = self.cells(text)
        summary = json.loads((out / "summary.json").read_text())
        self.assertEqual(summary["schema"], replayed.SCHEMA)
        self.assertEqual(list(summary["schemes"]), ["baseline", "pgc", few])
        self.assertEqual(summary["schemes"][few]["params"], "d=1")
        self.assertEqual(summary["manifest"]["settings"]["schemes"], ["baseline", "pgc", few])
        for column, (name, *scheme) in enumerate((
            ("baseline", "-s", "baseline"),
            ("pgc", "-s", "pgc"),
            (few, "-s", "d-choices", "-p", "d=1"),
        )):  # fmt: skip
            result = json.loads((out / name.replace(":", "-") / "replay.json").read_text())
            stats, found = result["stats"], summary["schemes"][name]
            self.assertEqual(result["measured"], 3500)
            counted = sum(found["device"][d]["count"] for d in ("read", "write"))
            self.assertLess(abs(counted - stats["reads"] - stats["writes"]), 10)
            self.assertEqual(cells["drive GC runs"][column], f"{stats['gc_runs']:,}")
            # The log's own percentiles, and the histogram's, whose steps are 1/128 wide.
            exact, binned = found["device"]["read"]["p99_ns"], stats["read_latency"]["p99_ns"]
            self.assertAlmostEqual(exact / binned, 1, delta=0.05)
            # All from one state: each column is what its scheme gives alone, from that image.
            words = ("-i", out / "drive.img", *scheme, "-m", "closed", "-q", 8, "--json", "-")
            alone = json.loads(self.replay(*words, "--warmup", 500, "--seed", 5, workload).stdout)
            self.assertEqual(alone["stats"], stats)
        page = (out / "report.html").read_text()
        self.assertIn("Latencies are what the host sees", page)
        self.assertRegex(page, r'"folder":"[^"]*out/baseline"')
        self.assertRegex(page, r'"folder":"[^"]*out/d-choices-d=1"')
        # The page's line works.
        for name in ("pgc", few):
            around = summary["schemes"][name]["begin_ns"]
            moment = self.folder / "moment"
            command = [str(SCRIPT), "timeline", str(out / name.replace(":", "-"))]
            command += ["--around", str(around), "-o", str(moment)]
            subprocess.run(command, check=True, capture_output=True)
            self.assertGreater(moment.stat().st_size, 1000)
            moment.unlink()

    def test_bad_input(self) -> None:
        for words, says in (
            (("--schemes", "baseline,basline", "gen:mixed"), "basline"),
            (("--schemes", "baseline,baseline", "gen:mixed"), "named twice"),
            (("--schemes", "baseline,ttflash", "gen:mixed"), "parity"),
            (
                ("--schemes", "pgc,d-choices:e=1", "gen:mixed"),
                "'d-choices:e=1': params: the scheme d-choices has no parameter 'e'; allowed are d",
            ),
            (("--schemes", "pgc,d-choices:d=0", "gen:mixed"), "'d-choices:d=0': params: d=0: must"),
            (("--schemes", "pgc:d=1", "--params", "d=2", "gen:mixed"), "--params: excludes"),
            (("--schemes", "baseline", "-s", "pgc", "gen:mixed"), "--scheme: excludes --schemes"),
            (("--schemes", "baseline", "--job", "1=gen:mixed"), "--job: excludes --schemes"),
            (("--schemes", "baseline", "--json", "x", "gen:mixed"), "--json: excludes"),
            (("--schemes", "baseline", "--trace", "x", "gen:mixed"), "--trace: excludes"),
            (("--schemes", "baseline", "--depht", 3, "gen:mixed"), "--depht"),
            (("--schemes", "baseline"), "workload"),
        ):
            with self.subTest(says):
                folder = self.folder / re.sub(r"\W", "", says)
                done = self.replay("-d", DRIVE, "--out", folder, *words, status=1)
                self.assertIn(says, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                # So that the command can be said again, with what is allowed.
                self.assertFalse(folder.exists())

    def test_a_line_that_ends_the_replay(self) -> None:
        """It is the reason, not the warnings before it, and the command can be said again."""
        out, trace = self.folder / "out", self.folder / "trace.csv"
        lines = [f"{128166372000000000 + i},host,0,Write,{i * 4096},4096,0" for i in range(9)]
        back = "128166371000000000,host,0,Read,0,4096,0"
        command = (*LOAD, "--schemes", "baseline,pgc", "--out", out, trace)
        trace.write_text("\n".join([*lines, back, "cut off"]))
        warning, reason = self.replay(*command, status=1).stderr.splitlines()
        self.assertIn(f"{trace}:10: time goes back", warning)
        self.assertTrue(
            reason.startswith(f"scarp: error: 'baseline': {trace}:11: 'cut off'"), reason
        )
        self.assertFalse(out.exists())
        trace.write_text("\n".join([*lines, back]))
        self.replay(*command)

    def test_a_folder_that_was_there_stays(self) -> None:
        out = self.folder / "mine"
        out.mkdir()
        self.replay(*LOAD, "--schemes", "ttflash", "--out", out, "gen:mixed", status=1)
        self.assertEqual(list(out.iterdir()), [])
        (out / "drive.img").write_text("of others")
        self.replay(*LOAD, "--schemes", "pgc", "--out", out, "gen:mixed", status=1)
        self.assertEqual((out / "drive.img").read_text(), "of others")


class OfSweeps(Case):
    def check(self, devices: tuple[str, ...], *rest: str) -> None:
        sweep.check_replays(sweep.Sweep(devices, (1, 2), rest, "gen:mixed", str(ROOT)))

    def test_what_no_cell_could_replay_is_said_before_any_is_aged(self) -> None:
        parity = str(ROOT / "devices" / "ttflash-small.ini")
        for rest, says in (
            (("--schemes", "baseline,basline"), "scheme=basline: unknown"),
            (("--schemes", "ttflash", "--age", "900"), "parity"),
            (("--schemes", "pgc", "--set", "gc.triger_free_blocks=2"), "gc.triger_free_blocks"),
            (("--schemes", "pgc", "--depht", "3"), "--depht"),
        ):
            with self.subTest(rest), self.assertRaisesRegex(UserError, says):
                self.check((str(DRIVE),), *rest)
        # One of these drives can: the other's cells are for the report to name.
        self.check((str(DRIVE), parity), "--schemes", "ttflash")


if __name__ == "__main__":
    unittest.main()
