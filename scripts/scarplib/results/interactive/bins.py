# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page shows of very many commands.

Zoomed out, a command is less than a pixel: bins of time say how many there were and how long they
took.  Zoomed in, commands are shown one by one: all the slow ones, and a sample of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
# Commands that a page keeps one by one, of all schemes together: some 30 bytes each.
KEPT = 300_000
# Of those kept of a scheme that has more, so much is its slowest; the rest is a sample.
SLOW_SHARE = 0.75
# Bins of the coarsest level, how many times finer the next one is, commands in a bin of the finest.
COARSEST, FINER, COMMANDS_IN_BIN = 512, 4, 8
FINEST = 1 << 15


@dataclass(frozen=True)
class Bins:
    """Bins that are not empty, in the order of time; latencies in ns, by nearest rank."""

    width_ns: int
    number: Column
    count: Column
    lowest: Column
    p50: Column
    p99: Column
    highest: Column


def levels(commands: int) -> list[int]:
    """Into how many bins the time is divided, from coarse to fine."""
    out = [COARSEST]
    while out[-1] * FINER <= min(FINEST, commands // COMMANDS_IN_BIN):
        out.append(out[-1] * FINER)
    return out


def bins(times: Column, latencies: Column, number: int, span: int) -> Bins:
    """Commands by their time since the begin (ns), in at most `number` equal bins of `span`."""
    width = span // number + 1
    which = times // width
    order = np.lexsort((latencies, which))
    which, ordered = which[order], latencies[order]
    first = np.flatnonzero(np.diff(which, prepend=-1))
    count = np.diff(first, append=len(which))
    # Nearest rank: of n values the one at the rank ⌈n · p⌉.
    rank50, rank99 = -(-count // 2) - 1, -(-count * 99 // 100) - 1
    return Bins(
        width,
        which[first],
        count,
        ordered[first],
        ordered[first + rank50],
        ordered[first + rank99],
        ordered[first + count - 1],
    )


def kept(ops: Column, latencies: Column, limit: int) -> Column:
    """Which commands to keep, in order: all if there are no more than `limit`; else of each kind
    its slowest, and of the others every so many-th."""
    total = len(ops)
    if total <= limit:
        return np.arange(total)
    parts = []
    for op in np.unique(ops):
        mine = np.flatnonzero(ops == op)
        room = max(1, limit * len(mine) // total)
        slow = max(1, int(room * SLOW_SHARE))
        order = np.argsort(-latencies[mine], kind="stable")
        parts.append(mine[order[:slow]])
        others = np.sort(mine[order[slow:]])
        if room > slow:
            parts.append(others[:: -(-len(others) // (room - slow))])
    return np.sort(np.concatenate(parts))
