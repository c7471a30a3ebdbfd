# SPDX-License-Identifier: GPL-2.0-or-later
"""The array's rows on made-up results: by which end of an interval, and what says nothing."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import safs, safs_rows  # noqa: E402
from scarplib.reproduce.verdicts import Verdict  # noqa: E402


def result(iops: float, hits: int = 100, written: int = 1000) -> dict[str, Any]:
    """As scarp-array prints it."""
    return {
        "iops_per_drive": iops,
        "read_latency": {"p99_ns": 1_000_000, "p99_9_ns": 2_000_000},
        "array": {"hits": hits, "misses": 100, "written": written},
    }


def iops_of(run: safs.Run, seed: int, unaligned: float) -> float:
    """The flusher brings what independent drives do; writes of 128 bytes gain `unaligned` %."""
    wobble = 1 + seed / 1000
    if run.mode == "striped":
        depth = int(run.options[run.options.index("--depth") + 1])
        return (1000 + depth if "uniform" in run.options else 2000 + depth / 1000) * wobble
    if "--fresh" in run.options:
        return 60_000 * wobble
    if run.drives == 1:
        fill = int(run.options[run.options.index("--fill-permille") + 1])
        return (50_000 - 10 * fill) * wobble
    if "128" in run.options and "--request-bytes" in run.options:
        return 1000 * wobble * (1 + (unaligned + seed % 3) / 100 * (run.mode == "flusher"))
    if run.mode == "cached":
        # With Zipf the cache alone is above independent drives.
        return (1500 if "zipf" in run.options else 700) * wobble
    return 1000 * wobble


def made(unaligned: float = 20) -> safs_rows.Table:
    """All points."""
    found = {
        safs.digest(run.command(seed)): result(iops_of(run, seed, unaligned))
        for run, seed in safs.points()
    }
    store = safs.Store(Path(), Path(), found)
    return safs_rows.Table(store, list(range(1, safs.SEEDS + 1)), safs.DRIVES)


def verdicts(table: safs_rows.Table) -> dict[tuple[str, str], str]:
    found = safs_rows.judged(table)
    return {(x.number, x.what): x.verdict.value if x.verdict else "" for x in found}


class Rows(unittest.TestCase):
    def test_unaligned_writes_are_judged_with_the_papers_drives(self) -> None:
        row = ("5d", "128 bytes, uniform, 18 drives")
        self.assertEqual(verdicts(made(20))[row], Verdict.HOLDS.value)
        # The mean is 15.3 %, the interval's lower end is below 15.
        self.assertEqual(verdicts(made(14.3))[row], Verdict.FAILS.value)

    def test_both_criteria_have_a_verdict(self) -> None:
        found = verdicts(made())
        changed = ", criterion changed after results"
        uniform = "uniform, asynchronous"
        self.assertEqual(found["5c", uniform], Verdict.HOLDS.value)
        self.assertEqual(found["5c", uniform + changed], Verdict.HOLDS.value)

    def test_what_holds_without_the_flusher_says_nothing(self) -> None:
        found = verdicts(made())
        zipf = "zipf, asynchronous, criterion changed after results"
        self.assertEqual(found["5c", zipf], Verdict.NOTHING.value)
        self.assertEqual(found["5f", "Zipf, 0 % reads"], Verdict.NOTHING.value)
        plain = "Zipf, 0 % reads, against plain GClock"
        self.assertEqual(found["5f", plain], Verdict.NOTHING.value)
        apart = {x.what for x in safs_rows.judged(made()) if x.apart}
        self.assertIn(plain, apart)
        self.assertNotIn("Zipf, 0 % reads", apart)

    def test_the_page_has_no_figure_of_its_own(self) -> None:
        text = safs_rows.page(made(), "c0ffee", "0123456789ab")
        self.assertIn("Commit c0ffee, engine 0123456789ab.", text)
        self.assertNotIn("What the rows do not say", text)

    def test_rows_from_what_is_kept(self) -> None:
        table = made()
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(safs.kept_rows(Path(name)), [])
            safs.keep_all(table.store, "0123456789ab", "c0ffee", Path(name))
            self.assertEqual(safs.kept_rows(Path(name)), safs_rows.judged(table))


if __name__ == "__main__":
    unittest.main()
