# SPDX-License-Identifier: GPL-2.0-or-later
"""What else kept the host busy while a guest ran on its clock: a line each time it is asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

# Of the file; host_ns is CLOCK_MONOTONIC, as in the lateness log.
HEAD = "host_ns,busy_permille,stolen_permille,qemu_permille"


@dataclass
class _Moment:
    ns: int
    busy: int
    stolen: int
    all: int
    qemu: int


def _ticks(pid: int) -> _Moment:
    """Processor time so far, in the kernel's ticks."""
    cpu = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, stolen = cpu[3] + cpu[4], cpu[7]
    # The name in parentheses may itself hold any character.
    own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return _Moment(
        time.clock_gettime_ns(time.CLOCK_MONOTONIC),
        sum(cpu) - idle - stolen,
        stolen,
        sum(cpu),
        int(own[11]) + int(own[12]),
    )


@dataclass
class HostLoad:
    """Shares of all of the host's processor time; QEMU's is a part of what is busy."""

    path: Path
    # A tick is 10 ms: shorter stretches would be rough.
    every_ns: int = 200_000_000
    _stream: TextIO | None = None
    _last: _Moment | None = field(default=None)

    def sample(self, pid: int) -> None:
        """Write what has been since the last line, if that was long enough ago."""
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if self._last and now_ns < self._last.ns + self.every_ns:
            return
        now = _ticks(pid)
        if not self._stream:
            self._stream = self.path.open("w")
            self._stream.write(f"{HEAD}\n")
        last, self._last = self._last, now
        total = now.all - last.all if last else 0
        if not last or total <= 0:
            return
        shares = (now.busy - last.busy, now.stolen - last.stolen, now.qemu - last.qemu)
        cells = (now.ns, *(1000 * ticks // total for ticks in shares))
        self._stream.write(",".join(map(str, cells)) + "\n")

    def close(self) -> None:
        """Write out what is buffered."""
        if self._stream:
            self._stream.close()
