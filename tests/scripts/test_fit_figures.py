# SPDX-License-Identifier: GPL-2.0-or-later
"""What is counted as agreement of two probes, and what odd probes and tables are answered with."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.own_drive import figures, probe_file  # noqa: E402
from scarplib.own_drive.plan import MIB, READ, TRIM, WRITE, Known, Plan, Step  # noqa: E402

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
