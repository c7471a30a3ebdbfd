# SPDX-License-Identifier: GPL-2.0-or-later
"""The lateness log of a drive on the host's clock: a row for each completion that was posted.

The writer is hw/flash-lateness.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scarplib.device_logs.log_file import Layout, rows

LAYOUT = Layout(
    b"SCARPRT1",
    0,
    (
        # When the doorbell was seen, and when the completion queue's entry was written.
        ("arrived", "q"),
        ("posted", "q"),
        # As in the command log: when the engine took it, and when the model ended it.
        ("submit", "q"),
        ("complete", "q"),
        # CLOCK_MONOTONIC of the host at `posted`.
        ("host", "q"),
        ("seq", "I"),
        ("op", "B"),
        ("flags", "B"),
        ("reserved", "H"),
    ),
)
# A flag: only a part of an NVMe command has ended.
_PART = 1


@dataclass(frozen=True)
class Completion:
    """Times of the drive in ns."""

    arrived: int
    posted: int
    submit: int
    complete: int
    host: int
    seq: int
    op: int
    part: bool

    @property
    def late_ns(self) -> int:
        """What the guest waited longer than the model wanted."""
        return (self.posted - self.arrived) - (self.complete - self.submit)


def completions(path: Path) -> Iterator[Completion]:
    """In the order in which they were posted."""
    for arrived, posted, submit, complete, host, seq, op, flags, _ in rows(path, LAYOUT):
        yield Completion(arrived, posted, submit, complete, host, seq, op, bool(flags & _PART))
