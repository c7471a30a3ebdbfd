# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that are kept in the repository: a run goes on from them, the table is made of them."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import keep, overview, spec  # noqa: E402

ENGINE = "0123456789ab"


class Kept(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        root = mock.patch.object(spec, "CELLS", self.folder / "cells")
        root.start()
        self.addCleanup(root.stop)

    def test_a_run_goes_on_where_another_ended(self) -> None:
        paper = spec.load("pregc")
        (experiment, point, seed, path), *_ = spec.cells(paper, ENGINE)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"seed": seed, "v": 7}))
        keep.write(paper, ENGINE, "c0ffee", self.folder)
        path.unlink()
        self.assertEqual(keep.restore(paper, "another", self.folder), 0)
        self.assertFalse(path.exists())
        self.assertEqual(keep.restore(paper, ENGINE, self.folder), 1)
        self.assertEqual(json.loads(path.read_text()), {"seed": seed, "v": 7})
        # It is not all of the paper.
        head, data = keep.load(paper, self.folder)
        self.assertEqual((head["commit"], data), ("c0ffee", {}))
        self.assertEqual(keep.read(paper, self.folder)[1][experiment.name][point, seed]["v"], 7)

    def test_a_quick_run_is_never_taken_for_the_other(self) -> None:
        paper, quick = spec.load("pregc"), spec.load("pregc", "quick")
        self.assertNotEqual(keep.path_of(paper), keep.path_of(quick))
        for name, e in quick.experiments.items():
            self.assertLessEqual(e.seeds, spec.QUICK_SEEDS)
            self.assertNotEqual(e.key(), paper.experiments[name].key())

    def test_the_table_says_what_is_missing(self) -> None:
        page = self.folder / "README.md"
        page.write_text(f"before\n{overview.BEGIN}\nold\n{overview.END}\nafter\n")
        overview.write(page, self.folder)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertNotIn("\nold\n", text)
        for name in overview.NAMES:
            self.assertIn(f"no figures are kept: `make reproduce PAPER={name}`", text)


if __name__ == "__main__":
    unittest.main()
