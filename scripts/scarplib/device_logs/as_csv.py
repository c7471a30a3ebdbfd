# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp rows`: a command log, a GC log or a flash log as comma-separated values."""

from __future__ import annotations

import csv
import heapq
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from scarplib import whole_file
from scarplib.device_logs import command_log, flash_log, gc_log, log_file
from scarplib.errors import UserError

COMMAND_COLUMNS = (
    "submit_ns",
    "complete_ns",
    "latency_ns",
    "op",
    "offset_bytes",
    "length_bytes",
    "status",
    "unseen",
    "stream",
    "nsid",
    "fua",
    "order",
    "deadline_ns",
    *(f"{name}_ns" for name in command_log.CAUSES),
)
GC_COLUMNS: tuple[str, ...] = ("begin_ns", "end_ns", "die", "plane", "victim_block", "moved_units")
FLASH_COLUMNS = tuple(name for name, _ in flash_log.LAYOUT.columns)


def _commands(path: Path) -> Iterator[tuple[Any, ...]]:
    for row in command_log.command_rows(path):
        submit, complete, offset, length, op, status, stream, nsid, order, deadline = row[
            : command_log.FIXED
        ]
        yield (
            submit,
            complete,
            complete - submit,
            command_log.OPS[op] if op < len(command_log.OPS) else op,
            offset,
            length,
            status & ~command_log.UNSEEN,
            int(bool(status & command_log.UNSEEN)),
            stream,
            nsid,
            int(bool(order & command_log.ORDER_FUA)),
            order & command_log.ORDER_SEQ,
            deadline,
            *row[command_log.FIXED :],
        )


def _places(path: Path) -> Iterator[tuple[Any, ...]]:
    """Empty for a command that needed no flash."""
    for row in log_file.rows(path, flash_log.LAYOUT):
        yield tuple("" if value == flash_log.NOWHERE else value for value in row)


def _took(row: tuple[Any, ...]) -> int:
    """Of a command log's and a GC log's rows: they begin with when it began and when it ended."""
    return int(row[1] - row[0])


def picked(path: Path, slowest: int) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Names of the columns, and the rows; or the slowest of them, these first."""
    if path.is_dir():
        if not (path / "cmd.bin").is_file():
            raise UserError(f"{path}: a folder without cmd.bin; name a log, or a scheme's folder")
        path /= "cmd.bin"
    kind = log_file.magic_of(path)
    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    if kind == gc_log.LAYOUT.magic:
        columns, rows = GC_COLUMNS, gc_log.gc_rows(path)
    elif kind == command_log.LAYOUT.magic:
        columns, rows = COMMAND_COLUMNS, _commands(path)
    elif kind == flash_log.LAYOUT.magic:
        if slowest:
            raise UserError(f"{path}: --slowest: a flash log has no times; its command log has")
        columns, rows = FLASH_COLUMNS, _places(path)
    else:
        raise UserError(
            f"{path}: neither a command log, a GC log nor a flash log (begins with {kind!r})"
        )
    if slowest:
        # Of equally slow ones the earlier in the log.
        rows = iter(heapq.nlargest(slowest, rows, key=_took))
    return columns, rows


def write(path: Path, out: TextIO, slowest: int = 0) -> None:
    """A head of column names, then a line for each row."""
    columns, rows = picked(path, slowest)
    # A log of another layout is found out before anything is written.
    first = list(itertools.islice(rows, 1))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(itertools.chain(first, rows))


def save(write_to: Callable[[TextIO], None], out: Path | None, path: Path) -> int:
    """Into the file `out`, or to standard output, what is made of the log `path`."""
    try:
        if not out:
            write_to(sys.stdout)
            return 0
        whole_file.check("-o", out, path, path / "cmd.bin")
        with whole_file.writing("-o", out) as stream:
            write_to(stream)
    except log_file.LogError as error:
        raise UserError(str(error)) from error
    return 0


def main(path: Path, out: Path | None, slowest: int = 0) -> int:
    """`scarp rows`, without --words."""
    return save(lambda stream: write(path, stream, slowest), out, path)
