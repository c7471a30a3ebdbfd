# SPDX-License-Identifier: GPL-2.0-or-later
"""How far latencies spread: what papers about worst cases and deadlines ask of a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from scarplib.device_logs.command_log import CAUSES, WRITE

DEADLINES_MS = (10, 20, 30, 40, 50)
CAUSES_OF_MS = 30
SLOTS = 120
TENTHS = 10

Rows = np.ndarray[Any, np.dtype[Any]]


def spread(rows: Rows, logged: Rows) -> dict[str, Any]:
    """Of all requests: deviation, the worst, how many are beyond each deadline, and why.

    `logged`: the same with the warm-up, for the worst latency over time.
    """
    latency = rows["complete"] - rows["submit"]
    late = rows[latency > CAUSES_OF_MS * 1_000_000]["cause"].sum(axis=0)
    return {
        "io_sd_ns": float(latency.std()) if len(rows) else None,
        "io_max_ns": int(latency.max()) if len(rows) else None,
        "beyond": {str(ms): int((latency > ms * 1_000_000).sum()) for ms in DEADLINES_MS},
        "late_causes_ns": dict(zip(CAUSES, (int(c) for c in late), strict=True)),
        **_over_time(logged),
    }


def by_use(logged: Rows, logical_bytes: int) -> dict[str, Any]:
    """Requests, and those beyond 30 ms, by tenths of the drive in use before them; in the last
    tenth, those beyond each deadline.

    In use: the share of the logical space that requests before it wrote, from an empty drive on.
    """
    unit = 4096
    written = np.zeros(-(-logical_bytes // unit), bool)
    used = 0
    number, late = [0] * TENTHS, [0] * TENTHS
    full = dict.fromkeys(DEADLINES_MS, 0)
    for row in logged[["op", "offset", "length", "submit", "complete"]]:
        tenth = min(TENTHS - 1, used * TENTHS // len(written))
        number[tenth] += 1
        latency = int(row["complete"] - row["submit"])
        late[tenth] += latency > CAUSES_OF_MS * 1_000_000
        for ms in DEADLINES_MS if tenth == TENTHS - 1 else ():
            full[ms] += latency > ms * 1_000_000
        if row["op"] == WRITE:
            first = int(row["offset"]) // unit
            part = written[first : -(-(int(row["offset"]) + int(row["length"])) // unit)]
            used += len(part) - int(part.sum())
            part[:] = True
    return {
        "use_n": number,
        "use_late": late,
        "full_beyond": {str(ms): late for ms, late in full.items()},
    }


def _over_time(rows: Rows) -> dict[str, Any]:
    """The worst latency and the bytes of each of equal slots, by when a request arrived."""
    if not len(rows):
        return {}
    begin = int(rows["submit"].min())
    slot_ns = max(1, -(-(int(rows["submit"].max()) + 1 - begin) // SLOTS))
    slot = (rows["submit"] - begin) // slot_ns
    worst = np.zeros(SLOTS, np.int64)
    np.maximum.at(worst, slot, rows["complete"] - rows["submit"])
    size = np.bincount(slot, weights=rows["length"], minlength=SLOTS)
    return {
        "slot_ns": slot_ns,
        "slot_worst_ns": [int(w) for w in worst],
        "slot_bytes": [int(b) for b in size],
    }
