# SPDX-License-Identifier: GPL-2.0-or-later
"""The same job many times over, on an idle and on a busy host: every byte must be equal.

Prints TAP.  The last test is the negative one: with the device's queues on
QEMU's bottom halves, as upstream has them, the same comparison must find
differences, or it could not find any.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError
from scarplib.guest.job import Job, run_job
from scarplib.paths import ROOT
from scarplib.runs import at_once, run
from scarplib.runs.folder import new_folder

VCPUS = (1, 4)
NEGATIVE_RUNS = 4
# What else is in a run's folder is the host's: wall times, sockets, the mapped progress.
COMPARED = ("*.json", "*.log", "*.bin")
IGNORED = ("progress.bin", "console.log", "qemu.log")


@dataclass(frozen=True)
class Point:
    """One run of the job."""

    smp: int
    busy: bool
    number: int
    virtual_queues: bool = True

    @property
    def name(self) -> str:
        """For people, and for the folder of its results."""
        kind = "busy" if self.busy else "idle"
        queues = "" if self.virtual_queues else "-bottom-halves"
        return f"smp{self.smp}-{kind}{queues}-{self.number}"


@contextlib.contextmanager
def busy_host(wanted: bool) -> Iterator[None]:
    """Every core kept busy by a loop of its own, as long as the context lasts."""
    loops: list[subprocess.Popen[bytes]] = []
    try:
        if wanted:
            loops = [
                subprocess.Popen([sys.executable, Path(__file__).with_name("busy_loop.py")])
                for _ in range(os.cpu_count() or 1)
            ]
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


def compared_files(folder: Path) -> dict[str, str]:
    """Name to hash of everything that has to be equal."""
    found = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in COMPARED
        for path in sorted(folder.rglob(pattern))
        if path.is_file() and path.name not in IGNORED
    }
    missing = {"fio.json", "cmd.bin", "gc.bin", "stats-end.bin"} - found.keys()
    if missing:
        raise UserError(f"{folder.name}: nothing to compare: {', '.join(sorted(missing))} missing")
    if not any(name.endswith(".log") for name in found):
        raise UserError(f"{folder.name}: no latency log to compare")
    return found


def plan(runs: int) -> list[Point]:
    """Half of the runs on a busy host, the vCPU counts taking turns within each half."""
    points = []
    for number in range(runs):
        smp = VCPUS[number % len(VCPUS)]
        points.append(Point(smp, number >= (runs + 1) // 2, number))
    return points


def differing(results: dict[str, dict[str, str]]) -> tuple[int, str]:
    """How many distinct results there are, and which files differ in which run."""
    names = list(results)
    first = results[names[0]]
    notes = []
    for name in names[1:]:
        files = sorted(
            {f for f in first.keys() | results[name].keys() if first.get(f) != results[name].get(f)}
        )
        if files:
            notes.append(f"{name} differs from {names[0]} in {', '.join(files)}")
    distinct = len({tuple(sorted(files.items())) for files in results.values()})
    return distinct, "\n".join(notes)


class _Campaign:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.qemu, self.image = run.prepare()
        self.results: dict[Point, dict[str, str]] = {}
        self.lock = threading.Lock()
        self.errors: list[str] = []
        self.total = 0
        self.began = time.monotonic()

    def one(self, point: Point) -> None:
        out = self.folder / point.name
        job = Job(
            fio_job=ROOT / "fio-jobs" / "short.fio",
            device=ROOT / "devices" / "demo.ini",
            scheme="baseline",
            out=out,
            smp=point.smp,
            virtual_queues=point.virtual_queues,
            cpu_limit=300,
        )
        try:
            result = run_job(self.qemu, self.image, job)
            if problem := at_once.guest_failure(point.name, result):
                raise UserError(problem)
            files = compared_files(out)
        except (UserError, OSError) as error:
            with self.lock:
                self.errors.append(str(error))
            return
        with self.lock:
            self.results[point] = files
            done = len(self.results)
            print(
                f"# {point.name}: done, {done} of {self.total}, "
                f"{time.monotonic() - self.began:.0f} s",
                flush=True,
            )

    def run(self, points: list[Point]) -> None:
        self.total += len(points)
        cores = os.cpu_count() or 1
        for busy in (False, True):
            # Guests beside the loops share the time that these take from the host.
            workers = min(3, cores) if busy else max(1, min(3, cores - 1))
            chosen = [point for point in points if point.busy is busy]
            if chosen:
                with busy_host(busy), ThreadPoolExecutor(workers) as pool:
                    list(pool.map(self.one, chosen))


def main(runs: int, negative: bool = True) -> int:
    """Print TAP: `runs` in all, and with `negative` also the ones that must differ."""
    folder = new_folder("determinism", None)
    campaign = _Campaign(folder)
    points = plan(runs)
    bad = [Point(1, False, n, virtual_queues=False) for n in range(NEGATIVE_RUNS)]
    print("TAP version 13", flush=True)
    campaign.run(points + (bad if negative else []))
    number = failed = 0

    def result(good: bool, text: str, notes: str = "") -> None:
        nonlocal number, failed
        number += 1
        failed += not good
        print(f"{'' if good else 'not '}ok {number} - {text}")
        for line in notes.splitlines():
            print(f"# {line}")

    result(not campaign.errors, "every run ended well", "\n".join(campaign.errors))
    for smp in VCPUS:
        same = [p for p in points if p.smp == smp]
        if not same:
            continue
        found = {p.name: campaign.results[p] for p in same if p in campaign.results}
        distinct, notes = differing(found) if found else (0, "no run ended well")
        busy = sum(p.busy for p in same)
        result(
            distinct == 1 and len(found) == len(same) and len(found) > 1,
            f"{smp} vCPU: {distinct} distinct results of {len(found)} runs ({busy} on a busy host)",
            notes,
        )
    if negative:
        found = {p.name: campaign.results[p] for p in bad if p in campaign.results}
        distinct = differing(found)[0] if found else 0
        result(
            distinct > 1,
            f"without virtual queues: {distinct} distinct results of {len(found)} runs: "
            "the comparison can fail",
        )
    print(f"1..{number}")
    if failed:
        print(f"# to look at: {folder}")
    else:
        # Hundreds of megabytes at N=50.
        shutil.rmtree(folder)
    return 1 if failed else 0
