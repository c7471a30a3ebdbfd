# SPDX-License-Identifier: GPL-2.0-or-later
"""hpdc18's judge and calibration on made-up results: rows hold where they say so, not elsewhere."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.device_logs.command_log import CAUSES  # noqa: E402
from scarplib.reproduce import spec, verdicts  # noqa: E402
from scarplib.reproduce.calibrate import hpdc18 as calibration  # noqa: E402
from scarplib.reproduce.cell import QUANTILES  # noqa: E402
from scarplib.reproduce.judge import hpdc18  # noqa: E402
from scarplib.reproduce.judge.hpdc18_why import HIGH  # noqa: E402
from scarplib.reproduce.results import Results, Row  # noqa: E402

Entry = dict[str, Any]
Change = Callable[[str, str, str, Entry], None]
PROGRAMS = ("host_page_programs", "gc_page_programs", "parity_page_programs", "logical_bytes")
KINDS = ("read", "write", "io")


def entry(experiment: str, point: str, scheme: str, seed: int) -> Entry:
    """As a cell has it: GC-PAR takes a fifth of baseline's time, GC-VIC a little less for reads."""
    wobble = 1 + seed / 1000
    shared = scheme.endswith(("gc-par", "gc-vic"))
    share = (0.19 if scheme == "gc-vic" else 0.2) if shared else 1
    planes = 4 if experiment.startswith("planes4") or point.endswith("-4") else 2
    made: Entry = {"requests_per_s": 1000 * wobble, "gc_again": 0.01, "gc_n": 10, "gc_moved": 90}
    made["gc_ns"] = 1e8 * wobble
    if shared:
        made["requests_per_s"] *= 1.2 if point in HIGH else 1.1
    for kind in KINDS:
        for name in (kind, *(f"{which}_{kind}" for which in ("affected", "unaffected", "sibling"))):
            made[f"{name}_n"] = 100
            made[f"{name}_ns"] = 1e6 * wobble * share
            made[f"{name}_q"] = [1e6 * share] * len(QUANTILES)
    made["read_causes_ns"] = dict.fromkeys(CAUSES, 1e5)
    made["stats"] = {
        **dict.fromkeys(PROGRAMS, 10),
        "gc_window_ns": 1000 * planes,
        "gc_busy_ns": 1000,
        "gc_shared_ns": 500 * (planes - 1) if shared else 0,
    }
    return made


def judged(change: Change | None = None) -> tuple[spec.Paper, dict[str, Results]]:
    """Of all cells of the paper; `change` gets experiment, point and scheme of each entry."""
    paper = spec.load("hpdc18")
    data = {}
    for name, whole in paper.experiments.items():
        experiment = replace(whole, seeds=3)
        if name.endswith(("-once", "-fcfs")):
            # On all workloads, of which some have been run.
            experiment = replace(experiment, points=paper.experiments["open"].points)
        cells: dict[str, list[dict[str, Any]]] = {}
        for point in experiment.points:
            for seed in range(experiment.seeds):
                entries = {}
                for scheme in experiment.schemes:
                    made = entries[scheme.label] = entry(name, point.name, scheme.label, seed)
                    if change:
                        change(name, point.name, scheme.label, made)
                cells.setdefault(point.name, []).append({"schemes": entries})
        data[name] = Results(experiment, cells)
    return paper, data


class Judge(unittest.TestCase):
    def setUp(self) -> None:
        # The generators are run by the row itself; test-replay checks them.
        row = Row("1g", "", "", "", True, "", of_scheme=False)
        patched = mock.patch.object(hpdc18, "generator_row", return_value=row)
        patched.start()
        self.addCleanup(patched.stop)

    def check(self, wanted: list[tuple[str, str]], change: Change | None = None) -> None:
        """Which rows do not hold, by number and the beginning of the metric."""
        paper, data = judged(change)
        found = [(r.number, r.metric) for r in hpdc18.rows(paper, data) if not r.holds]
        self.assertEqual([number for number, _ in found], [number for number, _ in wanted])
        for (_, metric), (_, begin) in zip(found, wanted, strict=True):
            self.assertTrue(metric.startswith(begin), metric)

    def test_all_hold(self) -> None:
        self.check([])
        for claim, good in hpdc18.directions(judged()[1]):
            self.assertTrue(good, claim)

    def test_who_changes_nothing_passes_none(self) -> None:
        paper, data = judged()
        for found in verdicts.verdicts(hpdc18, paper, data):
            self.assertEqual(found.text(), "holds", found.row.metric)

    def test_rows_that_control_passes(self) -> None:
        """Its collections come at other times, so that most of the same requests meet none."""

        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("open-once", "control"):
                made["affected_read_ns"] *= 0.3
                made["sibling_read_ns"] *= 0.3

        paper, data = judged(change)
        found = verdicts.verdicts(hpdc18, paper, data)
        nothing = [j.row.metric for j in found if j.verdict is verdicts.Verdict.NOTHING]
        self.assertEqual(nothing, ["affected reads to the sibling plane", "all affected reads"])

    def test_more_than_half_without_sharing(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, point, scheme) == ("open-once", "hm_0", "baseline"):
                made["stats"]["gc_shared_ns"] = 1

        self.check([("1a", "plane")], change)

    def test_collections_that_take_longer(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("open-once", "gc-par"):
                made["gc_ns"] *= 1.05

        self.check([("1h", "time of a collection")], change)

    def test_reads_no_better(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if experiment == "open-once" and scheme == "gc-vic":
                made["sibling_read_ns"] *= 1.1
                made["read_ns"] *= 6

        self.check([("1b", "the same, GC-VIC"), ("1d", "mean response time of all reads")], change)

    def test_one_seed_is_not_enough(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("open-once", "gc-par") and made["write_ns"] != 2e5:
                made["write_ns"] *= 5

        self.check([("1d", "mean response time of all writes")], change)

    def test_writes_to_the_sibling(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("open-once", "gc-par"):
                made["sibling_write_ns"] *= 2.6

        self.check([("1c", "affected writes to the sibling")], change)

    def test_one_workload_is_no_faster(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, point, scheme) == ("closed-once", "web_0", "gc-par"):
                made["requests_per_s"] = 1000

        self.check([("1e", "throughput")], change)

    def test_four_planes(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("planes4-once", "gc-par"):
                made["stats"]["gc_shared_ns"] = 200

        self.check([("1f", "plane")], change)

    def test_the_page(self) -> None:
        paper, data = judged()
        text = "\n".join(hpdc18.details(paper, data))
        for name in (
            "hm_0",
            "0.45",
            "fcfs gc-par",
            "hios-2",
            "first come, first served",
            "ttflash",
        ):
            self.assertIn(f"\n| {name} | ", text)


class Calibration(unittest.TestCase):
    """Requests wait as collections take time: the search finds what a walk over all finds."""

    def check(self, wanted: float, ends: float = 1.0) -> None:
        load = calibration.Load(f"made-up-{wanted}-{ends}", 0.9, 8.0, wanted)

        def at(_: object, __: object, density: float, age: int) -> calibration.Found:
            moved = age / 4
            return calibration.Found(age, 100 * density * moved / (512 - moved), moved)

        ages = range(calibration.LOW, calibration.HIGH + 1, calibration.STEP)
        may = [
            (density, found)
            for density in calibration.DENSITIES
            for found in (at(0, 0, density, age) for age in ages)
            if density <= ends and found.carried(density) <= 1
        ]
        enough = [pair for pair in may if pair[1].affected >= wanted]
        best = (
            max(enough, key=lambda pair: (pair[0], -pair[1].age))
            if enough
            else max(may, key=lambda pair: pair[1].affected)
        )
        with (
            mock.patch.object(calibration, "_at", at),
            mock.patch.object(calibration, "_ends_in_time", lambda _, __, density: density <= ends),
        ):
            line = calibration.calibrate(spec.load("hpdc18").experiments["open"], load)
        self.assertIn(f"{load.workload(best[0])},footprint={best[1].age}", line)
        self.assertIn(f"age = {best[1].age} }}  # {best[0]}:", line)

    def test_the_channel_decides(self) -> None:
        for wanted in range(5, 50):
            self.check(float(wanted))

    def test_the_writes_without_collections_decide(self) -> None:
        self.check(10.0, ends=0.3)

    def test_nothing_ends_in_time(self) -> None:
        load = calibration.Load("late", 0.9, 8.0, 10.0)
        found = calibration.Found(500, 20.0, 10.0)
        with (
            mock.patch.object(calibration, "_at", lambda *_: found),
            mock.patch.object(calibration, "_ends_in_time", lambda *_: False),
        ):
            line = calibration.calibrate(spec.load("hpdc18").experiments["open"], load)
        self.assertEqual(line, "# late: no density keeps both bounds")


if __name__ == "__main__":
    unittest.main()
