# SPDX-License-Identifier: GPL-2.0-or-later
"""The GC log: a row for each collection, in the order in which they ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import Layout, rows

LAYOUT = Layout(
    b"SCARPGC1",
    0,
    (("begin", "q"), ("end", "q"), ("die", "I"), ("plane", "I"), ("block", "I"), ("moved", "I")),
)


@dataclass(frozen=True)
class GcRun:
    """A collection: when (virtual ns), where, of which block, and how many units it moved."""

    begin: int
    end: int
    die: int
    plane: int
    block: int
    moved: int


def gc_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Rows as stored."""
    return rows(path, LAYOUT)


def read_gc_runs(path: Path, begin: int | None = None, end: int | None = None) -> list[GcRun]:
    """GC runs that overlap [begin, end] (virtual ns), in the order of their begin."""
    runs = [GcRun(*fields) for fields in gc_rows(path)]
    runs = [
        run
        for run in runs
        if (begin is None or run.end >= begin) and (end is None or run.begin <= end)
    ]
    return sorted(runs, key=lambda run: (run.begin, run.end, run.plane))
