# SPDX-License-Identifier: GPL-2.0-or-later
"""Causes of a drive with an SLC cache, from its log to everything that shows them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import timeline  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402

CACHED = {
    "geometry.blocks_per_plane": 48,
    "geometry.pages_per_block": 24,
    "ftl.over_provisioning_permille": 500,
    "nand.cell_bits": 3,
    "timing.slc_read_ns": 30000,
    "timing.slc_program_ns": 200000,
    "timing.slc_erase_ns": 2000000,
    "slc.dynamic": 1,
}
FOLDS = ("die_fold_read", "die_fold_program")


def scarp(*words: str) -> str:
    command = [str(ROOT / "scripts" / "scarp"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


class Cached(unittest.TestCase):
    out: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = Path(folder.name) / "out"
        keys = [word for key, value in CACHED.items() for word in ("--set", f"{key}={value}")]
        load = "gen:sequential,size=16384,requests=1200,write=1000"
        scarp(
            *("replay", "-d", "devices/demo.ini", *keys, "-m", "closed", "-q", "16"),
            *("--schemes", "baseline", "--out", str(cls.out), load),
        )

    def test_log(self) -> None:
        log = self.out / "baseline" / "cmd.bin"
        commands = command_log.read_commands(log)
        by_cause = commands.by_cause()
        self.assertEqual(tuple(by_cause), command_log.ALL_CAUSES)
        for cause in FOLDS:
            self.assertGreater(sum(by_cause[cause]), 0, cause)
        # All that it collects it folds; and it has no temperature.
        for cause in ("die_gc_read", "die_gc_program", "throttled"):
            self.assertEqual(sum(by_cause[cause]), 0, cause)
        stats = json.loads((self.out / "baseline" / "replay.json").read_text())["stats"]
        for cause in FOLDS:
            self.assertEqual(stats[f"cause_{cause}_ns"], sum(by_cause[cause]))
        self.assertEqual(stats["cause_die_gc_program_ns"], 0)
        self.assertNotIn("cause_throttled_ns", stats)

    def test_rows(self) -> None:
        log = str(self.out / "baseline")
        (row, *_) = csv.DictReader(io.StringIO(scarp("rows", log, "--slowest", "1")))
        total = sum(int(row[f"{name}_ns"]) for name in command_log.ALL_CAUSES)
        self.assertEqual(total, int(row["latency_ns"]))
        self.assertGreater(int(row["die_fold_program_ns"]), 0)
        self.assertIn("die: fold program", scarp("rows", log, "--slowest", "1", "--words"))

    def test_report(self) -> None:
        summary = json.loads((self.out / "summary.json").read_text())
        causes = summary["schemes"]["baseline"]["tail_causes"]["write"]["cause_ns"]
        self.assertGreater(causes["die_fold_program"], 0)
        page = (self.out / "report.html").read_text()
        for wanted in ("<dt>die: fold program</dt>", '"die_fold_read"', "fold's program"):
            self.assertIn(wanted, page)

    def test_timeline(self) -> None:
        trace = self.out.parent / "trace"
        keys = [word for key, value in CACHED.items() for word in ("-o", f"{key}={value}")]
        command = [str(replayer.ensure_replay()), "--quiet", "-d", "devices/demo.ini", *keys]
        command += ["--trace", str(trace), str(self.out / "baseline" / "cmd.bin")]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
        slices, _ = timeline.read(trace)
        names = {one.name for one in slices}
        self.assertLessEqual({"fold read", "fold program", "fold erase", "fold"}, names)
        self.assertTrue(any(one.args.get("die_fold_program_ns") for one in slices))


class Others(unittest.TestCase):
    def test_no_trace_of_folds(self) -> None:
        """A drive without a cache or a temperature: logs, statistics and timelines of before."""
        with tempfile.TemporaryDirectory() as scratch:
            log, trace = Path(scratch) / "cmd.bin", Path(scratch) / "trace"
            done = subprocess.run(
                [str(replayer.ensure_replay()), "--quiet", "-d", "devices/demo.ini", "--age", "900",
                 "--cmd-log", str(log), "--trace", str(trace), "-m", "closed", "-q", "4", "-j", "-",
                 "gen:mixed,requests=300"],
                capture_output=True, text=True, check=True, cwd=ROOT,
            )  # fmt: skip
            self.assertEqual(command_log.causes(log), command_log.CAUSES)
            self.assertNotIn(b"fold", trace.read_bytes())
            self.assertNotIn(b"throttled", trace.read_bytes())
            self.assertNotIn("die_fold", done.stdout)
            self.assertNotIn("throttled", done.stdout)


if __name__ == "__main__":
    unittest.main()
