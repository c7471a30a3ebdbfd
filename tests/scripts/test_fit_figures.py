# SPDX-License-Identifier: GPL-2.0-or-later
"""What is counted as agreement of two probes, and what odd probes and tables are answered with."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.own_drive import figures, probe_file  # noqa: E402
from scarplib.own_drive.plan import KIB, MIB, READ, TRIM, WRITE, Known, Plan, Step  # noqa: E402

# Nanoseconds: of a drive in these tests, and of a model on which nothing has an effect.
TAKES = {READ: 70_000, WRITE: 700_000, TRIM: 5_000}


def seen(step: Step, takes: dict[str, int]) -> probe_file.Result:
    """A step on a drive whose requests take so long each, whatever else there is to do."""
    rows = list(step.rows())
    submit, complete = list[int](), list[int]()
    for at, kind, _, _ in rows:
        if step.depth is not None and len(submit) >= step.depth:
            at = complete[-step.depth]
        submit.append(at)
        complete.append(at + takes.get(kind, 0))
    closed = step.depth is not None
    return probe_file.result(rows, submit, complete, each=step.each, closed=closed)


class EveryPlan(unittest.TestCase):
    """Of pages, stripes and spans as drives have them."""

    SPANS = tuple(size * MIB for size in (32, 33, 40, 48, 64, 96, 100, 128, 129, 256, 1024, 2048))
    PAGES = tuple(KIB << i for i in range(2, 8))
    STRIPES = (*(KIB << i for i in range(5, 13)), 96 * KIB, 640 * KIB, 3 * MIB)

    def check(self, step: Step, plan: Plan) -> None:
        for _, kind, offset, size in step.rows():
            if not 0 <= offset <= offset + size <= plan.span:
                self.fail(f"{step.name} of {plan.span >> 20} MiB: {kind} at {offset} + {size}")

    def test_stays_on_the_drive(self) -> None:
        for span in self.SPANS:
            plan = Plan(span)
            usual = plan.second(Known(4096, 32768))
            for step in (*plan.first(), *usual, *plan.held_out()):
                self.check(step, plan)
            for page in self.PAGES:
                for stripe in self.STRIPES:
                    for step in plan.second(Known(page, stripe)):
                        if step.name in ("write-size", "write-flush", "behind"):
                            self.check(step, plan)

    def test_reads_behind_programs_are_where_they_were(self) -> None:
        # Probes that are there stay comparable: only what lay outside has moved, by whole stripes
        # and into the half that nothing writes to.
        moved = 0
        for span in self.SPANS:
            for stripe in self.STRIPES:
                steps = Plan(span).second(Known(4096, stripe))
                rows = [one for step in steps if step.name == "behind" for one in step.rows()]
                far = span // 2 // stripe * stripe
                for i in range(16):
                    once = far + i * stripe
                    for row in (rows[6 * i], rows[6 * i + 5]):
                        self.assertEqual(row[1], READ)
                        if once + 4096 <= span:
                            self.assertEqual(row[2], once)
                        else:
                            moved += 1
                            self.assertEqual((row[2] - far) % stripe, 0)
                            self.assertGreaterEqual(row[2], far)
        self.assertGreater(moved, 0)


class WhatIsCounted(unittest.TestCase):
    def compared(self, takes: dict[str, int]) -> dict[Step, list[figures.Figure]]:
        """Of each step of a plan: a drive beside a model whose requests take so long."""
        plan = Plan(32 * MIB)
        steps = [*plan.first(), *plan.second(Known(8192, 32768)), *plan.held_out()]
        found = {}
        for step in steps:
            if not step.prepares:
                sides = [seen(step, one) for one in (TAKES, takes)]
                probes = [
                    probe_file.Probe({}, plan.span, 1, None, {step.name: side}) for side in sides
                ]
                found[step] = figures.compare(*probes)
        return found

    def test_a_rate_that_is_the_plans_own_is_none(self) -> None:
        for step, found in self.compared(TAKES).items():
            rates = [one for one in found if one.name == "rate"]
            self.assertEqual(len(rates), int(step.depth is not None), step.name)

    def test_a_model_without_effect_agrees_in_nothing(self) -> None:
        # Ten times as fast, and ten times as slow: nothing that is judged may agree.
        for factor in (0.1, 10):
            takes = {kind: int(factor * ns) for kind, ns in TAKES.items()}
            for step, found in self.compared(takes).items():
                judged = [one for one in found if one.bound is not None]
                self.assertTrue(judged, step.name)
                held = [one.name for one in judged if one.held]
                self.assertEqual(held, [], step.name)


if __name__ == "__main__":
    unittest.main()
