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
import io
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402
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
    ("sequential-write", "", 2_000_000),
    ("random-write-gc", "", 1_000_000),
    ("random-read", "", 2_000_000),
    ("random-write-gc", bench_engine.SCALES[0][1], 1_000_000),
    ("random-write-gc", bench_engine.SCALES[2][1], 1_000_000),
)


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
    done = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "ftl"], capture_output=True, check=False
    )
    if done.returncode:
        raise UserError(f"COMMIT: {done.stderr.decode().strip().splitlines()[0]}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder / "commit", filter="data")
    return folder / "commit"


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


def speed(engines: tuple[Engine, Engine], rounds: int) -> None:
    core = min(os.sched_getaffinity(0))
    print(f"{'load':<44}{engines[0].name:>12}{engines[1].name:>12}   ratio (CPU time)")
    for load, overrides, requests in LOADS:
        took: dict[str, list[float]] = {engine.name: [] for engine in engines}
        for _ in range(rounds):
            for engine in engines:
                done = subprocess.run(
                    ["taskset", "-c", str(core), str(engine.bench), str(bench_engine.DRIVE),
                     "baseline", overrides, load, str(requests)],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                rate = bench_engine.value(done.stdout, "transactions/s")
                took[engine.name].append(1e9 / rate)
        there, here = (statistics.median(took[engine.name]) for engine in engines)
        name = next((n for n, o in bench_engine.SCALES if o and o == overrides), "")
        ratio = statistics.median(
            b / a for a, b in zip(*(took[engine.name] for engine in engines), strict=True)
        )
        print(f"{f'{load} {name}':<44}{there:>9.1f} ns{here:>9.1f} ns   {ratio:.3f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", metavar="COMMIT", help="whose engine this one is compared with")
    parser.add_argument(
        "--rounds", type=integer("--rounds", 0, 100), default=0, metavar="N",
        help="time both, N times (default: 0, not at all)",
    )  # fmt: skip
    parser.add_argument("--only-speed", action="store_true", help="do not compare results")
    arguments = parser.parse_args()
    ensure_packages()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        engines = (
            build(arguments.commit[:11], checkout(arguments.commit, folder), folder),
            build("here", ROOT, folder),
        )
        good = arguments.only_speed or same(engines)
        if arguments.rounds:
            speed(engines, arguments.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"against.py: error: {error}")
