# SPDX-License-Identifier: GPL-2.0-or-later
"""Who dominates whom, on made-up results."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import spec  # noqa: E402
from scarplib.reproduce.judge import all_together as judge  # noqa: E402
from scarplib.reproduce.results import Results  # noqa: E402

# Reads' and writes' p99.9, ms; requests a second; pages programmed for each of the host's.
MADE = {
    "baseline": (200, 250, 1000, 2.0),
    "fast-reads": (20, 250, 1000, 2.0),
    "at-a-price": (20, 20, 2000, 3.0),
    "no-better": (200.5, 250, 1000, 2.0),
    "ideal": (1, 1, 9000, 1.0),
    "control": (201, 251, 1001, 2.0),
}


def entry(values: tuple[float, ...], seed: int) -> dict[str, Any]:
    reads, writes, rate, programs = values
    wobble = 1 + seed / 1000
    return {
        "requests_per_s": rate * wobble,
        "stats": {
            "read_latency": {"p99_9_ns": reads * 1e6 * wobble},
            "write_latency": {"p99_9_ns": writes * 1e6 * wobble},
            "host_page_programs": 1000,
            "gc_page_programs": (programs - 1) * 1000,
            "parity_page_programs": 0,
            "map_page_programs": 0,
        },
    }


def made() -> Results:
    schemes = tuple(spec.Scheme(name, name) for name in MADE)
    e = spec.Experiment("all-together", "main", "", schemes, (), seeds=3)
    cells = [{"schemes": {n: entry(v, s) for n, v in MADE.items()}} for s in range(3)]
    return Results(e, {"half-base": cells})


class Front(unittest.TestCase):
    def test_worse_in_none_and_better_in_one(self) -> None:
        data = made()
        self.assertTrue(judge.dominates(data, "fast-reads", "baseline"))
        # It writes more: neither is above the other.
        self.assertFalse(judge.dominates(data, "at-a-price", "fast-reads"))
        self.assertFalse(judge.dominates(data, "fast-reads", "at-a-price"))

    def test_a_difference_below_a_percent_does_not_count(self) -> None:
        data = made()
        self.assertFalse(judge.dominates(data, "baseline", "no-better"))

    def test_who_does_not_compete_is_not_on_the_front(self) -> None:
        self.assertEqual(judge.front(made()), ["fast-reads", "at-a-price"])

    def test_orders(self) -> None:
        order = {"a": 1, "b": 2, "c": 3}
        self.assertEqual(judge.agreement(order, order), 1)
        self.assertEqual(judge.agreement(order, {"a": 3, "b": 2, "c": 1}), -1)


if __name__ == "__main__":
    unittest.main()
