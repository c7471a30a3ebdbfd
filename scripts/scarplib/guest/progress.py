# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress of running guests, read from the files that their drives keep mapped."""

from __future__ import annotations

import re
import shutil
import struct
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

_LAYOUT = struct.Struct("<3Q")
# A kernel reads a few sectors while it boots, to look for partitions.
_OF_BOOTING = 8


def expected_commands(job: str) -> int | None:
    """How many I/Os a fio job will do, where its sections say so with number_ios."""
    inherited: int | None = None
    current = "global"
    sections: dict[str, int | None] = {}
    for raw in job.splitlines():
        line = raw.split(";", 1)[0].split("#", 1)[0].strip()
        if match := re.fullmatch(r"\[(.+)\]", line):
            current = match.group(1)
            if current != "global":
                sections.setdefault(current, inherited)
        elif match := re.fullmatch(r"number_ios\s*=\s*(\d+)", line):
            if current == "global":
                inherited = int(match.group(1))
            else:
                sections[current] = int(match.group(1))
    counts = [count for count in sections.values() if count is not None]
    return sum(counts) if counts and len(counts) == len(sections) else None


@dataclass
class Watcher:
    """Prints one line for all guests: rewritten on a terminal, every few seconds elsewhere."""

    files: dict[str, Path]
    expected: int | None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    # Which time the drives are on.
    clock: str = "virtual"
    # Guests that need no watching any more.
    ended: set[str] = field(default_factory=set)
    # Guests that have done more than boot: the start mark sets their counts to 0 again.
    _booted: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watcher:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread
        self._thread.join()

    def line(self, seconds: float) -> str:
        """What is known `seconds` of wall time after the start."""
        parts = [f"{len(self.ended)} of {len(self.files)} done"] if self.ended else []
        waiting = 0
        for name, path in self.files.items():
            if name in self.ended:
                continue
            if not path.parent.is_dir():
                waiting += 1
                continue
            try:
                now_ns, commands, gc_runs = _LAYOUT.unpack(path.read_bytes()[: _LAYOUT.size])
            except (OSError, struct.error):
                parts.append(f"{name}: starting")
                continue
            if commands > _OF_BOOTING:
                self._booted.add(name)
            what = self._work(commands, gc_runs) if name in self._booted else "booting"
            parts.append(f"{name}: {now_ns / 1e9:.1f} s {self.clock}, {what}")
        if waiting:
            parts.append(f"{waiting} waiting")
        return f"  {seconds:4.0f} s  " + " | ".join(parts)

    def _work(self, commands: int, gc_runs: int) -> str:
        share = f" ({min(100, commands * 100 // self.expected)} %)" if self.expected else ""
        return f"{commands:,} I/Os{share}, {gc_runs:,} GCs"

    def _watch(self) -> None:
        start = time.monotonic()
        terminal = self.stream.isatty()
        width = 0
        while not self._stop.wait(0.5 if terminal else 5):
            text = self.line(time.monotonic() - start)
            if terminal:
                # A line that wrapped could not be written over.
                text = text[: shutil.get_terminal_size().columns - 1]
                self.stream.write("\r" + text.ljust(width))
                width = len(text)
            else:
                self.stream.write(text + "\n")
            self.stream.flush()
        if terminal and width:
            self.stream.write("\r" + " " * width + "\r")
            self.stream.flush()
