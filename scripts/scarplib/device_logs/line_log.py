# SPDX-License-Identifier: GPL-2.0-or-later
"""The line log: from which line of the trace, and which job, each request of a replay came.

The writer is ftl/replay/linelog.c; the requests are in the order of their submission.
"""

from __future__ import annotations

import csv
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.device_logs.log_file import LogError

# Its name beside a scheme's command log.
NAME = "lines.csv"
COLUMNS = ("line", "job")


@dataclass
class Lines:
    """Lines (0: none) and jobs of requests."""

    path: Path
    line: array[int] = field(default_factory=lambda: array("Q"))
    job: list[str] = field(default_factory=list)

    def of(self, order: int) -> tuple[int | str, str]:
        """Line and job of the request that was submitted in this order, from 0 on."""
        if order >= len(self.line):
            raise LogError(f"{self.path}: has {len(self.line)} requests; the command log has more")
        return self.line[order] or "", self.job[order]


def read(path: Path) -> Lines:
    """All of it."""
    found = Lines(path)
    names: dict[str, str] = {}
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as stream:
            rows = csv.reader(stream)
            if tuple(next(rows, ())) != COLUMNS:
                raise LogError(f"{path}: no line log: its head is not '{','.join(COLUMNS)}'")
            for line, job in rows:
                found.line.append(int(line or 0))
                found.job.append(names.setdefault(job, job))
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    except (ValueError, OverflowError, csv.Error) as error:
        raise LogError(f"{path}: row {len(found.job) + 1}: not a line and a job") from error
    return found
