# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp reproduce`: what a paper's file may say, and real traces in place of the stand-ins."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.errors import UserError  # noqa: E402
from scarplib.reproduce import (  # noqa: E402
    cell,
    page,
    papers,
    replays,
    results,
    small_set,
    spec,
)
from scarplib.reproduce.judge import pregc  # noqa: E402

READS, WRITES = 60, 40


def make_trace(path: Path) -> None:
    """A volume as its owners publish it: ticks, host, disk, type, offset, bytes, ticks."""
    lines = [
        f"{128166372000000000 + i * 20000},stg,1,{'Write' if i % 5 < 2 else 'Read'},"
        f"{i * 7919 % 1000 * 16384},16384,1000"
        for i in range(READS + WRITES)
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


class Asked(unittest.TestCase):
    def test_what_the_small_set_does_not_do(self) -> None:
        for how, traces, option in (("estimate", "", "--estimate"), ("", "x", "--traces")):
            with (
                mock.patch.object(small_set, "main", lambda _: 0),
                self.assertRaisesRegex(UserError, f"{option}: not with small"),
            ):
                papers.reproduce("small", 0, how, traces)


class Traces(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        images = mock.patch.object(replays, "IMAGES", self.folder / "images")
        images.start()
        self.addCleanup(images.stop)

    def paper(self) -> spec.Paper:
        with mock.patch.dict(os.environ, {spec.TRACES: str(self.folder)}):
            return spec.load("paragc")

    def test_a_trace_takes_its_stand_ins_place(self) -> None:
        make_trace(self.folder / "stg_1.csv.gz")
        paper = self.paper()
        points = {p.name: p for p in paper.experiments["main"].points}
        self.assertEqual(points["stg_1"].workload, str(self.folder / "stg_1.csv.gz"))
        self.assertTrue(points["mds_1"].workload.startswith("gen:"))
        self.assertIn("real traces: stg_1 (the other workloads: generated", page.source(paper))
        experiment = replace(
            paper.experiments["main"], schemes=(spec.Scheme("baseline", "baseline"),)
        )
        point = replace(points["stg_1"], requests=READS + WRITES, warmup=10)
        stats = [
            cell.cell(experiment, point, seed)["schemes"]["baseline"]["stats"] for seed in (1, 2)
        ]
        self.assertEqual({s["reads"] for s in stats}, {READS - 6})
        self.assertEqual({s["writes"] for s in stats}, {WRITES - 4})
        # One trace, so that the seeds differ by their drives.
        self.assertEqual(len(list((self.folder / "images").glob("*.img"))), 2)

    def test_a_trace_that_is_all_warm_up_is_refused(self) -> None:
        make_trace(self.folder / "stg_1.csv.gz")
        experiment = self.paper().experiments["main"]
        point = next(p for p in experiment.points if p.name == "stg_1")
        with self.assertRaisesRegex(UserError, "--warmup=[0-9]+: the run had only 100 requests"):
            cell.cell(experiment, point, 1)

    def test_nothing_fits(self) -> None:
        for arguments, reason in (
            (["hpdc18", "--traces", str(self.folder)], "none of its files is one of hm_0.csv, "),
            (["hpdc18", "--traces", str(self.folder / "no")], "must be a folder"),
        ):
            done = subprocess.run(
                [str(ROOT / "scripts" / "scarp"), "reproduce", *arguments],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(reason, done.stderr)


class Images(unittest.TestCase):
    def test_one_for_all_schemes_of_a_seed(self) -> None:
        """Drives that were aged alike would leave what ageing varies out of the intervals."""
        paper = spec.load("paragc")
        experiment = paper.experiments["main"]
        point = replace(experiment.points[-1], age=100)
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(replays, "IMAGES", Path(folder)),
        ):
            made = [
                {
                    replays.image(experiment, point, scheme, seed)
                    for scheme in experiment.schemes
                    if scheme.label != "control"
                }
                for seed in (1, 2)
            ]
            self.assertEqual([len(images) for images in made], [1, 1])
            self.assertNotEqual(*made)
            otherwise = replace(experiment.schemes[0], age_seed=1)
            self.assertNotIn(replays.image(experiment, point, otherwise, 1), made[0] | made[1])
            self.assertEqual(len(list(Path(folder).iterdir())), 3)
            # Those of a paper go with it, and nobody else's.
            other = Path(folder) / "other.img"
            other.touch()
            mine = replace(experiment, points=(point,), schemes=(*experiment.schemes, otherwise))
            replays.drop_images([replace(paper, experiments={"main": mine})])
            self.assertEqual(list(Path(folder).iterdir()), [other])


class Cell(unittest.TestCase):
    """A cell as Snakemake starts it: what its file's name says is what it is made of."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.key = "first"
        for patch in (
            mock.patch.object(spec, "CELLS", Path(folder.name)),
            mock.patch.object(replays, "replay", lambda: Path(self.key, "scarp-replay")),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.experiment = spec.load("paragc").experiments["main"]
        self.point = self.experiment.points[0].name
        self.path = spec.cell_path(self.experiment, self.point, 1, replays.program())

    def made(self, meanwhile: Callable[[], None] = lambda: None) -> tuple[int, str]:
        """Its status and what it says, if something is done while it runs."""

        def run(*_: object) -> dict[str, int]:
            meanwhile()
            return {"stats": 3}

        words = ["paragc", "full", "main", self.point, "1", str(self.path)]
        with (
            mock.patch.object(cell, "cell", run),
            contextlib.redirect_stdout(io.StringIO()) as said,
        ):
            return cell.main(words), said.getvalue()

    def experiment_is_edited(self) -> None:
        changed = replace(self.experiment, age=self.experiment.age + 1)
        loaded = replace(spec.load("paragc"), experiments={"main": changed})
        patch = mock.patch.object(spec, "load", lambda *_: loaded)
        patch.start()
        self.addCleanup(patch.stop)

    def refused(self, found: tuple[int, str]) -> None:
        self.assertEqual(found[0], 1)
        self.assertRegex(found[1], r"^error: paragc main, .*, seed 1: .* changed .*\n$")
        self.assertFalse(self.path.exists())

    def test_nothing_changed(self) -> None:
        self.assertEqual(self.made(), (0, ""))
        self.assertIn('"stats": 3', self.path.read_text())

    def test_the_engine_changed_before_it_began(self) -> None:
        self.key = "second"
        self.refused(self.made())

    def test_the_experiment_changed_before_it_began(self) -> None:
        self.experiment_is_edited()
        self.refused(self.made())

    def test_the_experiment_changed_while_it_ran(self) -> None:
        self.refused(self.made(self.experiment_is_edited))


class PreGC(unittest.TestCase):
    def test_from_where_on_steps_are_alike(self) -> None:
        """A step that equals the last by chance, before others that do not, is not the first."""
        for collections, wanted in (((7, 5, 7, 7), "11.0 %"), ((7, 7, 7, 7), "10.0 %")):
            labels = ("T100", "T105", "T110", "T115")
            schemes = tuple(spec.Scheme(label, "pregc") for label in labels)
            main = replace(spec.load("pregc").experiments["sweep"], schemes=schemes, seeds=1)
            names = ("io_ns", "gc_moved", "affected_io_ns")
            entries = {
                label: {"gc_n": n, **dict.fromkeys(names, 1)}
                for label, n in zip(labels, collections, strict=True)
            }
            data = results.Results(main, {"p": [{"schemes": entries}]})
            self.assertEqual(pregc.alike(data), wanted)


class Spec(unittest.TestCase):
    def test_unknown_keys_are_named(self) -> None:
        with self.assertRaisesRegex(UserError, "unknown key 'agee'; allowed: age, "):
            spec._fields(spec.Point, {"agee": 1}, "here")
        with self.assertRaisesRegex(UserError, "age: must be of type int"):
            spec._fields(spec.Point, {"age": "1"}, "here")

    def test_every_paper_loads(self) -> None:
        for name in filter(spec.exists, spec.PAPERS):
            for part in spec.SETS:
                self.assertTrue(spec.load(name, part).experiments)


if __name__ == "__main__":
    unittest.main()
