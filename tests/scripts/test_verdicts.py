# SPDX-License-Identifier: GPL-2.0-or-later
"""The six verdicts on made-up results: a row that a scheme without effect passes says nothing."""

from __future__ import annotations

import sys
import tempfile
import types
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import spec, stale, verdicts  # noqa: E402
from scarplib.reproduce.judge import JUDGES, Judge, paragc_open  # noqa: E402
from scarplib.reproduce.results import Asked, Results, Row, key  # noqa: E402
from scarplib.reproduce.verdicts import Verdict  # noqa: E402

LABELS = ("baseline", "control", "other", "mine", "mine-large")
VALUE = key("v")


def made(values: Mapping[str, float], labels: tuple[str, ...] = LABELS) -> Results:
    """Three seeds of one point, in which every scheme has the value, give or take a little."""
    schemes = tuple(spec.Scheme(label, label) for label in labels)
    experiment = spec.Experiment(
        "made-up", "main", "", schemes, (spec.Point("p", "gen:uniform"),), seeds=3
    )
    cells = [
        {"schemes": {name: {"v": values.get(name, 100.0) * (1 + seed / 1000)} for name in labels}}
        for seed in range(3)
    ]
    return Results(experiment, {"p": cells})


def better(data: Results, **more: Any) -> Row:
    """The scheme takes at least a tenth less than baseline."""
    change = data.change("mine", "baseline", VALUE)
    return Row("1", "v", "", change.text(), change.high <= -10, "", **more)


def judge(row: Any, conditions: dict[str, str] | None = None) -> Judge:
    return cast(
        Judge,
        types.SimpleNamespace(
            SUBJECTS=("mine",),
            COMPARATORS=("baseline", "other"),
            CONDITIONS=conditions or {},
            JUDGED_BY=("main",),
            ASKED=(Asked("1", "v", ("main",), lambda paper, data: [row(data["main"])]),),
        ),
    )


def one(row: Any, values: Mapping[str, float], **more: Any) -> verdicts.Judged:
    paper = spec.Paper("made-up", "", (), {}, {})
    (found,) = verdicts.verdicts(judge(row, more.pop("conditions", None)), paper,
                                 {"main": made(values, **more)})  # fmt: skip
    return found


class Verdicts(unittest.TestCase):
    def test_it_holds(self) -> None:
        found = one(better, {"mine": 50})
        self.assertEqual((found.verdict, found.text()), (Verdict.HOLDS, "holds"))

    def test_it_does_not(self) -> None:
        found = one(better, {"mine": 95, "control": 50})
        self.assertEqual(found.text(), "**does not hold**")

    def test_what_changes_only_the_random_numbers_passes_it_too(self) -> None:
        found = one(better, {"mine": 50, "control": 85})
        self.assertEqual(
            found.text(), "says nothing: it holds with `control` in the scheme's place, too"
        )

    def test_baseline_itself_passes_it(self) -> None:
        def no_worse(data: Results) -> Row:
            return Row("1", "v", "", "", data.change("mine", "baseline", VALUE).high <= 5, "")

        found = one(no_worse, {"mine": 50})
        self.assertIs(found.verdict, Verdict.NOTHING)
        self.assertIn("`control`, `baseline`", found.because)

    def test_another_comparator_is_asked_only_by_rows_that_name_it(self) -> None:
        values = {"mine": 50, "other": 60}
        self.assertIs(one(better, values).verdict, Verdict.HOLDS)
        found = one(lambda data: better(data, against=("other",)), values)
        self.assertIn("`other`", found.because)

    def test_what_is_said_of_a_drive_is_not_asked_of_schemes(self) -> None:
        def of_drive(data: Results) -> Row:
            return Row("1", "v", "", "", True, "", of_scheme=False)

        self.assertIs(one(of_drive, {}).verdict, Verdict.HOLDS)

    def test_what_a_row_was_chosen_by(self) -> None:
        found = one(lambda data: better(data, chosen_by_it="it was chosen so"), {"mine": 50})
        self.assertEqual(found.text(), "says nothing: it was chosen so")

    def test_for_how_much_of_what_is_swept(self) -> None:
        said = "it holds for 40 of the 99 settings swept"
        found = one(lambda data: better(data, condition=said), {"mine": 50})
        self.assertEqual(found.text(), f"holds only if: {said}")
        found = one(lambda data: better(data, condition=said), {"mine": 95})
        self.assertEqual(found.text(), f"**does not hold**: {said}")

    def test_what_could_not_be_asked(self) -> None:
        found = one(lambda data: better(data, not_met="no such load"), {"mine": 50})
        self.assertEqual(found.text(), "baseline not met: no such load")

    def test_what_has_not_been_run(self) -> None:
        asked = (Asked("7", "what it is about", ("main", "later"), lambda paper, data: []),)
        of = cast(Judge, types.SimpleNamespace(**{**vars(judge(better)), "ASKED": asked}))
        paper = spec.Paper("made-up", "", (), {}, {})
        (found,) = verdicts.verdicts(of, paper, {"main": made({})})
        self.assertEqual(found.text(), "not tried: `later`: not run on this engine")
        self.assertEqual((found.row.number, found.row.metric), ("7", "what it is about"))

    def test_a_fifth_of_the_settings_swept(self) -> None:
        """Where the setting that was chosen fails: only if, from a fifth on; it never holds."""
        for good, wanted in ((19, Verdict.FAILS), (20, Verdict.ONLY_IF), (99, Verdict.ONLY_IF)):
            found = one(lambda data, good=good: better(data, swept=(good, 100)), {"mine": 95})
            self.assertIs(found.verdict, wanted)

    def test_what_is_counted_apart(self) -> None:
        found = one(lambda data: better(data, apart="made after results"), {"mine": 50})
        self.assertEqual(found.text(), "holds: counted apart: made after results")
        self.assertEqual(
            verdicts.count([found]),
            "Of 0 rows 0 hold, 0 hold only if, 0 do not hold, 0 have a baseline that is not met, "
            "0 say nothing, 0 were not tried. Counted apart: 1 (made after results), of which 1 "
            "holds.",
        )

    def test_the_sweep_of_paragc(self) -> None:
        labels = [f"iterations={n},{name}" for name in paragc_open.LINES for n in (1, 2, 4)]
        values = dict.fromkeys(labels, 50.0) | {"baseline": 100.0, "gc-z": 60.0}
        data = made(values, ("baseline", "gc-z", *labels))
        self.assertEqual(paragc_open.condition(data, VALUE, 20), "")
        # Above GC-Z with a large limit.
        for label in labels:
            values[label] = 70 if label.startswith("iterations=4,") else 50
        values["iterations=2,start=1"] = 90
        data = made(values, ("baseline", "gc-z", *labels))
        self.assertEqual(
            paragc_open.condition(data, VALUE, 20),
            "it holds for 17 of the 27 settings swept; even spread: λ from 1 to 2; "
            "from the victim's channel: λ = 1; random spread: λ from 1 to 2",
        )

    def test_a_condition(self) -> None:
        conditions = {"mine-large": "the limit is small"}
        found = one(better, {"mine": 50, "mine-large": 99}, conditions=conditions)
        self.assertEqual(found.text(), "holds only if: the limit is small")
        found = one(better, {"mine": 50, "mine-large": 60}, conditions=conditions)
        self.assertIs(found.verdict, Verdict.HOLDS)
        # Where the other value was not run, nothing is said of it.
        found = one(better, {"mine": 50}, conditions=conditions, labels=LABELS[:-1])
        self.assertIs(found.verdict, Verdict.HOLDS)

    def test_a_control_that_was_not_run_is_an_error(self) -> None:
        with self.assertRaises(KeyError):
            one(better, {"mine": 50}, labels=("baseline", "other", "mine"))

    def test_reasons_are_asked_for_only_where_they_are_printed(self) -> None:
        def row(data: Results) -> Row:
            return Row("1", "v", "", "", False, "", why=lambda: str(1 // 0))

        self.assertIs(one(row, {}).verdict, Verdict.FAILS)

    def test_the_count(self) -> None:
        row = Row("1", "", "", "", True, "")
        judged = [
            verdicts.Judged(row, verdict) for verdict in (*Verdict, Verdict.NOTHING, Verdict.HOLDS)
        ]
        self.assertEqual(
            verdicts.count(judged),
            "Of 8 rows 2 hold, 1 holds only if, 1 does not hold, 1 has a baseline that is not met, "
            "2 say nothing, 1 was not tried.",
        )


class Papers(unittest.TestCase):
    def test_what_rows_are_judged_by_runs_who_is_put_in_a_schemes_place(self) -> None:
        for name, of in JUDGES.items():
            paper = spec.load(name)
            for experiment in (paper.experiments[e] for e in of.JUDGED_BY):
                labels = [scheme.label for scheme in experiment.schemes]
                subjects = [s for s in of.SUBJECTS if s in labels]
                with self.subTest(paper=name, experiment=experiment.name):
                    if of.SUBJECTS:
                        self.assertTrue(subjects)
                        self.assertIn("control", labels)
                        self.assertLessEqual(set(of.COMPARATORS), set(labels))
            known = {s.label for e in paper.experiments.values() for s in e.schemes}
            self.assertLessEqual({*of.SUBJECTS, *of.CONDITIONS}, known)


class Pages(unittest.TestCase):
    def test_a_page_of_another_engine_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "hios.md").write_text(f"Commit x, engine {stale.here('hios')}.")
            self.assertEqual(stale.older(folder), [])
            (folder / "hios.md").write_text("Commit x, engine 0123456789ab.")
            (folder / "pregc.md").write_text("of long ago")
            self.assertEqual(
                [line.split(",")[0] for line in stale.older(folder)],
                [
                    "docs/results/pregc.md is of an engine that it does not name",
                    "docs/results/hios.md is of engine 0123456789ab",
                ],
            )


if __name__ == "__main__":
    unittest.main()
