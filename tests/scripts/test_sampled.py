# SPDX-License-Identifier: GPL-2.0-or-later
"""Kept figures against this engine: one that differs fails, but for engines known to differ."""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import cell, keep, replays, sampled, spec  # noqa: E402

EXPERIMENT = "aggregation"
OLD = "0123456789ab"
NEW = "ba9876543210"


def small() -> spec.Paper:
    """A paper with one cell of two schemes."""
    paper = spec.load("hios")
    e = paper.experiments[EXPERIMENT]
    one = replace(e, points=e.points[:1], schemes=e.schemes[:2], seeds=1, requests=2000, warmup=500)
    return replace(paper, experiments={EXPERIMENT: one})


class Sampled(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.paper = small()
        for patch in (
            mock.patch.object(spec, "CELLS", self.folder / "cells"),
            mock.patch.object(replays, "IMAGES", self.folder / "images"),
            mock.patch.object(spec, "load", lambda *_: self.paper),
            mock.patch.object(sampled, "RESULTS", self.folder),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        ((e, _, seed, path),) = spec.cells(self.paper, NEW)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(cell.cell(e, e.points[0], seed)))
        keep.write(self.paper, NEW, "c0ffee", self.folder)
        (self.folder / "hios.md").write_text(f"Commit c0ffee, engine {NEW}.\n")

    def edit(self, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
        """The head and the one cell of what is kept."""
        path = keep.path_of(self.paper, self.folder)
        head, line = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
        change(head, line["cell"]["schemes"])
        path.write_bytes(lzma.compress("\n".join(map(json.dumps, (head, line))).encode()))

    def check(self) -> tuple[str, bool]:
        (found,) = sampled.check("a commit", ["hios"], folder=self.folder)
        self.assertEqual(list(self.folder.glob("images/*")), [])
        return found

    def change_one(self, _: dict[str, Any], schemes: dict[str, Any]) -> None:
        label = self.paper.experiments[EXPERIMENT].schemes[1].label
        schemes[label]["stats"]["host_page_programs"] += 1

    def test_the_same_figures(self) -> None:
        said, good = self.check()
        self.assertTrue(good, said)
        self.assertRegex(said, r"^hios aggregation, .*, seed 1, .* and .*: figures as kept$")

    def test_one_other_figure_fails(self) -> None:
        self.edit(self.change_one)
        said, good = self.check()
        self.assertFalse(good, said)
        self.assertRegex(said, r"other figures \(.*stats/host_page_programs: kept \d+, here \d+\)")
        self.assertIn("make reproduce PAPER=hios", said)

    def test_an_older_engine_must_be_known_to_differ_and_named_by_the_page(self) -> None:
        def older(head: dict[str, Any], schemes: dict[str, Any]) -> None:
            head["others"] = {EXPERIMENT: OLD}
            self.change_one(head, schemes)

        self.edit(older)
        with mock.patch.object(keep, "DIFFER", (OLD,)):
            self.assertFalse(self.check()[1])
        with (self.folder / "hios.md").open("a") as page:
            page.write(f"(engine {OLD} of commit c0ffee ran `aggregation`)\n")
        self.assertFalse(self.check()[1])
        with mock.patch.object(keep, "DIFFER", (OLD,)):
            said, good = self.check()
        self.assertTrue(good, said)
        self.assertIn("its page names the older engine", said)

    def test_figures_of_other_names_are_no_agreement(self) -> None:
        self.assertEqual(sampled.differences({"a": 1}, {"b": 1}), ["no figure is in both"])
        self.assertEqual(sampled.differences({"a": 1, "c": 2}, {"a": 1, "d": 2}), [])
        self.assertEqual(sampled.differences({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}),
                         ["a/b/1: kept 2, here 3"])  # fmt: skip


class Drawn(unittest.TestCase):
    """Of what is kept in the repository."""

    def drawn(self, commit: str) -> list[tuple[str, str, int, str]]:
        found = sampled.drawn(sampled.PAPERS, commit, sampled.BUDGET_S, keep.RAW)
        self.assertLess(sum(one.seconds for one in found), 60)
        self.assertGreater(len({one.paper for one in found}), 2)
        return [(s.name, s.point.name, s.seed, s.engine) for s in found]

    def test_the_commit_decides_which(self) -> None:
        first = self.drawn("a commit")
        self.assertEqual(first, self.drawn("a commit"))
        self.assertNotEqual(first, self.drawn("another"))


if __name__ == "__main__":
    unittest.main()
