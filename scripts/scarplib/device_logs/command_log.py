# SPDX-License-Identifier: GPL-2.0-or-later
"""The command log: a row for each command of the host, in the order of completion.

Its columns are described in docs/logs.md; the writers are hw/flash-log.c and ftl/replay/cmdlog.c.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from operator import sub
from pathlib import Path
from typing import Any

from scarplib.device_logs import engine_tables
from scarplib.device_logs.log_file import (
    HEADER,
    Layout,
    LogError,
    causes_of,
    check,
    chunks,
    rows,
)

# The order of ScarpOp.
OPS = ("read", "write", "write_zeroes", "deallocate", "flush")
READ, WRITE, DEALLOCATE, FLUSH = 0, 1, 3, 4
CAUSES = engine_tables.causes()
# Of drives with an SLC cache or a temperature; the logs of other drives lack the last ones.
ALL_CAUSES = CAUSES + engine_tables.part_causes()

LAYOUT = Layout(
    b"SCARPCM1",
    3,
    (
        ("submit", "q"),
        ("complete", "q"),
        ("offset", "Q"),
        ("length", "I"),
        ("op", "B"),
        ("status", "B"),
        ("stream", "H"),
        ("nsid", "I"),
        ("order", "I"),
        ("deadline", "q"),
    ),
    len(CAUSES),
)
_LAYOUT_ALL = replace(LAYOUT, causes=len(ALL_CAUSES))
FIXED = len(LAYOUT.columns)  # columns before the causes
# Of the last of them.
ORDER_SEQ = (1 << 30) - 1
ORDER_FUA = 1 << 31
# Of its status: the guest ended before the command did.
UNSEEN = 0x80


def layout(path: Path) -> Layout:
    """That of the command log at `path`, which depends on what its drive has."""
    return _LAYOUT_ALL if causes_of(path) == _LAYOUT_ALL.causes else LAYOUT


def causes(path: Path) -> tuple[str, ...]:
    """The causes that the command log at `path` has, in the order of its columns."""
    return ALL_CAUSES[: layout(path).causes]


@dataclass
class Commands:
    """Columns of a command log; times are virtual ns, offset and length are bytes."""

    submit: array[int] = field(default_factory=lambda: array("q"))
    complete: array[int] = field(default_factory=lambda: array("q"))
    op: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    nsid: array[int] = field(default_factory=lambda: array("I"))
    offset: array[int] = field(default_factory=lambda: array("Q"))
    stream: array[int] = field(default_factory=lambda: array("H"))
    fua: bytearray = field(default_factory=bytearray)
    # Submission order among commands of one submit time.
    order: array[int] = field(default_factory=lambda: array("I"))
    length: array[int] = field(default_factory=lambda: array("I"))
    # Nanoseconds after the submission; 0: none.
    deadline: array[int] = field(default_factory=lambda: array("q"))
    # One array (ns) for each cause of the log, in the order of ALL_CAUSES.
    causes: list[array[int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.submit)

    def by_cause(self) -> dict[str, array[int]]:
        """The arrays of the causes that the log has, by their names."""
        return dict(zip(ALL_CAUSES, self.causes, strict=False))

    def indices(self, op: int) -> list[int]:
        """Where the commands of one kind are."""
        return [i for i, code in enumerate(self.op) if code == op]

    def latencies(self, op: int) -> list[int]:
        """Nanoseconds from submission to completion."""
        return [self.complete[i] - self.submit[i] for i in self.indices(op)]

    def select(self, wanted: Sequence[bool]) -> Commands:
        """Those of them that are wanted, in the same order."""
        if all(wanted):
            return self

        def chosen(column: Any) -> Any:
            kept = compress(column, wanted)
            return (
                bytearray(kept) if isinstance(column, bytearray) else array(column.typecode, kept)
            )

        columns = {x.name: getattr(self, x.name) for x in fields(self) if x.name != "causes"}
        return Commands(
            **{name: chosen(column) for name, column in columns.items()},
            causes=[chosen(column) for column in self.causes],
        )


def command_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Rows as stored.  Checked: the causes add up to the latency."""
    for number, row in enumerate(rows(path, layout(path))):
        submit, complete = row[:2]
        if sum(row[FIXED:]) != complete - submit:
            raise LogError(
                f"{path}: row {number}: causes add up to {sum(row[FIXED:])} ns, "
                f"the latency is {complete - submit} ns"
            )
        yield row


def end_ns(path: Path) -> int:
    """When the last row's command completed: rows are in that order.  0 of an empty log."""
    kind = layout(path)
    check(path, kind)
    with path.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) == HEADER.size:
            return 0
        stream.seek(-kind.row.size, os.SEEK_END)
        complete: int = kind.row.unpack(stream.read())[1]
        return complete


def _columns(chunk: bytes, layout: Layout) -> list[array[int]]:
    """Rows taken apart, all of a column at once: a loop over the rows would be slower."""
    codes = [code for _, code in layout.columns] + ["q"] * layout.causes
    views = {code: array(code, chunk) for code in set(codes)}
    columns, at = [], 0
    for code in codes:
        # Every column lies at a multiple of its own size.
        size = views[code].itemsize
        columns.append(views[code][at // size :: layout.row.size // size])
        at += size
    return columns


def _check(path: Path, columns: list[array[int]], first: int) -> None:
    """The causes of each row add up to its latency."""
    latencies = map(sub, columns[1], columns[0])
    totals = map(sum, zip(*columns[FIXED:], strict=True))
    for number, (total, latency) in enumerate(zip(totals, latencies, strict=True)):
        if total != latency:
            raise LogError(
                f"{path}: row {first + number}: causes add up to {total} ns, "
                f"the latency is {latency} ns"
            )


def read_commands(
    path: Path, begin: int | None = None, end: int | None = None, unseen: bool = False
) -> Commands:
    """The commands submitted in [begin, end] (virtual ns).

    With `unseen`, also those that ended after the guest: a replay needs them.
    """
    kind = layout(path)
    found = [array(code) for _, code in kind.columns]
    found += [array("q") for _ in range(kind.causes)]
    low = 0 if begin is None else begin
    high = 2**63 if end is None else end
    first = 0
    for chunk in chunks(path, kind):
        columns = _columns(chunk, kind)
        _check(path, columns, first)
        first += len(columns[0])
        # Of a command that the guest did not see end, the highest bit of the status is set.
        most = 0xFF if unseen else UNSEEN - 1
        wanted = [
            low <= submit <= high and status <= most
            for submit, status in zip(columns[0], columns[5], strict=True)
        ]
        if not all(wanted):
            columns = [array(column.typecode, compress(column, wanted)) for column in columns]
        for kept, column in zip(found, columns, strict=True):
            kept.extend(column)
    submit, complete, offset, length, op, status, stream, nsid, order, deadline = found[:FIXED]
    return Commands(
        submit=submit,
        complete=complete,
        op=bytearray(op),
        status=bytearray(value & ~UNSEEN for value in status),
        nsid=nsid,
        offset=offset,
        stream=stream,
        fua=bytearray(value >= ORDER_FUA for value in order),
        order=array("I", (value & ORDER_SEQ for value in order)),
        length=length,
        deadline=deadline,
        causes=found[FIXED:],
    )
