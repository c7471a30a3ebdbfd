# SPDX-License-Identifier: GPL-2.0-or-later
"""When fio counted, on the drive's clock: what it did before, its ramp, is in none of its figures.

fio's times are whole milliseconds of the guest's wall clock.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.device_logs import log_page
from scarplib.guest import clock
from scarplib.results.fio import FioRun, Job

_MS = 1_000_000


@dataclass(frozen=True)
class Window:
    """Stretches of the drive's clock (ns), in order and apart."""

    spans: tuple[tuple[int, int], ...]

    @property
    def begin_ns(self) -> int:
        """Of the first."""
        return self.spans[0][0]

    def has(self, moment: int) -> bool:
        """Whether it lies in one of them."""
        at = bisect.bisect_right(self.spans, (moment, 1 << 63)) - 1
        return at >= 0 and moment < self.spans[at][1]


def drive_ahead_ns(folder: Path) -> int | None:
    """What the drive's clock is ahead of the guest's wall clock; None: the guest did not tell."""
    path = folder / clock.FILE
    if not path.is_file():
        return None
    wall = clock.wall_ns(path.read_text(errors="replace"))
    done = folder / "stats-done.bin"
    page = log_page.read(done if done.is_file() else folder / "stats-end.bin")
    return None if wall is None else page.now_ns - wall


def spans(jobs: Sequence[Job], ahead_ns: int) -> list[tuple[int, int, Job]]:
    """When each of them counted, on the drive's clock; those that fio gives no time of are left
    out."""
    return [
        (job.span[0] * _MS + ahead_ns, job.span[1] * _MS + _MS + ahead_ns, job)
        for job in jobs
        if job.span
    ]


def counted(run: FioRun, folder: Path) -> Window | None:
    """When at least one job counted; None: no job has a ramp, or the clocks are not known.

    The last one has no end: what was still to be written is written behind the job.
    """
    ahead = drive_ahead_ns(folder)
    if ahead is None or not run.ramp():
        return None
    joined: list[tuple[int, int]] = []
    for begin, end, _ in sorted(spans(run.jobs, ahead), key=lambda span: span[:2]):
        if joined and begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    if not joined:
        return None
    joined[-1] = joined[-1][0], 1 << 63
    return Window(tuple(joined))
