# SPDX-License-Identifier: GPL-2.0-or-later
"""Which job of a guest's fio a command is of, as far as its time and kind tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scarplib.device_logs.log_file import LogError
from scarplib.results import fio_window
from scarplib.results.fio import Job, load_fio

# What fio calls what the drive does; a job with verification reads what it has written.
_DIRECTIONS = {
    "read": ("read", "mixed"),
    "write": ("write", "mixed"),
    "write_zeroes": ("write", "mixed"),
    "deallocate": ("trim", "mixed"),
}


def _may(job: Job, op: str) -> bool:
    wanted = _DIRECTIONS.get(op)
    return wanted is None or any(direction in job.parts for direction in wanted)


def of_run(folder: Path) -> Callable[[int, str], str] | None:
    """A function of a command's submission (ns) and operation; None: no fio ran there.

    Where several jobs may have sent it their names are joined by "|"; it is empty outside of the
    time in which jobs counted, such as in their ramps.
    """
    if not (folder / "fio.json").is_file():
        return None
    try:
        jobs = load_fio(folder / "fio.json").jobs
        ahead = fio_window.drive_ahead_ns(folder)
    except LogError:
        return None
    names = {job.name for job in jobs}
    if ahead is None:
        # Of one job no time need be known.
        return (lambda submit, op: next(iter(names))) if len(names) == 1 else None
    spans = fio_window.spans(jobs, ahead)

    def name(submit: int, op: str) -> str:
        now = [job for begin, end, job in spans if begin <= submit < end]
        fit = [job for job in now if _may(job, op)]
        return "|".join(dict.fromkeys(job.name for job in fit or now))

    return name
