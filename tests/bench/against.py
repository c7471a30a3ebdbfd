#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as it is in this checkout, beside that of another commit.

First: every scheme and policy on several drives, each with another set of options: statistics,
log of commands, log of collections and saved drive must be the same bytes, and refusals the same
words.  A change that should only make the engine faster must not change one of them.
With --rounds N then: how long both take, in turns, on one core; medians of N.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
from scarplib.build.cache import cache_dir  # noqa: E402
from scarplib.build.compile import compile_program  # noqa: E402
from scarplib.build.host_packages import ensure_packages  # noqa: E402
from scarplib.dev import bench_engine  # noqa: E402
from scarplib.errors import UserError, integer  # noqa: E402

DRIVES = ("hpdc18-small", "paragc-small", "pregc-2d-small", "pregc-3d-small", "ttflash-small")
COMBINATIONS = (
    "gc-vic+pgc", "gc-par+global", "pregc+gftl", "paragc+pregc", "dynamic+multi-plane",
    "deadline+background", "ttflash+fifo",
)  # fmt: skip
SUSPEND = ("-o", "nand.suspend_program=1", "-o", "nand.suspend_erase=1")
# Workload and options: each scheme meets two of them on each drive.
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("gen:uniform", "-m", "closed", "-q", "32"),
    ("gen:mixed", "-m", "closed", "-q", "16"),
    ("gen:zipf", "-m", "closed", "-q", "64", *SUSPEND),
    ("gen:hm_0",),
    ("gen:bursty", "--speed", "500"),
    ("gen:mixed", "-m", "think", "-o", "ftl.recovery=1"),
    ("gen:mixed", "-m", "closed", "-q", "32", "-o", "ftl.unit_bytes=4096"),
    ("gen:uniform", "-m", "closed", "-q", "32", "-o", "nand.multiplane=1"),
    ("gen:zipf", "-m", "closed", "-q", "8", "-o", "nand.cache=1", "-o", "nand.copyback=1"),
    (
        "gen:mixed", "-m", "closed", "-q", "32", "-o", "controller.buffer_bytes=1048576",
        "-o", "ftl.unit_bytes=4096",
    ),
    ("gen:hot-cold", "-m", "closed", "-q", "32", "-o", "gc.wear_spread_erases=3"),
    ("gen:sequential", "-m", "closed", "-q", "4", "-o", "controller.slots=8"),
    ("gen:uniform", "-m", "closed", "-q", "32", "-o", "nand.bad_blocks_permille=20", *SUSPEND),
)  # fmt: skip
REQUESTS = 6000
LOADS = (
    ("sequential-write", "16 GiB", ""),
    ("random-read", "16 GiB", ""),
    *(("random-write-gc", *scale) for scale in bench_engine.SCALES),
)
MEASURED = "2000000"  # requests


@dataclass(frozen=True)
class Engine:
    name: str
    replayer: Path
    bench: Path


@dataclass(frozen=True)
class Case:
    scheme: str
    drive: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.scheme} on {self.drive}: {' '.join(self.options)}"


def build(name: str, root: Path, folder: Path) -> Engine:
    engine = Engine(name, folder / name / "scarp-replay", folder / name / "bench-engine")
    sources = sorted((root / "ftl").rglob("*.c"))
    compile_program(engine.replayer, root / "ftl", sources, replayer.LIBRARIES)
    # One and the same program for both: what is measured is the engine.
    measured = [*bench_engine.sources(root)[:-1], bench_engine.sources()[-1]]
    compile_program(engine.bench, root / "ftl", measured, ("glib-2.0",))
    return engine


def checkout(commit: str, folder: Path) -> Path:
    root = folder / "commit"
    root.mkdir()
    done = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "ftl"], capture_output=True, check=False
    )
    if done.returncode:
        raise UserError(f"COMMIT: {done.stderr.decode().strip().splitlines()[0]}")
    subprocess.run(["tar", "-x", "-C", str(root)], input=done.stdout, check=True)
    return root


def cases() -> list[Case]:
    made = []
    for i, scheme in enumerate([*replayer.scheme_names(), *COMBINATIONS]):
        for j, drive in enumerate(DRIVES):
            first = 2 * i + 5 * j
            made += [Case(scheme, drive, OPTIONS[k % len(OPTIONS)]) for k in (first, first + 1)]
    return made


def outcome(engine: Engine, case: Case) -> dict[str, bytes]:
    """What a run says and leaves behind."""
    workload, *options = case.options
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(engine.replayer), "-d", str(ROOT / "devices" / f"{case.drive}.ini"),
            "-s", case.scheme, "--age", "900", "--age-overwrite", "300", "-n", str(REQUESTS),
            "--align", "4096", "--quiet", "--json", "json", "--cmd-log", "commands",
            "--gc-log", "collections", "--save", "drive", *options, workload,
        ]  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        left = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        left["json"] = re.sub(rb'"wall_s": [0-9.e-]+', b"", left.get("json", b""))
    return {"status": str(done.returncode).encode(), "words": done.stderr, **left}


def same(engines: tuple[Engine, Engine]) -> bool:
    good = refused = 0
    todo = cases()

    def both(case: Case) -> tuple[Case, dict[str, bytes], dict[str, bytes]]:
        return case, outcome(engines[0], case), outcome(engines[1], case)

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for case, there, here in pool.map(both, todo):
            differ = [k for k in sorted({*there, *here}) if there.get(k) != here.get(k)]
            if differ:
                print(f"differs: {case}: {', '.join(differ)}", flush=True)
                continue
            good += 1
            refused += here["status"] != b"0"
    print(f"{good} of {len(todo)} runs are the same, {refused} of them refused", flush=True)
    return good == len(todo) and refused < good / 2


def speed(engines: tuple[Engine, Engine], rounds: int, folder: Path) -> None:
    """Of each load nanoseconds of CPU time per flash transaction, from one aged drive each."""
    print(f"{'load':<36}{engines[0].name:>12}{engines[1].name:>12}   ratio")
    for load, name, overrides in LOADS:
        took: tuple[list[float], list[float]] = ([], [])
        for i in range(rounds + 1):
            for engine, ns in zip(engines, took, strict=True):
                out = bench_engine.run_bench(
                    str(bench_engine.DRIVE), "baseline", overrides, load, MEASURED,
                    str(folder / engine.name / f"{load} {name}"), program=engine.bench,
                )  # fmt: skip
                if i:  # The first makes the image.
                    ns.append(1e9 / bench_engine.value(out, "transactions/s"))
        there, here = map(statistics.median, took)
        ratio = statistics.median(b / a for a, b in zip(*took, strict=True))
        print(f"{f'{load}, {name}':<36}{there:>9.1f} ns{here:>9.1f} ns   {ratio:.3f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", metavar="COMMIT", help="whose engine this one is compared with")
    parser.add_argument(
        "--rounds", type=integer("--rounds", 0, 100), default=0, metavar="N",
        help="time both, N times (default: 0, not at all)",
    )  # fmt: skip
    arguments = parser.parse_args()
    ensure_packages()
    # Not in /tmp, which may lie in memory: drives of 1 TiB take a GiB each.
    with tempfile.TemporaryDirectory(dir=cache_dir()) as work:
        folder = Path(work)
        engines = (
            build(arguments.commit[:11], checkout(arguments.commit, folder), folder),
            build("here", ROOT, folder),
        )
        good = same(engines)
        if arguments.rounds:
            speed(engines, arguments.rounds, folder)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"against.py: error: {error}")
