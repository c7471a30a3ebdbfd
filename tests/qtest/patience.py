# SPDX-License-Identifier: GPL-2.0-or-later
"""How long one waits for a program before it counts as hung."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

# A thread in one of these waits for something that is no processor and no disk, or has ended.
ASLEEP = frozenset("SITtZX")
PAUSE_S = 0.0005
# Between two looks at its threads, of which each costs some reads of files.
WATCH_S = 0.02


def processor_s(pid: int, proc: Path = Path("/proc")) -> float:
    """What a program has used of processors; 0 if it is no more."""
    try:
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Patience:
    """Seconds that a program had, and did not use: a busy host takes none of them.

    A second counts if all threads of the program slept in it, or if they spent it on processors.
    It does not if one of them waited for a processor or for a disk.
    """

    def __init__(self, pid: int, seconds: float, proc: Path = Path("/proc")) -> None:
        self._pid, self._proc = pid, proc
        self._left = seconds
        self._used = processor_s(pid, proc)

    def _asleep(self) -> bool:
        try:
            for thread in (self._proc / str(self._pid) / "task").iterdir():
                if (thread / "stat").read_text().rpartition(")")[2].split()[0] not in ASLEEP:
                    return False
        except OSError:
            pass  # a thread that ends, or the last one
        return True

    def spend(self, seconds: float) -> bool:
        """So long it has just been waited for; false when that is enough."""
        used = processor_s(self._pid, self._proc)
        self._left -= max(used - self._used, 0.0)
        self._used = used
        if self._asleep():
            self._left -= seconds
        return self._left > 0

    def looks(self) -> Iterator[None]:
        """A turn for each look at what is waited for, with a pause between two."""
        waited = 0.0
        while True:
            yield
            time.sleep(PAUSE_S)
            waited += PAUSE_S
            if waited >= WATCH_S:
                if not self.spend(waited):
                    return
                waited = 0.0
