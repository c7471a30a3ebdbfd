# SPDX-License-Identifier: GPL-2.0-or-later
"""Two engines timed in turns: CPU time and instructions of the same loads, by kind of build."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from engines import LIBRARY, WHOLE, Engine
from scarplib.build.cache import cache_dir
from scarplib.dev import bench_engine
from scarplib.errors import UserError

# A ratio above it is marked: what a change that is to cost nothing may cost.
ALLOWED = 1.03
# And of instructions, which do not scatter.
ALLOWED_INSTRUCTIONS = 1.01
# Under callgrind; perf, which counts whole programs, takes the difference of two lengths.
COUNTED = 50_000
PERF = ("perf", "stat", "-x", ",", "-e", "instructions:u")


@dataclass(frozen=True)
class Load:
    load: str
    overrides: str
    requests: int
    where: str = ""

    @property
    def name(self) -> str:
        return f"{self.load} {self.where}".strip()

    @property
    def ages(self) -> bool:
        return self.load != "sequential-write"


LOADS = (
    Load("sequential-write", "", 2_000_000),
    Load("random-write-gc", "", 1_000_000),
    Load("random-read", "", 2_000_000),
    *(
        Load("random-write-gc", overrides, 1_000_000, where)
        for where, overrides in (bench_engine.SCALES[0], bench_engine.SCALES[2])
    ),
)
# Instructions hardly depend on the drive's size: the larger ones would take minutes to count.
COUNTED_LOADS = LOADS[:3]


def _run(
    program: Path, load: Load, requests: int, image: Path | None, *under: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*under, str(program), str(bench_engine.DRIVE), "baseline", load.overrides, load.load,
         str(requests), *([str(image)] if image and load.ages else [])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise UserError(f"{load.name}: {done.stderr.strip()[-500:]}")
    return done


def perf_count(text: str) -> float | None:
    found = re.search(r"^(\d+),[^,]*,instructions", text, re.MULTILINE)
    return float(found[1]) if found else None


def counter() -> str:
    """What counts instructions here: "perf", "callgrind", or nothing."""
    if shutil.which("perf"):
        done = subprocess.run([*PERF, "true"], capture_output=True, text=True, check=False)
        if perf_count(done.stderr):
            return "perf"
    return "callgrind" if shutil.which("valgrind") else ""


def instructions(by: str, program: Path, load: Load, image: Path) -> float:
    """Of the measured requests alone, for each flash transaction."""
    if load.ages and not image.exists():
        _run(program, load, 1, image)
    if by == "callgrind":
        done = _run(program, load, COUNTED, image, *bench_engine.CALLGRIND)
        collected = bench_engine.collected(done.stderr)
        return collected / bench_engine.value(done.stdout, " transactions")
    counts, done_work = [], []
    for requests in (load.requests // 2, load.requests):
        done = _run(program, load, requests, image, *PERF)
        counts.append(perf_count(done.stderr) or 0)
        done_work.append(bench_engine.value(done.stdout, " transactions"))
    return (counts[1] - counts[0]) / (done_work[1] - done_work[0])


Counts = dict[tuple[Load, str], tuple[float, float]]  # of both engines, by kind of build


def _count(engines: tuple[Engine, Engine]) -> Counts:
    by = counter()
    print(
        {
            "perf": "instructions: perf stat, two lengths' difference",
            "callgrind": f"instructions: callgrind, {COUNTED:,} requests (perf has none here)",
            "": "instructions: not available (neither perf's counters nor valgrind)",
        }[by],
        flush=True,
    )
    if not by:
        return {}
    # Counts do not depend on what else runs.
    with (
        tempfile.TemporaryDirectory(dir=cache_dir()) as folder,
        ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool,
    ):
        counts = {
            (load, kind, engine.name): pool.submit(
                instructions, by, engine.bench[kind], load,
                Path(folder) / f"{i}-{kind}-{engine.name}",
            )
            for i, load in enumerate(COUNTED_LOADS)
            for kind in (WHOLE, LIBRARY)
            for engine in engines
        }  # fmt: skip
        there, here = (engine.name for engine in engines)
        return {
            (load, kind): (counts[load, kind, there].result(), counts[load, kind, here].result())
            for load in COUNTED_LOADS
            for kind in (WHOLE, LIBRARY)
        }


def instruction_table(engines: tuple[Engine, Engine]) -> None:
    counts = _count(engines)
    there, here = (engine.name for engine in engines)
    print(f"{'per flash transaction':<38}{'build':<10}{there:>12}{here:>10}{'ratio':>8}")
    for (load, kind), (before, now) in counts.items():
        mark = "  more" if now / before > ALLOWED_INSTRUCTIONS else ""
        print(f"{load.name:<38}{kind:<10}{before:>12,.1f}{now:>10,.1f}{now / before:>8.3f}{mark}")


def _times(
    engines: tuple[Engine, Engine], load: Load, rounds: int
) -> Iterator[tuple[str, list[list[float]]]]:
    """By kind of build, each engine's nanoseconds of CPU time per flash transaction."""
    core = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    took: dict[str, list[list[float]]] = {kind: [[], []] for kind in (WHOLE, LIBRARY)}
    for _ in range(rounds):
        for kind, pair in took.items():
            for engine, values in zip(engines, pair, strict=True):
                done = _run(engine.bench[kind], load, load.requests, None, *core)
                values.append(1e9 / bench_engine.value(done.stdout, "transactions/s"))
    yield from took.items()


def table(engines: tuple[Engine, Engine], rounds: int) -> None:
    ratios = {which: now / before for which, (before, now) in _count(engines).items()}
    there, here = (engine.name for engine in engines)
    print(
        f"{'CPU time per flash transaction':<38}{'build':<10}{there:>12}{here:>10}"
        f"{'ratio':>8}{'instructions':>14}"
    )
    for load in LOADS:
        for kind, (before, now) in _times(engines, load, rounds):
            ratio = statistics.median(b / a for a, b in zip(before, now, strict=True))
            count = ratios.get((load, kind))
            print(
                f"{load.name:<38}{kind:<10}{statistics.median(before):>9.1f} ns"
                f"{statistics.median(now):>7.1f} ns{ratio:>8.3f}"
                f"{f'{count:.3f}' if count else '-':>14}{'  slower' if ratio > ALLOWED else ''}",
                flush=True,
            )
