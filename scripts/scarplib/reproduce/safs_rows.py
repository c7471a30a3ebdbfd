# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 5a to 5g of the array paper: how each is computed, when it holds, and their page.

A row about the flusher is computed again with others in its place: the array without it, which is
the comparator, and the same on another seed's drives, which differs by chance alone.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import CHANGED_AFTER
from scarplib.reproduce.safs import (
    DEPTHS,
    DRIVE,
    DRIVES,
    PAPERS_DRIVES,
    READS,
    SEEDS,
    SYNCHRONOUS,
    TURN_SEEDS,
    Run,
    Store,
    experiments,
    turns,
    workload_of,
)
from scarplib.reproduce.verdicts import Verdict, tally
from scarplib.sweep.intervals import Interval, interval


@dataclass(frozen=True)
class Line:
    """A row; `verdict`: None, it stands beside another one; `apart`: in which number it is not."""

    number: str
    what: str
    paper: str
    here: str
    when: str
    verdict: Verdict | None = None
    because: str = ""
    apart: str = ""

    def reason(self) -> str:
        """Of the verdict, and why the row is counted in no number, if it is not."""
        apart = f"counted apart: {self.apart}" if self.apart else ""
        return "; ".join(filter(None, (self.because, apart)))

    def text(self) -> str:
        """The verdict and its reason; empty where there is none."""
        if self.verdict is None:
            return ""
        return f"{self.verdict.value}{f': {self.reason()}' if self.reason() else ''}"


@dataclass(frozen=True)
class Table:
    """What rows are computed from; `other`: the seed by which the flusher's runs are replaced."""

    store: Store
    seeds: list[int]
    n: int
    # What stands in the flusher's place: its mode, and whether on another seed's drives.
    mode: str = "flusher"
    shifted: bool = False

    def seed_of(self, run: Run, seed: int) -> int:
        """Its own; of a control the next one's."""
        return self.seeds[self.seeds.index(seed) - 1] if self.shifted and run.stands else seed

    def one(self, run: Run, seed: int) -> dict[str, object]:
        """The result of a point and seed."""
        return self.store.get(run, self.seed_of(run, seed))

    def iops(self, run: Run) -> list[float]:
        """A drive's requests a second, of each seed."""
        return [float(str(self.one(run, seed)["iops_per_drive"])) for seed in self.seeds]

    def mean(self, run: Run) -> float:
        """Of all seeds."""
        return statistics.fmean(self.iops(run))

    def gain(self, run: Run, base: Run) -> Interval:
        """Percent by which run is faster, seed by seed."""
        pairs = zip(self.iops(run), self.iops(base), strict=True)
        return interval([100 * (a / b - 1) for a, b in pairs])

    def on(self, run: Run) -> Run:
        """The array with the flusher, or with what stands in its place."""
        return replace(run, mode=self.mode, stands=self.mode != "flusher")


CHANGED = "criterion changed after results"
FITTED = (
    "the drive's time of a program, its buffer and its allocation were fitted to the table that "
    "the row is judged by"
)


def _line(number: str, what: str, paper: str, here: str, when: str, holds: bool | None) -> Line:
    verdict = None if holds is None else Verdict.HOLDS if holds else Verdict.FAILS
    apart = CHANGED_AFTER if CHANGED in what else ""
    return Line(number, what, paper, here, when, verdict, apart=apart)


def _row_5a(t: Table, runs: list[Run]) -> list[Line]:
    fresh, *fills = runs
    falls = all(t.gain(b, a).below(0) for a, b in itertools.pairwise(runs))
    here = " / ".join(f"{t.mean(r) / t.mean(fresh):.2f}" for r in fills)
    here += f" of {t.mean(fresh):.0f}"
    line = _line("5a", "40/60/80 % full, of the maximum", "0.69 / 0.63 / 0.53 of 60928", here,
                 "falls in that order", falls)  # fmt: skip
    return [replace(line, verdict=Verdict.NOTHING, because=FITTED) if falls else line]


def _row_5b(t: Table, runs: list[Run]) -> list[Line]:
    falls = all(t.gain(b, a).below(0) for a, b in itertools.pairwise(runs))
    here = " / ".join(f"{t.mean(r):.0f}" for r in runs)
    return [_line("5b", "writes/s a drive, 1/6/12/18 drives", "38656 / 37888 / 33280 / 31744",
                  here, "falls with N", falls)]  # fmt: skip


def _row_5c(t: Table, runs: list[Run]) -> list[Line]:
    limits = {"uniform": runs[0], "zipf": runs[1]}
    out = []
    for how in ((), SYNCHRONOUS):
        for workload, limit in limits.items():
            off = Run(t.n, "cached", (*workload_of(workload), *how))
            on = t.on(off)
            gap = t.gain(on, limit)
            what = f"{workload}, {'synchronous' if how else 'asynchronous'}"
            here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({t.gain(on, off).text()}); "
            here += f"independent {t.mean(limit):.0f} ({gap.text()})"
            paper = "up to +24 %, equal to independent SSDs"
            out += [
                _line("5c", what, paper, here, "within 5 % of independent drives",
                      gap.above(-5) and gap.below(5)),
                _line("5c", f"{what}, {CHANGED}", paper, gap.text(),
                      "at most 5 % below independent drives", gap.above(-5)),
            ]  # fmt: skip
    return out


def _row_5d(t: Table, runs: list[Run]) -> list[Line]:
    out = []
    for off in runs[:2]:
        on = t.on(off)
        gain = t.gain(on, off)
        here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({gain.text()})"
        what = f"128 bytes, {off.options[1]}, {PAPERS_DRIVES} drives"
        out.append(_line("5d", what, "up to +39 %", here, "> +15 %, the interval's lower end",
                         gain.above(15)))  # fmt: skip
    return out


def _row_5e(t: Table, runs: list[Run]) -> list[Line]:
    out = []
    for off, reads in zip(runs[:5], READS, strict=True):
        on = t.on(off)
        gain = t.gain(on, off)
        here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({gain.text()}); "
        here += f"reads' p99 {_p99(t, off, on)}"
        holds = gain.above(30) if reads == 400 else None
        out.append(_line("5e", f"{reads / 10:.0f} % reads", "up to +62 % at 40 %", here,
                         "> +30 % at 40 %", holds))  # fmt: skip
    return out


def _latency(t: Table, run: Run, name: str) -> float:
    """Mean of the seeds, ms."""
    of = [t.store.get(run, t.seed_of(run, seed))["read_latency"][name] for seed in t.seeds]
    return statistics.fmean(of) / 1e6


def _p99(t: Table, *runs: Run) -> str:
    return " → ".join(f"{_latency(t, run, 'p99_ns'):.2f} ms" for run in runs)


def _hits(array: dict[str, int]) -> float:
    return array["hits"] / (array["hits"] + array["misses"])


def _row_5f(t: Table, runs: list[Run]) -> list[Line]:
    out = []
    for base, name in ((0, ""), (10, ", against plain GClock")):
        for number, reads in enumerate(READS):
            off, on = runs[base + number], t.on(runs[number])
            extra, hits = [], []
            for seed in t.seeds:
                a = t.store.get(off, seed)["array"]
                b = t.store.get(on, t.seed_of(on, seed))["array"]
                extra.append(100 * (b["written"] / a["written"] - 1))
                hits.append(100 * (_hits(b) - _hits(a)))
            more, rise = interval(extra), interval(hits)
            here = f"written {more.text()}; hits {rise.text(' points', digits=2)}"
            holds = more.below(5) and rise.low >= 0
            line = _line("5f", f"Zipf, {reads / 10:.0f} % reads{name}",
                         "+1.6 to 3.2 %; +0.6 to 4 %", here, "< 5 %; >= 0", holds)  # fmt: skip
            # The second reference was added when the first one's figures had been seen.
            out.append(replace(line, apart=CHANGED_AFTER) if base else line)
    return out


def _enough(t: Table, shares: list[float], wanted: float) -> float:
    enough = [d * t.n for d, share in zip(DEPTHS, shares, strict=True) if share >= wanted]
    return enough[0] if enough else math.inf


def _row_5g(t: Table, runs: list[Run]) -> list[Line]:
    need, of_most, out = {}, {}, []
    for number, workload in enumerate(("uniform", "zipf")):
        points = runs[2 + number * len(DEPTHS) : 2 + (number + 1) * len(DEPTHS)]
        limit = t.mean(runs[number])
        shares = [t.mean(p) / limit for p in points]
        grows = t.gain(points[-1], points[0]).above(0)
        need[workload] = _enough(t, shares, 0.95)
        of_most[workload] = _enough(t, shares, 0.95 * max(shares))
        here = ", ".join(f"{d * t.n}: {s:.2f}" for d, s in zip(DEPTHS, shares, strict=True))
        here += f" of {limit:.0f}; 95 % at {need[workload]}"
        out.append(_line("5g", f"parallel writes, {workload}", "grows with them", here,
                         "grows with them", grows))  # fmt: skip
    for of, name in (
        (need, "independent drives"),
        (of_most, f"the most that is reached, {CHANGED}"),
    ):
        here = f"{of['uniform']} and {of['zipf']}"
        out.append(_line("5g", f"writes for 95 % of {name}, uniform and Zipf", "9216 and 2304",
                         here, "uniform needs more", of["uniform"] > of["zipf"]))  # fmt: skip
    return out


ROWS: dict[str, Callable[[Table, list[Run]], list[Line]]] = {
    "5a": _row_5a,
    "5b": _row_5b,
    "5c": _row_5c,
    "5d": _row_5d,
    "5e": _row_5e,
    "5f": _row_5f,
    "5g": _row_5g,
}
# Those that are about the flusher.
OF_FLUSHER = ("5c", "5d", "5e", "5f")


def judged(t: Table) -> list[Line]:
    """All rows; one that holds with another in the flusher's place says nothing."""
    out = []
    for name, runs in experiments(t.n).items():
        lines = ROWS[name](t, runs)
        passing: list[list[str]] = [[] for _ in lines]
        others = (
            ("the array without the flusher on another seed's drives", True),
            ("the array without the flusher", False),
        )
        for said, shifted in others if name in OF_FLUSHER else ():
            again = ROWS[name](replace(t, mode="cached", shifted=shifted), runs)
            for line, names in zip(again, passing, strict=True):
                if line.verdict is Verdict.HOLDS:
                    names.append(said)
        for line, names in zip(lines, passing, strict=True):
            if line.verdict is Verdict.HOLDS and names:
                because = f"it holds with {', '.join(names)} in its place, too"
                out.append(replace(line, verdict=Verdict.NOTHING, because=because))
            else:
                out.append(line)
    return out


def _count(lines: list[Line]) -> str:
    return tally([(line.verdict, line.apart) for line in lines if line.verdict])


def _turns_page(t: Table) -> list[str]:
    """The coordinated mode beside the paper's: rates, and the tails of reads."""
    rows = []
    for reads, runs in turns(t.n).items():
        base, *others = runs
        tails = (
            " / ".join(f"{_latency(t, run, name):.0f}" for run in runs) if reads else "–"
            for name in ("p99_ns", "p99_9_ns")
        )
        gains = [f"{t.mean(run):.0f} ({t.gain(run, base).text()})" for run in others]
        rows.append((f"{reads / 10:.0f} %", f"{t.mean(base):.0f}", *gains, *tails))
    head = ("reads", "host-only", "turns, one drive", "turns, all", "reads' p99, ms", "p99.9, ms")
    return ["## Beyond the paper: drives that take turns", "", TURNS, "", *table(head, rows), ""]


TURNS = """The paper's answer is the host's alone: it hides collections that drives begin by need.
`--mode coordinated` is the same array on drives that are told: for half a second one drive
collects until each of its planes has four free blocks, and the others are asked to begin no
collection; then the next drive has its turn. "All" gives every drive the turn at once. Uniform
requests, as in 5e; the tails are of host-only / one drive / all. Length of a turn and free blocks
were chosen after a look at a few values with one seed."""


def page(t: Table, commit: str, engine: str) -> str:
    """docs/results/safs.md."""
    lines = judged(t)
    text = [
        "# The SSD array (SAFS)",
        "",
        f"Written by `make reproduce PAPER=safs`. Commit {commit}, engine {engine}. {SEEDS} seeds "
        f"({TURN_SEEDS} where drives take turns), each with its own aged drives "
        f"(`guest/array/sim/{DRIVE.name}`, its over-provisioning and blocks), {DRIVES} of them "
        f"where nothing else is said, 80 % full but for 5a, 5b and 5g. Means, paired 95 % "
        "intervals (Student's t), requests a second and drive. Before → after is without the "
        f"flusher → with it. {_count(lines)} [../papers/safs.md](../papers/safs.md) has the "
        "choices, made before, and what was seen besides.",
        "",
        *table(
            ("row", "what", "paper", "here", "holds when", ""),
            [
                (x.number, x.what, x.paper, x.here, x.when, x.text())
                for x in lines
            ],
        ),
        "",
        *_turns_page(replace(t, seeds=t.seeds[:TURN_SEEDS])),
    ]  # fmt: skip
    return "\n".join(text).rstrip("\n") + "\n"
