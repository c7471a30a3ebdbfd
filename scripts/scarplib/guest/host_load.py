# SPDX-License-Identifier: GPL-2.0-or-later
"""How busy the host was while a guest ran on its clock: at most a line every 200 ms."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

# Of the file; host_ns is CLOCK_MONOTONIC, as in the lateness log.
HEAD = "host_ns,busy_permille,stolen_permille,qemu_permille"


@dataclass(frozen=True)
class HostTicks:
    """Of the host's processor time since it began, in the kernel's ticks; `stolen` is not busy."""

    busy: int
    stolen: int
    all: int


def host_ticks() -> HostTicks:
    """As they are now, of all cores."""
    cpu = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, stolen = cpu[3] + cpu[4], cpu[7]
    return HostTicks(sum(cpu) - idle - stolen, stolen, sum(cpu))


@dataclass(frozen=True)
class Stretch:
    """A line of the file: between two looks, shares of all of the host's processor time."""

    begin_ns: int
    end_ns: int
    busy_permille: int
    stolen_permille: int
    qemu_permille: int

    @property
    def idle(self) -> bool:
        """Nobody else had work here: another machine nothing, and other programs next to nothing.

        A kernel's tick, in which all is counted, is 25 permille of two cores' 200 ms.
        """
        return not self.stolen_permille and self.busy_permille - self.qemu_permille <= 50


def stretches(path: Path) -> Iterator[Stretch]:
    """Of a file; when the first began is not known, so it is empty."""
    before = None
    with path.open() as stream:
        for row in csv.DictReader(stream):
            cells = {name: int(cell) for name, cell in row.items()}
            end = cells.pop("host_ns")
            yield Stretch(before or end, end, **cells)
            before = end


@dataclass(frozen=True)
class _Moment:
    ns: int
    host: HostTicks
    qemu: int


@dataclass
class HostLoad:
    """Shares of all of the host's processor time; QEMU's is a part of what is busy."""

    path: Path
    # A tick is 10 ms: shorter stretches would be rough.
    every_ns: int = 200_000_000
    _stream: TextIO | None = None
    _last: _Moment | None = field(default=None)

    def sample(self, used_s: float) -> None:
        """Write what has been since the last line, if that was long enough ago.

        QEMU has used so much processor time.
        """
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if self._last and now_ns < self._last.ns + self.every_ns:
            return
        now = _Moment(now_ns, host_ticks(), round(used_s * os.sysconf("SC_CLK_TCK")))
        if not self._stream:
            self._stream = self.path.open("w")
            self._stream.write(f"{HEAD}\n")
        last, self._last = self._last, now
        total = now.host.all - last.host.all if last else 0
        if not last or total <= 0:
            return
        busy, stolen = now.host.busy - last.host.busy, now.host.stolen - last.host.stolen
        shares = (busy, stolen, now.qemu - last.qemu)
        cells = (now.ns, *(1000 * ticks // total for ticks in shares))
        self._stream.write(",".join(map(str, cells)) + "\n")

    def close(self) -> None:
        """Write out what is buffered."""
        if self._stream:
            self._stream.close()
