# SPDX-License-Identifier: GPL-2.0-or-later
"""The command log: a row for each command of the host, in the order of completion.

Its columns are described in docs/model.md; the writers are hw/flash-log.c and ftl/replay/cmdlog.c.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.device_logs import engine_tables
from scarplib.device_logs.log_file import Layout, LogError, rows

# The order of ScarpOp.
OPS = ("read", "write", "write_zeroes", "deallocate", "flush")
READ, WRITE = 0, 1
CAUSES = engine_tables.causes()

LAYOUT = Layout(
    b"SCARPCM1",
    2,
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
    ),
    len(CAUSES),
)
FIXED = len(LAYOUT.columns)  # columns before the causes
# Of the last of them.
ORDER_SEQ = (1 << 30) - 1
ORDER_FUA = 1 << 31
# Of its status: the guest ended before the command did.
UNSEEN = 0x80


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
    # One array (ns) for each cause, in the order of CAUSES.
    causes: list[array[int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.submit)

    def indices(self, op: int) -> list[int]:
        """Where the commands of one kind are."""
        return [i for i, code in enumerate(self.op) if code == op]

    def latencies(self, op: int) -> list[int]:
        """Nanoseconds from submission to completion."""
        return [self.complete[i] - self.submit[i] for i in self.indices(op)]


def command_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Rows as stored.  Checked: the causes add up to the latency."""
    for number, row in enumerate(rows(path, LAYOUT)):
        submit, complete = row[:2]
        if sum(row[FIXED:]) != complete - submit:
            raise LogError(
                f"{path}: row {number}: causes add up to {sum(row[FIXED:])} ns, "
                f"the latency is {complete - submit} ns"
            )
        yield row


def read_commands(
    path: Path, begin: int | None = None, end: int | None = None, unseen: bool = False
) -> Commands:
    """The commands submitted in [begin, end] (virtual ns).

    With `unseen`, also those that ended after the guest: a replay needs them.
    """
    out = Commands(causes=[array("q") for _ in CAUSES])
    for fields in command_rows(path):
        submit, complete, offset, length, op, status, stream, nsid, order = fields[:FIXED]
        if status & UNSEEN and not unseen:
            continue
        if (begin is not None and submit < begin) or (end is not None and submit > end):
            continue
        out.submit.append(submit)
        out.complete.append(complete)
        out.op.append(op)
        out.status.append(status & ~UNSEEN)
        out.nsid.append(nsid)
        out.offset.append(offset)
        out.length.append(length)
        out.stream.append(stream)
        out.fua.append(bool(order & ORDER_FUA))
        out.order.append(order & ORDER_SEQ)
        for column, value in zip(out.causes, fields[FIXED:], strict=True):
            column.append(value)
    return out
