# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp reproduce PAPER --row NUMBER --set KEY=VALUE`: a row under another choice."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.errors import UserError  # noqa: E402
from scarplib.reproduce import cell, one_row, papers, replays, spec  # noqa: E402

ROW = "3g"
EXPERIMENT = "aggregation"
CHOICE = "timing.program_ns"


def run_here(of: Sequence[spec.Paper], part: str, cores: int, only: Sequence[str] = ()) -> None:
    """In Snakemake's place: what of the choice the processes would see is in the environment."""
    del cores
    for paper in of:
        seen = spec.load(paper.name, part)
        for e, point, seed, path in spec.cells(paper, replays.program()):
            assert e.name in only and seen.experiments[e.name].key() == e.key()
            wanted = next(p for p in e.points if p.name == point)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(cell.cell(e, wanted, seed)))


class OneRow(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for patch in (
            mock.patch.dict(os.environ),
            mock.patch.object(spec, "CELLS", self.folder),
            mock.patch.object(replays, "IMAGES", self.folder / "images"),
            mock.patch.object(papers, "run_cells", run_here),
            mock.patch.object(spec, "QUICK_SEEDS", 2),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def said(self, *changes: str) -> list[str]:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(one_row.main("hios", ROW, changes, 1, "quick"), 0)
        return out.getvalue().splitlines()

    def test_both_verdicts_stand_beside_each_other(self) -> None:
        plain = self.said()
        here = spec.load("hios", "quick").experiments[EXPERIMENT]
        slow = 4 * replays.device_key(here.device, *CHOICE.split("."))
        other = self.said(f"{CHOICE}={slow}")
        self.assertEqual(len(plain), 5)
        self.assertTrue(plain[0].startswith("3g: throughput of sequential writes"))
        # The published line is the same, and of the whole run.
        self.assertRegex(plain[3], r"^  published: 1 KiB \+\d+\.\d % .*\*\*does not hold\*\*")
        self.assertEqual(plain[:4], other[:4])
        self.assertRegex(plain[4], r"^  run again: 1 KiB \+\d+\.\d % ")
        self.assertRegex(other[4], rf"^  {CHOICE}={slow}: 1 KiB \+\d+\.\d % ")
        self.assertNotEqual(plain[4].split(": ", 1)[1], other[4].split(": ", 1)[1])
        # The cells of one choice are never taken for another's, and no image is left.
        self.assertEqual(len(list((self.folder / "hios").iterdir())), 2)
        self.assertEqual(list(self.folder.glob("images/*")), [])

    def test_what_is_wrong_has_one_line(self) -> None:
        hios = ("hios", ROW)
        for (paper, row), changes, reason in (
            (("hios", "3z"), (), "--row 3z: hios has no such row; allowed: 3a, 3b1, "),
            (("all-together", "1a"), (), "--row: all-together has no rows that can be run alone"),
            (("safs", "5a"), (), "--row: safs has no rows that can be run alone"),
            (hios, ("gc",), "--set gc: must be GROUP.KEY=VALUE or SCHEME.PARAMETER=VALUE"),
            (hios, ("gc.after_reads=",), "--set gc.after_reads=: must be "),
            (hios, ("gc.after_reds=1",), "--set gc.after_reds=1: .*after_reds"),
            (hios, ("gc.after_reads=many",), "--set gc.after_reads=many: .*gc.after_reads"),
            (hios, ("hios-2.deadlin_us=1",), "--set hios-2.deadlin_us=1: .*deadlin_us"),
            (("hpdc18", "1g"), ("gc.after_reads=1",), "--set: row 1g of hpdc18 runs no cell"),
            (("hios", "3e"), ("gc.trigger_free_blocks=9",), "the row compares drives with several"),
        ):
            with (
                self.subTest(row=row, changes=changes),
                # Nobody waits for the published verdict only to be refused.
                mock.patch.object(one_row, "_published", side_effect=AssertionError),
            ):
                with self.assertRaisesRegex(UserError, reason) as caught:
                    one_row.main(paper, row, changes, 1, "quick")
                self.assertNotIn("\n", str(caught.exception))

    def test_what_stands_beside_it(self) -> None:
        for words, reason in (
            (["hios", "--set", "gc.after_reads=1"], "--set: needs --row"),
            (["hios", "--row", ROW, "--estimate"], "--estimate: not with --row"),
            (["hios", "--row", ROW, "--kept"], "--kept: not with --row"),
            (["hios", "--row", ROW, "--traces", "x"], "--traces: not with --row"),
            (["fit", "--row", ROW], "--row: not with fit"),
        ):
            done = subprocess.run(
                [str(ROOT / "scripts" / "scarp"), "reproduce", *words],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(reason, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


class Changed(unittest.TestCase):
    def test_a_key_of_the_drive_or_a_parameter(self) -> None:
        e = replace(
            spec.load("hios").experiments[EXPERIMENT],
            set=("gc.after_reads=1", "controller.slots=4"),
            schemes=(spec.Scheme("noop", "noop"), spec.Scheme("slow", "hios-2", "deadline_us=9")),
        )
        # In its place, so that what is set to what it is anyway has the same cells.
        self.assertEqual(spec.changed(e, ["gc.after_reads=1"]).key(), e.key())
        self.assertEqual(
            spec.changed(e, ["gc.after_reads=0"]).set, ("gc.after_reads=0", "controller.slots=4")
        )
        self.assertEqual(spec.changed(e, ["nand.read_ns=7"]).set, (*e.set, "nand.read_ns=7"))
        made = spec.changed(e, ["slow.deadline_us=8", "slow.queue=3"])
        self.assertEqual(made.schemes[1].params, "deadline_us=8,queue=3")
        self.assertEqual((made.schemes[0], made.set), (e.schemes[0], e.set))


if __name__ == "__main__":
    unittest.main()
