# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp rows`: a command log, a GC log or a flash log as comma-separated values."""

from __future__ import annotations

import csv
import heapq
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from scarplib import whole_file
from scarplib.device_logs import command_log, flash_log, gc_log, line_log, log_file
from scarplib.errors import UserError

FIXED_COLUMNS = (
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
)
GC_COLUMNS: tuple[str, ...] = ("begin_ns", "end_ns", "die", "plane", "victim_block", "moved_units")
FLASH_COLUMNS = tuple(name for name, _ in flash_log.LAYOUT.columns)


@dataclass(frozen=True)
class Picks:
    """Which rows are wanted; without any of these, all."""

    # The slowest alone, these first.
    slowest: int = 0
    # Names of operations.
    ops: tuple[str, ...] = ()
    # Commands submitted, or collections begun, from one ns of the drive's clock to before another.
    between: tuple[int, int] | None = None
    # The replayer's line log; None: the one beside the log, if there is one.
    lines: Path | None = None
    # The name of the guest's job that sent a command, by its submission (ns) and operation.
    job: Callable[[int, str], str] | None = None

    @property
    def some(self) -> bool:
        """Whether rows are chosen by their times or operations."""
        return bool(self.slowest or self.ops or self.between)


ALL = Picks()


def command_columns(path: Path) -> tuple[str, ...]:
    """Names of a command log's columns."""
    return (*FIXED_COLUMNS, *(f"{name}_ns" for name in command_log.causes(path)))


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


def _with_lines(path: Path, picks: Picks) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """A command log's columns and rows, with the trace's line and the job if they are known."""
    beside = path.with_name(line_log.NAME)
    columns = command_columns(path)
    lines = picks.lines or (beside if path.name == "cmd.bin" and beside.is_file() else None)
    if not lines and picks.job:
        name, op = picks.job, columns.index("op")
        return (*columns, "job"), ((*row, name(row[0], row[op])) for row in _commands(path))
    if not lines:
        return columns, _commands(path)
    found = line_log.read(lines)
    order = columns.index("order")
    rows = ((*row, *found.of(row[order])) for row in _commands(path))
    return (*columns, *line_log.COLUMNS), rows


def _chosen(
    columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]], picks: Picks
) -> Iterator[tuple[Any, ...]]:
    if picks.ops:
        op = columns.index("op")
        rows = (row for row in rows if row[op] in picks.ops)
    if picks.between:
        first, last = picks.between
        rows = (row for row in rows if first <= row[0] < last)
    if picks.slowest:
        # Of equally slow ones the earlier in the log.
        rows = iter(heapq.nlargest(picks.slowest, rows, key=_took))
    return rows


def picked(path: Path, picks: Picks) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """Names of the columns, and the rows that are wanted."""
    if path.is_dir():
        if not (path / "cmd.bin").is_file():
            raise UserError(f"{path}: a folder without cmd.bin; name a log, or a scheme's folder")
        path /= "cmd.bin"
    kind = log_file.magic_of(path)
    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
    if kind != command_log.LAYOUT.magic and (picks.ops or picks.lines):
        raise UserError(f"{path}: {'--op' if picks.ops else '--lines'}: needs a command log")
    if kind == gc_log.LAYOUT.magic:
        columns, rows = GC_COLUMNS, gc_log.gc_rows(path)
    elif kind == command_log.LAYOUT.magic:
        columns, rows = _with_lines(path, picks)
    elif kind == flash_log.LAYOUT.magic:
        if picks.some:
            option = "--slowest" if picks.slowest else "--between"
            raise UserError(f"{path}: {option}: a flash log has no times; its command log has")
        columns, rows = FLASH_COLUMNS, _places(path)
    else:
        raise UserError(
            f"{path}: neither a command log, a GC log nor a flash log (begins with {kind!r})"
        )
    return columns, _chosen(columns, rows, picks)


def write(path: Path, out: TextIO, picks: Picks = ALL) -> None:
    """A head of column names, then a line for each row."""
    columns, rows = picked(path, picks)
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


def main(path: Path, out: Path | None, picks: Picks = ALL) -> int:
    """`scarp rows`, without --words."""
    return save(lambda stream: write(path, stream, picks), out, path)
