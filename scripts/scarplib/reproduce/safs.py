# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce PAPER=safs`: the array paper's rows 5a to 5g on simulated drives, and their page.

Not from a file of experiments/, whose cells are replays: here a point is a command of scarp-array.
What the paper leaves open was chosen before: docs/papers/safs.md.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build.array import ARRAY, ensure_simulator
from scarplib.errors import UserError
from scarplib.paths import OUT, RESULTS
from scarplib.reproduce.markdown import table

DRIVE = ARRAY / "sim" / "safs.ini"
# Of rows 5c to 5g; the paper has 18, which take three times as long and say the same.
DRIVES = 6
SEEDS = 10
# Student's t, two-sided 95 %, by degrees of freedom.
T95 = (0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
A_DRIVE = 50_000  # measured requests, a drive
TURN_SEEDS = 3  # of what goes beyond the paper
READS = (0, 200, 400, 600, 800)
SYNCHRONOUS = ("--threads", "32", "--depth", "1")
DEPTHS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Run:
    """A point of an experiment; a seed makes a command of it."""

    drives: int
    mode: str
    options: tuple[str, ...] = ()
    a_drive: int = A_DRIVE

    def command(self, seed: int) -> list[str]:
        return [
            *("-d", str(DRIVE), "-m", self.mode, "-n", str(self.drives), "--seed", str(seed)),
            *("-r", str(self.a_drive * self.drives), *self.options),
        ]


def _w(name: str) -> tuple[str, ...]:
    return ("-w", name)


def _striped(drives: int, workload: str, depth: int) -> Run:
    # Long enough that each of the many outstanding requests ends several times.
    options = (*_w(workload), "--depth", str(depth), "--fill-permille", "600")
    warmup = str(drives * max(16_384, 4 * depth))
    return Run(drives, "striped", (*options, "--warmup", warmup), max(A_DRIVE, 50 * depth))


def _experiments(n: int) -> dict[str, list[Run]]:
    one = ("--depth", "128")
    fills = [Run(1, "independent", (*one, "--fill-permille", str(f))) for f in (400, 600, 800)]
    fresh = Run(1, "independent", (*one, "-s", "ideal", "--fresh"))
    limits = [Run(n, "independent", _w(w)) for w in ("uniform", "zipf")]
    alone = [
        Run(n, "independent", (*_w(w), *one, "--fill-permille", "600")) for w in ("uniform", "zipf")
    ]
    modes = ("cached", "flusher")
    return {
        "5a": [fresh, *fills],
        "5b": [_striped(d, "uniform", 128) for d in (1, 6, 12, 18)],
        "5c": [
            *limits,
            *(Run(n, m, _w(w)) for m in modes for w in ("uniform", "zipf")),
            *(Run(n, m, (*_w(w), *SYNCHRONOUS)) for m in modes for w in ("uniform", "zipf")),
        ],
        "5d": [
            Run(n, m, (*_w(w), "--request-bytes", "128"))
            for m in modes
            for w in ("uniform", "zipf")
        ],
        "5e": [Run(n, m, ("--read-permille", str(r))) for m in modes for r in READS],
        "5f": [
            *(Run(n, m, (*_w("zipf"), "--read-permille", str(r))) for m in modes for r in READS),
            # The other reading of "without the flusher": without clean-first eviction either.
            *(
                Run(n, "cached", (*_w("zipf"), "--read-permille", str(r), "-k", "clean_first=0"))
                for r in READS
            ),
        ],
        "5g": [*alone, *(_striped(n, w, d) for w in ("uniform", "zipf") for d in DEPTHS)],
    }


def _turns(n: int) -> dict[int, list[Run]]:
    """Beyond the paper, by share of reads: host-only; one drive's turn after another's; all's."""
    return {
        reads: [
            Run(n, "flusher", ("--read-permille", str(reads))),
            Run(n, "coordinated", ("--read-permille", str(reads))),
            Run(n, "coordinated", ("--read-permille", str(reads), "--turn-drives", str(n))),
        ]
        for reads in READS
    }


@dataclass
class Store:
    """Results by command, in a folder of the program that gave them."""

    program: Path
    folder: Path
    loaded: dict[str, dict[str, Any]] = field(default_factory=dict)

    def _path(self, command: list[str]) -> Path:
        text = "\0".join(command).replace(str(DRIVE), DRIVE.read_text(encoding="utf-8"))
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        return self.folder / "results" / f"{digest}.json"

    def make(self, run: Run, seed: int) -> None:
        command = run.command(seed)
        path = self._path(command)
        if path.exists():
            return
        images = ["--images", str(self.folder / "images")]
        done = subprocess.run(
            [str(self.program), *command, *images], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"{' '.join(command)}: {done.stderr.strip()}")
        made = path.with_suffix(".part")
        made.write_text(done.stdout, encoding="utf-8")
        made.rename(path)

    def get(self, run: Run, seed: int) -> dict[str, Any]:
        path = self._path(run.command(seed))
        key = path.name
        if key not in self.loaded:
            self.loaded[key] = json.loads(path.read_text(encoding="utf-8"))
        return self.loaded[key]


@dataclass(frozen=True)
class Interval:
    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:+.1f} % ± {self.half:.1f}"

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


def _interval(values: list[float]) -> Interval:
    n = len(values)
    if n < 2:
        return Interval(values[0], math.inf)
    t = T95[n - 1] if n <= len(T95) else 1.96
    return Interval(statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(n))


class Table:
    def __init__(self, store: Store, seeds: list[int], n: int) -> None:
        self.store = store
        self.seeds = seeds
        self.n = n
        self.rows: list[tuple[str, str, str, str, str]] = []

    def iops(self, run: Run) -> list[float]:
        return [self.store.get(run, seed)["iops_per_drive"] for seed in self.seeds]

    def mean(self, run: Run) -> float:
        return statistics.fmean(self.iops(run))

    def gain(self, run: Run, base: Run) -> Interval:
        """Percent by which run is faster, seed by seed."""
        pairs = zip(self.iops(run), self.iops(base), strict=True)
        return _interval([100 * (a / b - 1) for a, b in pairs])

    def add(self, row: str, what: str, here: str, when: str, holds: bool | None) -> None:
        verdict = "" if holds is None else "holds" if holds else "**does not hold**"
        self.rows.append((row, what, here, when, verdict))


def _row_5a(t: Table, runs: list[Run]) -> None:
    fresh, *fills = runs
    falls = all(t.gain(b, a).high < 0 for a, b in itertools.pairwise(runs))
    here = " / ".join(f"{t.mean(r) / t.mean(fresh):.2f}" for r in fills)
    here += f" of {t.mean(fresh):.0f}"
    t.add("5a", "40/60/80 % full, of the maximum", here, "falls in that order", falls)


def _row_5b(t: Table, runs: list[Run]) -> None:
    falls = all(t.gain(b, a).high < 0 for a, b in itertools.pairwise(runs))
    here = " / ".join(f"{t.mean(r):.0f}" for r in runs)
    t.add("5b", "writes/s a drive, 1/6/12/18 drives", here, "falls with N", falls)


def _row_5c(t: Table, runs: list[Run]) -> None:
    limits = {"uniform": runs[0], "zipf": runs[1]}
    for how in ((), SYNCHRONOUS):
        for workload, limit in limits.items():
            options = (*_w(workload), *how)
            off, on = Run(t.n, "cached", options), Run(t.n, "flusher", options)
            gap = t.gain(on, limit)
            what = f"{workload}, {'synchronous' if how else 'asynchronous'}"
            here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({t.gain(on, off)}); "
            here += f"independent {t.mean(limit):.0f} ({gap})"
            t.add("5c", what, here, "at most 5 % below independent drives", gap.low > -5)


def _row_5d(t: Table, runs: list[Run]) -> None:
    for off, on in zip(runs[:2], runs[2:], strict=True):
        gain = t.gain(on, off)
        here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({gain})"
        t.add("5d", f"128 bytes, {on.options[1]}", here, "> +15 %", gain.low > 15)


def _row_5e(t: Table, runs: list[Run]) -> None:
    for off, on, reads in zip(runs[:5], runs[5:], READS, strict=True):
        gain = t.gain(on, off)
        here = f"{t.mean(off):.0f} → {t.mean(on):.0f} ({gain}); reads' p99 {_p99(t, off, on)}"
        holds = gain.low > 30 if reads == 400 else None
        t.add("5e", f"{reads / 10:.0f} % reads", here, "> +30 % at 40 %", holds)


def _p99(t: Table, *runs: Run) -> str:
    of = [
        statistics.fmean(t.store.get(r, s)["read_latency"]["p99_ns"] for s in t.seeds) for r in runs
    ]
    return " → ".join(f"{ns / 1e6:.2f} ms" for ns in of)


def _row_5f(t: Table, runs: list[Run]) -> None:
    for base, name in ((0, ""), (10, ", against plain GClock")):
        for number, reads in enumerate(READS):
            off, on = runs[base + number], runs[5 + number]
            extra, hits = [], []
            for seed in t.seeds:
                a, b = t.store.get(off, seed)["array"], t.store.get(on, seed)["array"]
                extra.append(100 * (b["written"] / a["written"] - 1))
                hits.append(100 * (_hits(b) - _hits(a)))
            more, rise = _interval(extra), _interval(hits)
            here = f"written {more}; hits {rise.mean:+.2f} points ± {rise.half:.2f}"
            what = f"Zipf, {reads / 10:.0f} % reads{name}"
            holds = more.high < 5 and rise.low >= 0 if base == 0 else None
            t.add("5f", what, here, "< 5 %; >= 0", holds)


def _hits(array: dict[str, int]) -> float:
    return array["hits"] / (array["hits"] + array["misses"])


def _row_5g(t: Table, runs: list[Run]) -> None:
    need, of_most = {}, {}
    for number, workload in enumerate(("uniform", "zipf")):
        points = runs[2 + number * len(DEPTHS) : 2 + (number + 1) * len(DEPTHS)]
        limit = t.mean(runs[number])
        shares = [t.mean(p) / limit for p in points]
        grows = t.gain(points[-1], points[0]).low > 0
        need[workload] = _enough(t, shares, 0.95)
        of_most[workload] = _enough(t, shares, 0.95 * max(shares))
        here = ", ".join(f"{d * t.n}: {s:.2f}" for d, s in zip(DEPTHS, shares, strict=True))
        here += f" of {limit:.0f}; 95 % at {need[workload]}"
        t.add("5g", f"parallel writes, {workload}", here, "grows with them", grows)
    for of, name in ((need, "independent drives"), (of_most, "the most")):
        here = f"{of['uniform']} and {of['zipf']}"
        # Compared with the maximum, as the paper's text says; the other is shown beside it.
        holds = of["uniform"] > of["zipf"] if of is of_most else None
        t.add("5g", f"for 95 % of {name}, uniform and Zipf", here, "uniform needs more", holds)


def _enough(t: Table, shares: list[float], wanted: float) -> float:
    enough = [d * t.n for d, share in zip(DEPTHS, shares, strict=True) if share >= wanted]
    return enough[0] if enough else math.inf


def _quantile(t: Table, run: Run, name: str) -> str:
    of = [t.store.get(run, seed)["read_latency"][name] for seed in t.seeds]
    return f"{statistics.fmean(of) / 1e6:.0f}" if any(of) else "–"


def _turns_page(t: Table) -> list[str]:
    """The coordinated mode beside the paper's: rates, and the tails of reads."""
    rows = []
    for reads, runs in _turns(t.n).items():
        base, *others = runs
        tails = (
            " / ".join(_quantile(t, run, name) for run in runs) for name in ("p99_ns", "p99_9_ns")
        )
        gains = [f"{t.mean(run):.0f} ({t.gain(run, base)})" for run in others]
        rows.append((f"{reads / 10:.0f} %", f"{t.mean(base):.0f}", *gains, *tails))
    head = ("reads", "host-only", "turns, one drive", "turns, all", "reads' p99, ms", "p99.9, ms")
    return [
        "## Beyond the paper: drives that take turns",
        "",
        TURNS,
        "",
        *table(head, rows),
        "",
        TURNS_NOTES,
        "",
    ]


ROWS = {
    "5a": _row_5a,
    "5b": _row_5b,
    "5c": _row_5c,
    "5d": _row_5d,
    "5e": _row_5e,
    "5f": _row_5f,
    "5g": _row_5g,
}


# What was found out besides, by the commands that are named; docs/papers/safs.md has more.
NOTES = """- **5b**: the drives differ too little for a larger array to wait for its slowest one.
  That is not dynamic allocation's doing, which was the first guess: with `-o
  ftl.allocation=cwdp`, where each page has its die, 1, 6 and 18 drives do 26,490,
  26,024 and 25,231 writes a second and drive, with dynamic allocation 40,647, 40,252
  and 40,682 (two seeds each, `--mode striped --depth 128 --fill-permille 600`). What
  is left as a reason, and was not tried: every drive here has 16 dies that collect
  each on its own, so a drive slows down and does not stop.
- **5d**, Zipf: the mean is above the limit, its interval's lower end is not: a page that is not
  in the cache must be read first, and the time of such reads behind collections differs from
  seed to seed. Runs twice as long do not narrow it: +15.7 % ± 7.6 (six seeds of 100,000 requests
  a drive). So the gain is about the limit.
- **5e**: what limits it is that each request that meets a collection stays until the victim is
  collected (the reads' p99 is the time of one), and that the application has a fixed number of
  requests. At 40 % reads and a depth of 256 a drive in place of 32 the gain is +52.5 % ± 31.3,
  with 32 +19.4 % ± 7.1 (three seeds): the row's direction is there once enough requests are left
  to go on. Shorter collections do not bring it: with blocks of 32 pages (1,024 a plane,
  `gc.trigger_free_blocks=4`) there is three times the throughput, the p99 is 76 ms, and the gain
  is +13.6 % ± 1.7.
- **5f**: at 60 and 80 % reads the extra writes are the warm-up's shortness. Its four cache's
  worth of requests was chosen before, and at 80 % reads it has too few writes to fill the sets
  with dirty pages, so that without the flusher hardly any leave. After 1,000,000 requests in
  place of 98,304 (300,000 measured) it is +4.4, +4.0 and +4.5 % at 80 % reads (three seeds) and
  +4.7 % at 60 % (one), which is below 5 %. The hits are then 0.8 to 1.0 points fewer:
  clean-first eviction lets go of clean pages that are used, and the flusher makes more of them
  clean. Against plain GClock, which was SAFS's before the flusher, both halves of the row hold
  at every share. That second reading was added after the first had been seen, so it has no
  verdict.
- **5g**: under Zipf the page of rank 1 takes 6 % of all requests, and one drive has it beside
  its share of the others, which caps six drives at 0.77 of independent ones. So the need for 95
  % is counted of the most that the workload reaches, as the paper's text does."""


TURNS = """The paper's answer is the host's alone: it hides collections that drives begin by need.
`--mode coordinated` is the same array on drives that are told: for half a second one drive
collects until each of its planes has four free blocks, and the others are asked to begin no
collection; then the next drive has its turn. "All" gives every drive the turn at once. Uniform
requests, as in 5e; three seeds; the tails are of host-only / one drive / all. Length of a turn
and free blocks were chosen after a look at a few values with one seed."""


TURNS_NOTES = """\
- **Worse**: writes alone, by a third when one drive has the turn, by 3 % when all have. A reason
  that fits, and was not measured: drives that are written as fast as they can be must collect for
  more than a sixth of the time, so those that are held collect at their last free block.
- **Better**: wherever requests are read, about twice as many, and p99 and p99.9 of reads of half to
  a third; by one drive's turns at 20 % reads the tails gain less. Three seeds leave the intervals
  wide, and that of one drive's turns at 80 % reads includes no gain.
  There are as many collections as before (401 and 406 with one seed at 40 % reads), but those of
  a drive's dies begin together, and there is time in which none runs. An application with a fixed
  number of requests outstanding stops at the first die that collects, so it gains when
  collections coincide. It gains about as much when all six drives collect at once as by turns.
  A read that meets a collection waits for one victim; host-only it waits for two or three in a row.
- It is not the number of free blocks: host-only with `-o gc.trigger_free_blocks=` 1, 3 and 4 does
  3,631, 3,059 and 3,653 requests a second and drive at 80 % reads, with p99 of 368 to 388 ms
  (one seed).
- No read is spared a collection, as it would be where another drive has the data, too."""


def _page(made: Table) -> str:
    judged = [verdict for *_, verdict in made.rows if verdict]
    held = sum(verdict == "holds" for verdict in judged)
    lines = [
        "# The SSD array (SAFS)",
        "",
        f"Written by `make reproduce PAPER=safs`: {SEEDS} seeds, means, paired 95 % intervals "
        f"(Student's t), {DRIVES} simulated drives where nothing else is said, requests a second "
        f"and drive. Before → after is without the flusher → with it. {held} of {len(judged)} "
        "verdicts hold. [../papers/safs.md](../papers/safs.md) has the choices, made before, and "
        "what was seen besides.",
        "",
        *table(("row", "what", "here", "holds when", ""), made.rows),
        "",
        *_turns_page(Table(made.store, made.seeds[:TURN_SEEDS], made.n)),
        "## What the rows do not say",
        "",
        NOTES,
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main(cores: int) -> int:
    """Run what is missing, and write docs/results/safs.md."""
    program = ensure_simulator()
    # The folder of the cache is named after the sources.
    folder = OUT / "reproduce" / "safs" / program.parent.name
    for name in ("results", "images"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    store = Store(program, folder)
    seeds = list(range(1, SEEDS + 1))
    experiments = _experiments(DRIVES)
    # Each seed as a whole, so that an interrupted run has whole seeds.
    todo = [(run, seed) for seed in seeds for runs in experiments.values() for run in runs]
    todo += [
        (run, seed)
        for seed in seeds[:TURN_SEEDS]
        for runs in _turns(DRIVES).values()
        for run in runs
    ]
    with concurrent.futures.ThreadPoolExecutor(cores or os.cpu_count() or 1) as pool:
        for done, _ in enumerate(pool.map(lambda point: store.make(*point), todo), 1):
            if done % 20 == 0:
                print(f"{done} of {len(todo)}", file=sys.stderr, flush=True)
    made = Table(store, seeds, DRIVES)
    for name, runs in experiments.items():
        ROWS[name](made, runs)
    target = RESULTS / "safs.md"
    target.write_text(_page(made), encoding="utf-8")
    print(target)
    return 0
