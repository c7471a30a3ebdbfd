# SPDX-License-Identifier: GPL-2.0-or-later
"""What the workload was promised, and when: lines of `scarp-promise`, on the drive's clock."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

# Of nanoseconds in 64 bits.
_MOST_DIGITS = 19


@dataclass(frozen=True)
class Promises:
    """In the order in which they were given."""

    times: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()

    def before(self, at_ns: int) -> str:
        """Those that count if power fails then."""
        count = bisect.bisect_left(self.times, at_ns)
        return "".join(f"{line}\n" for line in self.lines[:count])

    def last(self, at_ns: int) -> str | None:
        """The newest of them."""
        count = bisect.bisect_left(self.times, at_ns)
        return self.lines[count - 1] if count else None


def read(path: Path) -> Promises:
    """None, if the workload has left no such file."""
    if not path.is_file():
        return Promises()
    found = []
    # What a promise says may have any character but the one that ends its line.
    text = path.read_bytes().decode(errors="replace")
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        time, space, _ = line.partition(" ")
        if not (space and time.isascii() and time.isdecimal() and len(time) <= _MOST_DIGITS):
            raise UserError(
                f"{path}:{number}: {line[:60]!a} is no line of scarp-promise: NANOSECONDS TEXT"
            )
        found.append((int(time), line))
    # Of several processes; at one time as they stand.
    found.sort(key=lambda each: each[0])
    return Promises(tuple(time for time, _ in found), tuple(line for _, line in found))
