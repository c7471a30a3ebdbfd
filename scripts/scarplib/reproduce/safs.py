# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce PAPER=safs`: the array paper's points on simulated drives; safs_rows judges them.

Not from a file of experiments/, whose cells are replays: here a point is a command of scarp-array.
What the paper leaves open was chosen before: docs/papers/safs.md.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build.array import ARRAY, ensure_simulator
from scarplib.build.replayer import key_of
from scarplib.errors import UserError
from scarplib.paths import OUT, RESULTS
from scarplib.reproduce import keep, stale

DRIVE = ARRAY / "sim" / "safs.ini"
# Of rows 5c and 5e to 5g: a third of the paper's, for a third of the time.
DRIVES = 6
# Of row 5d, whose verdict changes with their number: the paper's.
PAPERS_DRIVES = 18
SEEDS = 10
A_DRIVE = 50_000  # measured requests, a drive
TURN_SEEDS = 3  # of what goes beyond the paper
READS = (0, 200, 400, 600, 800)
SYNCHRONOUS = ("--threads", "32", "--depth", "1")
# Of a result, what safs_rows reads.
ON_PAGE = ("iops_per_drive", "read_latency", "array")
DEPTHS = (8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Run:
    """A point of an experiment; a seed makes a command of it."""

    drives: int
    mode: str
    options: tuple[str, ...] = ()
    a_drive: int = A_DRIVE
    # In the flusher's place: no part of the command.
    stands: bool = False

    def command(self, seed: int) -> list[str]:
        """Of scarp-array."""
        return [
            *("-d", str(DRIVE), "-m", self.mode, "-n", str(self.drives), "--seed", str(seed)),
            *("-r", str(self.a_drive * self.drives), *self.options),
        ]


def workload_of(name: str) -> tuple[str, ...]:
    return ("-w", name)


def striped(drives: int, workload: str, depth: int) -> Run:
    # Long enough that each of the many outstanding requests ends several times.
    options = (*workload_of(workload), "--depth", str(depth), "--fill-permille", "600")
    warmup = str(drives * max(16_384, 4 * depth))
    return Run(drives, "striped", (*options, "--warmup", warmup), max(A_DRIVE, 50 * depth))


def experiments(n: int) -> dict[str, list[Run]]:
    """Every point of every row."""
    one = ("--depth", "128")
    fills = [Run(1, "independent", (*one, "--fill-permille", str(f))) for f in (400, 600, 800)]
    fresh = Run(1, "independent", (*one, "-s", "ideal", "--fresh"))
    limits = [Run(n, "independent", workload_of(w)) for w in ("uniform", "zipf")]
    alone = [
        Run(n, "independent", (*workload_of(w), *one, "--fill-permille", "600"))
        for w in ("uniform", "zipf")
    ]
    modes = ("cached", "flusher")
    return {
        "5a": [fresh, *fills],
        "5b": [striped(d, "uniform", 128) for d in (1, 6, 12, 18)],
        "5c": [
            *limits,
            *(Run(n, m, workload_of(w)) for m in modes for w in ("uniform", "zipf")),
            *(
                Run(n, m, (*workload_of(w), *SYNCHRONOUS))
                for m in modes
                for w in ("uniform", "zipf")
            ),
        ],
        "5d": [
            Run(PAPERS_DRIVES, m, (*workload_of(w), "--request-bytes", "128"))
            for m in modes
            for w in ("uniform", "zipf")
        ],
        "5e": [Run(n, m, ("--read-permille", str(r))) for m in modes for r in READS],
        "5f": [
            *(
                Run(n, m, (*workload_of("zipf"), "--read-permille", str(r)))
                for m in modes
                for r in READS
            ),
            # The other reading of "without the flusher": without clean-first eviction either.
            *(
                Run(
                    n,
                    "cached",
                    (*workload_of("zipf"), "--read-permille", str(r), "-k", "clean_first=0"),
                )
                for r in READS
            ),
        ],
        "5g": [*alone, *(striped(n, w, d) for w in ("uniform", "zipf") for d in DEPTHS)],
    }


def turns(n: int) -> dict[int, list[Run]]:
    """Beyond the paper, by share of reads: host-only; one drive's turn after another's; all's."""
    return {
        reads: [
            Run(n, "flusher", ("--read-permille", str(reads))),
            Run(n, "coordinated", ("--read-permille", str(reads))),
            Run(n, "coordinated", ("--read-permille", str(reads), "--turn-drives", str(n))),
        ]
        for reads in READS
    }


def digest(command: list[str]) -> str:
    """Of a point: the drive by what is in its file, not by where that is."""
    text = "\0".join(command).replace(str(DRIVE), DRIVE.read_text(encoding="utf-8"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass
class Store:
    """Results by command, in a folder of the program that gave them."""

    program: Path
    folder: Path
    loaded: dict[str, dict[str, Any]] = field(default_factory=dict)

    def _path(self, command: list[str]) -> Path:
        return self.folder / "results" / f"{digest(command)}.json"

    def make_folders(self) -> None:
        """Of results, and of the aged drives."""
        for name in ("results", "images"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def make(self, run: Run, seed: int) -> None:
        """Run it, if it is not there."""
        command = run.command(seed)
        path = self._path(command)
        if path.exists():
            return
        fresh = "--fresh" in command
        images = [] if fresh else ["--images", str(self.folder / "images")]
        done = subprocess.run(
            [str(self.program), *command, *images], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"{' '.join(command)}: {done.stderr.strip()}")
        made = path.with_suffix(".part")
        made.write_text(done.stdout, encoding="utf-8")
        made.rename(path)

    def has(self, run: Run, seed: int) -> bool:
        """Is it there?"""
        path = self._path(run.command(seed))
        return path.stem in self.loaded or path.exists()

    def get(self, run: Run, seed: int) -> dict[str, Any]:
        """Its result."""
        path = self._path(run.command(seed))
        key = path.stem
        if key not in self.loaded:
            self.loaded[key] = json.loads(path.read_text(encoding="utf-8"))
        return self.loaded[key]


def points() -> list[tuple[Run, int]]:
    """Each seed as a whole, so that an interrupted run has whole seeds."""
    of = experiments(DRIVES).values()
    todo = [(run, seed) for seed in range(1, SEEDS + 1) for runs in of for run in runs]
    todo += [
        (run, seed)
        for seed in range(1, TURN_SEEDS + 1)
        for runs in turns(DRIVES).values()
        for run in runs
    ]
    return todo


def _raw(folder: Path) -> Path:
    return folder / "safs.jsonl.xz"


def _kept(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What is kept in the repository: its head, and results by digest."""
    if not _raw(folder).is_file():
        return {}, {}
    head, *rest = map(json.loads, lzma.decompress(_raw(folder).read_bytes()).decode().splitlines())
    return head, {line["point"]: line["result"] for line in rest}


def keep_all(store: Store, engine: str, made: str, folder: Path) -> Path:
    """What the page is computed from, into the repository."""
    lines: list[dict[str, Any]] = [{"paper": "safs", "engine": engine, "commit": made}]
    for run, seed in points():
        result = store.get(run, seed)
        lines.append({"point": digest(run.command(seed)), "result": result})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    folder.mkdir(parents=True, exist_ok=True)
    _raw(folder).write_bytes(lzma.compress(text.encode(), preset=9))
    return _raw(folder)


def kept_rows(folder: Path) -> list[Any]:
    """The judged rows from what is kept; empty if that is not all of it."""
    from scarplib.reproduce import safs_rows

    _, found = _kept(folder)
    if any(digest(run.command(seed)) not in found for run, seed in points()):
        return []
    made = safs_rows.Table(Store(Path(), Path(), found), list(range(1, SEEDS + 1)), DRIVES)
    return safs_rows.judged(made)


def again(run: Run, seed: int, folder: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What the page has of a point as it is kept, and by this simulator; None: it is not kept."""
    _, found = _kept(folder)
    kept = found.get(digest(run.command(seed)))
    if kept is None:
        return None
    with tempfile.TemporaryDirectory() as work:
        store = Store(ensure_simulator(), Path(work))
        store.make_folders()
        store.make(run, seed)
        here = store.get(run, seed)
    return {key: kept[key] for key in ON_PAGE}, {key: here[key] for key in ON_PAGE}


def _said(done: int, of: int, missing: int, spent: float) -> str:
    """Where it is, and how long it will take."""
    left = spent / done * (missing - done)
    return f"{done} of {missing} runs ({of} in all), about {left / 60:.0f} minutes left"


def main(cores: int) -> int:
    """Run what is missing, and write docs/results/safs.md."""
    from scarplib.reproduce import overview, page, safs_rows

    program = ensure_simulator()
    key = key_of(program)
    engine = key[: stale.DIGITS]
    folder = OUT / "reproduce" / "safs" / key
    store = Store(program, folder)
    store.make_folders()
    head, found = _kept(keep.RAW)
    if head.get("engine") == engine:
        store.loaded.update(found)
    every = points()
    todo = [(run, seed) for run, seed in every if not store.has(run, seed)]
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(cores or os.cpu_count() or 1) as pool:
        for done, _ in enumerate(pool.map(lambda point: store.make(*point), todo), 1):
            if done % 20 == 0 or done == 4:
                spent = time.monotonic() - begun
                print(_said(done, len(every), len(todo), spent), file=sys.stderr, flush=True)
    made = safs_rows.Table(store, list(range(1, SEEDS + 1)), DRIVES)
    target = RESULTS / "safs.md"
    target.write_text(safs_rows.page(made, page.commit(), engine), encoding="utf-8")
    print(target)
    print(keep_all(store, engine, page.commit(), keep.RAW))
    print(overview.write())
    return 0
