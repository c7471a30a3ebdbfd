# SPDX-License-Identifier: GPL-2.0-or-later
"""How far cells are: in guests or replays, of which a cell may have many, and the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# What a column's folder has once its guest, or its replay, has ended.
_ENDS = ("stats-end.bin", "stats-end-0.bin", "replay.json")


def _ended(folder: Path) -> int:
    """How many columns of a cell that runs have ended."""
    return len({path.parent for name in _ENDS for path in folder.glob(f"*/{name}")})


@dataclass(frozen=True)
class Amount:
    """Work that is counted: `of_cell` of `unit`s in each cell."""

    cells: list[Path]
    unit: str = "cells"
    of_cell: int = 1

    @property
    def total(self) -> int:
        """Of all cells."""
        return len(self.cells) * self.of_cell

    def done(self) -> int:
        """With those of cells that are not done yet: they are in the cell's folder, N.run."""
        done = 0
        for cell in self.cells:
            if cell.exists():
                done += self.of_cell
            elif self.of_cell > 1:
                done += min(self.of_cell, _ended(cell.with_suffix(".run")))
        return done

    def whole(self) -> bool:
        """Is each cell's result there?  It comes some time after its last column has ended."""
        return all(cell.exists() for cell in self.cells)

    def text(self) -> str:
        """As in "3 of 8 guests"."""
        return f"{self.done()} of {self.total} {self.unit}"


def time_left(seconds: float) -> str:
    """Rounded to what such an estimate is worth."""
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name} left"
    return f"{seconds / 3600:.1f} h left"


def line(amount: Amount, before: int, seconds: float) -> str:
    """After so many seconds, in which all were done but those `before`.

    The time left supposes that the others take as long; nobody knows before the first has ended.
    """
    done, total = amount.done(), amount.total
    left = ", the last results are being written" if done == total and not amount.whole() else ""
    if before < done < total:
        left = f", {time_left(seconds / (done - before) * (total - done))}"
    return f"[{'=' * (20 * done // total):20}] {amount.text()}{left}"


def _show(amount: Amount, stop: threading.Event) -> None:
    """One line on a terminal; elsewhere one at the begin, and then a line a minute."""
    begun, last, before, width = time.monotonic(), -60.0, amount.done(), 0
    while not stop.wait(0.5):
        spent = time.monotonic() - begun
        if sys.stderr.isatty():
            text = line(amount, before, spent)
            print("\r" + text.ljust(width), end="", file=sys.stderr, flush=True)
            width = len(text)
        elif spent - last >= 60:
            last = spent
            print(line(amount, before, spent), file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)


@contextmanager
def shown(
    amount: Amount, show: Callable[[Amount, threading.Event], None] = _show
) -> Iterator[None]:
    """On the standard error, as long as it lasts."""
    stop = threading.Event()
    thread = threading.Thread(target=show, args=(amount, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
