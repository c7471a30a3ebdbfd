# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of a test: one that is its stem until an instant, and what they left."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from scarplib.build.qemu import QemuBuild  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402
from scarplib.drive.switch import Switch  # noqa: E402
from scarplib.guest.image import GuestImage  # noqa: E402
from scarplib.guest.job import Job, run_job  # noqa: E402
from scarplib.runs import run  # noqa: E402

# All of it: `make test-instant`.
ALL = bool(os.environ.get("SCARP_TEST_ALL"))
OUT = ROOT / "out" / "test-instant"


def fresh(name: str) -> Path:
    """A folder of out/ for a test's guests."""
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder


def settings(folder: Path, job: str | Path | None, **options: Any) -> run.Settings:
    """A comparison on a small drive, of a file of fio-jobs/, another one, or a script.

    Without more options it is one of baseline alone.
    """
    given: dict[str, Any] = {
        "schemes": ["baseline"], "age": 900, "seed": 1, "smp": 1, "parallel": 2, **options,
    }  # fmt: skip
    return run.Settings(
        job=ROOT / "fio-jobs" / job if job else None,
        device=ROOT / "devices" / "demo.ini",
        out=folder,
        kind="test-instant",
        cpu_limit=1200,
        **given,
    )


@dataclass
class Stem:
    """A finished run of `baseline`, from which other guests may fork."""

    settings: run.Settings
    column: dict[str, Any]
    qemu: QemuBuild
    image: GuestImage
    made: list[Path] = field(default_factory=list)

    @classmethod
    def boot(cls, name: str, job: str | Path, **options: Any) -> Stem:
        asked = settings(fresh(name), job, **options)
        qemu, image = run.prepare()
        outcome = run.compare(asked)
        assert not outcome.failures, outcome.failures
        return cls(asked, outcome.schemes["baseline"], qemu, image)

    @classmethod
    def short(cls) -> Stem:
        """One that several tests fork from."""
        return _short()

    @property
    def folder(self) -> Path:
        assert self.settings.out
        return self.settings.out / "baseline"

    def moment(self, share: float) -> int:
        """A share of the job's time, in ns of the drive's clock."""
        begin, end = self.column["begin_ns"], self.column["end_ns"]
        return int(begin + (end - begin) * share)

    def job(self, switch: Switch) -> Job:
        asked = self.settings
        out = self.folder.with_name(f"{switch.scheme.replace(':', '-')}-{switch.at_ns}")
        return Job(
            fio_job=asked.job,
            device=asked.device,
            scheme="baseline",
            out=out,
            image=self.folder.with_name("drive.img"),
            seed=asked.seed,
            smp=asked.smp,
            cpu_limit=asked.cpu_limit,
            switch=switch,
        )

    def fork(self, switches: Sequence[Switch]) -> Iterator[tuple[Switch, Path]]:
        """Guests that are the stem until they switch, two at a time, each with its folder."""
        jobs = [self.job(switch) for switch in switches]
        with ThreadPoolExecutor(2) as pool:
            for job, result in zip(jobs, pool.map(self._boot, jobs), strict=True):
                assert result == "ok", f"{job.out}: {result}"
                assert job.switch
                yield job.switch, job.out

    def _boot(self, job: Job) -> str:
        return run_job(self.qemu, self.image, replace(job)).reason


@functools.cache
def _short() -> Stem:
    return Stem.boot("short", "short.fio")


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Of a folder's command log, in the order of completion: without causes."""
    path = folder / "cmd.bin" if folder.is_dir() else folder
    return [row[: command_log.FIXED] for row in command_log.command_rows(path)]


def seq(row: tuple[Any, ...]) -> int:
    """The number of its submission, which collections may have raised meanwhile."""
    return int(row[8]) & command_log.ORDER_SEQ


def places(rows: Sequence[tuple[Any, ...]]) -> dict[int, int]:
    """By their numbers, how many of the commands came before each."""
    return {number: place for place, number in enumerate(sorted(map(seq, rows)))}


def first_difference(
    stem: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]]
) -> int | None:
    """When the first completion that differs was in one of both, in ns; None: all are equal."""
    ended = []
    for rows in (stem, other):
        place = places(rows)
        ended.append([(place[seq(row)], row[1]) for row in rows])
    for one, two in zip(*ended, strict=False):
        if one != two:
            return min(int(one[1]), int(two[1]))
    longer = stem if len(stem) > len(other) else other
    both = min(len(stem), len(other))
    return int(longer[both][1]) if len(longer) > both else None
