# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that are kept in the repository: a run goes on from them, the table is made of them."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.paths import RESULTS  # noqa: E402
from scarplib.reproduce import keep, overview, page, replays, results, spec  # noqa: E402
from scarplib.reproduce.judge import JUDGES  # noqa: E402

ENGINE = "0123456789ab"


def as_printed(_: spec.Experiment, point: spec.Point) -> dict[str, float]:
    """In place of what a generator makes: a million requests a workload, for row 1g alone."""
    wanted = spec.load("hpdc18").published["workloads"][point.name]
    writes = 100 * wanted["write"]
    return {"writes": writes, "requests": 1e4, "write_bytes": writes * wanted["size_kib"] * 1024}


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
        path.write_text(json.dumps({"seed": seed, "v": 7, "schemes": {}}))
        keep.write(paper, ENGINE, "c0ffee", self.folder)
        path.unlink()
        self.assertEqual(keep.restore(paper, "another", self.folder), 0)
        self.assertFalse(path.exists())
        self.assertEqual(keep.restore(paper, ENGINE, self.folder), 1)
        self.assertEqual(json.loads(path.read_text()), {"seed": seed, "v": 7, "schemes": {}})
        # It is not all of the paper.
        head, data = keep.load(paper, self.folder)
        self.assertEqual((head["commit"], data), ("c0ffee", {}))
        self.assertEqual(keep.read(paper, self.folder)[1][experiment.name][point, seed]["v"], 7)

    def test_a_page_names_what_an_older_engine_ran(self) -> None:
        """A whole experiment, or some of its points; a row names those that it looked at."""
        paper = spec.load("pregc")
        first, second, *_ = (replace(e, seeds=1) for e in paper.experiments.values())
        paper = replace(paper, experiments={first.name: first, second.name: second})
        for *_, path in spec.cells(paper, ENGINE):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"schemes": {}}))
        kept = keep.write(paper, ENGINE, "c0ffee", self.folder)
        point = second.points[0].name
        head, *cells = lzma.decompress(kept.read_bytes()).decode().splitlines()
        others = {first.name: "old", f"{second.name}/{point}": "older"}
        changed = json.loads(head) | {"others": others, "commits": {"old": "c1", "older": "c2"}}
        kept.write_bytes(lzma.compress("\n".join([json.dumps(changed), *cells]).encode()))
        got, data = keep.load(paper, self.folder)
        self.assertEqual(data[first.name].others, {"old": ""})
        self.assertEqual(data[second.name].others, {"older": point})
        (said, _) = page.older(data, page.Made(ENGINE, "c0ffee", got["commits"]))
        self.assertIn(f"engine old of commit c1 ran `{first.name}`;", said)
        self.assertIn(f"engine older of commit c2 ran `{second.name}` ({point})", said)

        def row(_: spec.Paper, of: Mapping[str, results.Results]) -> list[results.Row]:
            return [results.Row("1", "m", "p", str(len(of[second.name].points)), True, "w")]

        asked = results.Asked("1", "m", (second.name,), row)
        (judged,) = results.asked_rows([asked], paper, data)
        self.assertTrue(judged.ours.endswith(" [older engine]"), judged.ours)
        # A run on this engine takes the others of its points alone.
        for *_, path in spec.cells(paper, ENGINE):
            path.unlink()
        self.assertEqual(keep.restore(paper, ENGINE, self.folder), len(second.points) - 1)

    def test_a_full_disk_leaves_no_half_cell(self) -> None:
        paper = spec.load("pregc")
        (*_, path), *_ = spec.cells(paper, ENGINE)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"schemes": {}}))
        keep.write(paper, ENGINE, "c0ffee", self.folder)
        path.unlink()

        def full(path: Path, *_: object, **__: object) -> int:
            path.touch()
            raise OSError(28, "No space left on device")

        with mock.patch.object(Path, "write_text", full), self.assertRaises(OSError):
            keep.restore(paper, ENGINE, self.folder)
        # What is there is never made again.
        self.assertFalse(path.exists())

    def test_a_quick_run_is_never_taken_for_the_other(self) -> None:
        paper, quick = spec.load("pregc"), spec.load("pregc", "quick")
        self.assertNotEqual(keep.path_of(paper), keep.path_of(quick))
        for name, e in quick.experiments.items():
            self.assertLessEqual(e.seeds, spec.QUICK_SEEDS)
            self.assertNotEqual(e.key(), paper.experiments[name].key())

    def test_the_table_says_what_is_missing(self) -> None:
        page = self.folder / "README.md"
        marks = (overview.COUNT, overview.COUNT_END, overview.BEGIN, overview.END)
        page.write_text("before\n{}\nold\n{}\n{}\nold\n{}\nafter\n".format(*marks))
        overview.write(page, self.folder)
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertNotIn("\nold\n", text)
        for name in overview.NAMES:
            self.assertIn(f"no figures are kept: `make reproduce PAPER={name}`", text)

    def test_what_the_papers_before_it_wrote_makes_no_checkout_dirty(self) -> None:
        made = self.folder / "docs" / "results"
        made.mkdir(parents=True)
        (self.folder / "code").write_text("1")

        def git(*arguments: str) -> None:
            name = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
            subprocess.run(["git", "-C", str(self.folder), *name, *arguments], check=True)

        git("init", "-q")
        git("add", ".")
        git("commit", "-q", "-m", "a")
        with mock.patch.multiple(page, ROOT=self.folder, RESULTS=made):
            (made / "page.md").write_text("made")
            clean = page.commit()
            self.assertRegex(clean, "^[0-9a-f]{7,}$")
            (self.folder / "code").write_text("2")
            self.assertEqual(page.commit(), f"{clean}-dirty")


def _comparable(lines: list[str]) -> list[str]:
    """Without row 1g, which is generated anew."""
    return [line for line in lines if "| 1g |" not in line]


class Committed(unittest.TestCase):
    """The pages in docs/results are what the kept figures give, and nothing that was typed."""

    def test_each_page_is_what_its_figures_give(self) -> None:
        checked = 0
        for name in JUDGES:
            paper = spec.load(name)
            head, data = keep.load(paper)
            if not data:
                continue
            made = page.Made(head["engine"], head["commit"], head.get("commits", {}))
            with mock.patch.object(replays, "generated", as_printed):
                wanted = page.text(paper, data, made).splitlines()
            there = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
            self.assertIn(f"engine {head['engine']}", there[2])
            self.assertNotIn("-dirty", there[2])
            self.assertEqual(set(head.get("others", {}).values()), set(made.commits), name)
            self.assertEqual(_comparable(wanted), _comparable(there), name)
            checked += 1
        kept = [p.name for p in keep.RAW.glob("*") if "safs" not in p.name]
        self.assertEqual(checked, len(kept), "other settings than those kept: make reproduce")

    def test_the_table_of_all_papers_is_theirs(self) -> None:
        with mock.patch.object(replays, "generated", as_printed):
            found = overview.rows_of_all(keep.RAW)
        wanted = overview.lines(found)
        text = (RESULTS / "README.md").read_text(encoding="utf-8")
        self.assertIn(overview.first(found), text)
        for line in wanted:
            if "| 1g |" not in line:
                self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
