# SPDX-License-Identifier: GPL-2.0-or-later
"""HIOS's judge on made-up results: each row holds where they say so, and fails elsewhere."""

from __future__ import annotations

import sys
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.device_logs.command_log import CAUSES  # noqa: E402
from scarplib.reproduce import spec, verdicts  # noqa: E402
from scarplib.reproduce.judge import hios  # noqa: E402
from scarplib.reproduce.judge.hios_values import FTLS, ftls  # noqa: E402
from scarplib.reproduce.results import Results, Row  # noqa: E402
from scarplib.reproduce.verdicts import Verdict  # noqa: E402

COUNTED = (
    "gc_segments", "gc_forced_runs", "gc_runs", "aggregated_writes", "negative_activities",
    "passed_to_next_round", "host_page_programs", "gc_page_programs", "parity_page_programs",
    "map_page_programs", "cause_host_queue_ns", "host_page_reads", "gc_page_reads", "erases",
)  # fmt: skip
# Milliseconds of the slowest, and how many of 1000 requests are beyond 10, 20, 30, 40, 50 ms.
SLOW = {"noop": 200, "anticipatory": 210, "deadline": 205, "flash-aware": 190}
Entry = dict[str, Any]
Change = Callable[[str, str, str, Entry], None]


def entry(scheme: str, seed: int) -> Entry:
    """As a cell has it: HIOS keeps its deadlines, hios-2 is a little faster than hios-1."""
    bounded = scheme not in SLOW
    wobble = 1 + seed / 1000
    mean = {"hios-1": 2.0, "hios-2": 1.8}.get(scheme, 2.5)
    beyond = [30, 10, 0, 0, 0] if bounded else [700, 650, 600, 500, 400]
    return {
        "requests_per_s": (1100 if scheme == "hios-2" else 1000) * wobble,
        "io_n": 1000,
        "io_ns": mean * 1e6 * wobble,
        "io_sd_ns": (3 if bounded else 20 + SLOW[scheme] / 100) * 1e6 * wobble,
        "io_max_ns": (29 if bounded else SLOW[scheme]) * 1e6 * wobble,
        "beyond": dict(zip(("10", "20", "30", "40", "50"), beyond, strict=True)),
        "use_n": [1000] * 10,
        # As the paper prints it with MLC; `change` of judged() makes SLC's of it.
        "use_late": [20] * 4 + [300] * 5 + [0 if bounded else 700 + SLOW[scheme] // 10],
        "full_beyond": dict(zip(("10", "20", "30", "40", "50"), beyond, strict=True)),
        "late_causes_ns": {name: 0 if bounded else 5 + i for i, name in enumerate(CAUSES)},
        "slot_ns": 1_000_000,
        "slot_worst_ns": [1_000_000, 0, 2_000_000],
        "slot_bytes": [4096, 0, 4096],
        "stats": {
            **dict.fromkeys(COUNTED, 10),
            "reads": 0,
            "writes": 1000,
            "read_latency_sum_ns": 0,
            "write_latency_sum_ns": mean * 1e9 * wobble,
        },
    }


def judged(change: Change | None = None) -> tuple[spec.Paper, dict[str, Results]]:
    """Of all cells of the paper; `change` gets experiment, point and scheme of each entry."""
    paper = spec.load("hios")
    data = {}
    for name, whole in paper.experiments.items():
        experiment = replace(whole, seeds=min(3, whole.seeds))
        cells: dict[str, list[dict[str, Any]]] = {}
        for point in experiment.points:
            for seed in range(experiment.seeds):
                entries = {}
                for scheme in experiment.schemes:
                    # Deadlines and queues are varied under hios-2.
                    name_ = "hios-2" if scheme.label[1:].isdigit() else scheme.label
                    name_ = "noop" if name_ in ("control", "hios-2-plain") else name_
                    made = entries[scheme.label] = entry(name_, seed)
                    if name == "fresh":
                        made["stats"]["gc_runs"] = 0
                    if name == "filling-slc":
                        made["use_late"][-1] = made["use_late"][-1] and 220
                    if change:
                        change(name, point.name, scheme.label, made)
                cells.setdefault(point.name, []).append({"schemes": entries})
        data[name] = Results(experiment, cells)
    return paper, data


def failing(change: Change | None = None) -> set[tuple[str, str]]:
    """(row, mapping) of those that do not hold."""
    paper, data = judged(change)
    return {(r.number, ftl_of(r)) for r in hios.rows(paper, data) if not r.holds}


def ftl_of(row: Row) -> str:
    return next(ftl for ftl, name in FTLS.items() if row.metric.endswith(name))


class Judge(unittest.TestCase):
    def test_all_hold(self) -> None:
        paper, data = judged()
        found = hios.rows(paper, data)
        self.assertEqual([(r.number, r.metric) for r in found if not r.holds], [])
        wanted = {"3a", "3b1", "3b2", "3c", "3h", "3i", "3j", "3k"}
        more = {"page": {"3g"}, "superblock": {"3d", "3e", "3f"}}
        for ftl in ftls(data["workloads"]):
            numbers = {r.number for r in found if ftl_of(r) == ftl}
            self.assertEqual(numbers, wanted | more.get(ftl, set()))
        for claim, good in hios.directions(data):
            self.assertTrue(good, claim)

    def test_hios_1_like_hios_2_says_nothing(self) -> None:
        """Two that do the same are alike, too, if neither does anything."""
        paper, data = judged()
        for found in verdicts.verdicts(hios, paper, data):
            wanted = Verdict.NOTHING if found.row.number == "3i" else Verdict.HOLDS
            self.assertIs(found.verdict, wanted, found.row.metric)

    def test_a_fresh_drive_that_merges_is_another_case(self) -> None:
        """One merge under HIOS-1 is enough; on the other mappings the row is judged."""

        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, scheme) == ("fresh", "hios-1") and point.endswith("-block"):
                made["stats"]["gc_runs"] = 1

        for found in verdicts.verdicts(hios, *judged(change), "3b1"):
            merges = ftl_of(found.row) == "block"
            self.assertIs(found.verdict, Verdict.NOTHING if merges else Verdict.HOLDS)
            self.assertEqual("gc_runs" in found.because, merges)

    def check(self, rows: set[str], change: Change, ftl: str = "page") -> None:
        """On one mapping alone."""
        self.assertEqual(failing(change), {(row, ftl) for row in rows})

    def test_one_workload_is_no_better(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, point, scheme) == ("workloads", "mds-page", "noop"):
                made["io_max_ns"] = 29e6

        self.check({"3a"}, change)

    def test_seeds_that_disagree(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            of = experiment in ("bursts", "fresh")
            if of and point.endswith("-page") and scheme == "hios-2":
                # By one seed much faster, by the others a little slower.
                made["io_ns"] = 1e6 if made["io_ns"] == 1.8e6 else 2.1e6

        self.check({"3b1", "3b2"}, change)

    def test_a_workload_on_which_another_is_faster(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (experiment, point, scheme) == ("workloads", "pcm-page", "deadline"):
                made["io_ns"] = 1.7e6

        self.check({"3j"}, change)

    def test_one_scheduler_is_as_fast_with_hpc(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if point in ("ior-burst-page", "hpio8-burst-page") and scheme == "deadline":
                made["io_ns"] = 1e6

        self.check({"3b2"}, change)

    def test_one_comparator_deviates_less(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if experiment == "workloads" and point.endswith("-page") and scheme == "flash-aware":
                made["io_sd_ns"] = 2e6

        self.check({"3c"}, change)

    def test_a_single_missed_deadline(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if experiment == "filling-slc" and scheme == "hios-2" and made["io_ns"] == 1.8e6:
                made["use_late"][-1] = 1

        self.check({"3d"}, change, "superblock")

    def test_a_load_that_is_not_the_papers(self) -> None:
        """No verdict, whatever HIOS does: others miss too few when full, or too many before."""
        for tenth, late in ((9, 150), (0, 300)):

            def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
                if experiment.endswith("-mlc") or "-mlc-" in experiment:
                    if scheme in ("hios-1", "hios-2"):
                        return
                    made["use_late"][tenth] = late  # noqa: B023

            paper, data = judged(change)
            found = {
                (j.row.number, j.verdict)
                for j in verdicts.verdicts(hios, paper, data)
                if j.row.number in ("3d", "3e", "3f")
            }
            self.assertEqual(found, {(f"3{x}", Verdict.NOT_MET) for x in "def"})

    def test_deadlines_and_queues(self) -> None:
        def long(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (point, scheme) == ("iometer-superblock-3", "d40"):
                made["full_beyond"]["40"] = 1

        def short(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if (point, scheme) == ("iometer-superblock-3", "d10"):
                made["full_beyond"]["10"] = 0

        def entries(experiment: str, point: str, scheme: str, made: Entry) -> None:
            # Fewer entries than 32 may miss; 32 (which is d30) may not.
            if point == "iometer-superblock-1" and scheme in ("q2", "d30"):
                made["full_beyond"]["30"] = 1

        self.check({"3e"}, long, "superblock")
        self.check({"3e"}, short, "superblock")
        self.check({"3e", "3f"}, entries, "superblock")

    def test_below_a_superpage(self) -> None:
        def slower(experiment: str, point: str, scheme: str, made: Entry) -> None:
            of = ("aggregation", "sequential-8-page", "hios-2")
            if (experiment, point, scheme) == of:
                made["requests_per_s"] = 1000

        def later(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if point.startswith("random-") and point.endswith("-page") and scheme == "hios-2":
                made["stats"]["write_latency_sum_ns"] *= 2

        self.check({"3g"}, slower)
        self.check({"3h"}, later)

    def test_hios_1_and_2_differ(self) -> None:
        def change(experiment: str, point: str, scheme: str, made: Entry) -> None:
            if experiment == "workloads" and point.endswith("-page") and scheme == "hios-2":
                made["io_max_ns"] *= 1.2

        # Later than its deadline, too.
        self.check({"3i", "3k"}, change)

    def test_the_page(self) -> None:
        paper, data = judged()
        text = "\n".join(hios.details(paper, data))
        for point in ("hm", "ior", "sequential-1-page"):
            self.assertIn(f"\n| {point} | ", text)
        with tempfile.TemporaryDirectory() as folder:
            hios.figures(paper, data, Path(folder))
            drawn = {path.name for path in Path(folder).iterdir()}
        for name in drawn:
            self.assertIn(f"({name})", text)


if __name__ == "__main__":
    unittest.main()
