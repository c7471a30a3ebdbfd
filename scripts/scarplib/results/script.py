# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script of the user's left: how long it took, and the latencies that it took down itself.

`latencies` among its files has a line for each of its operations: a name and nanoseconds; a number
behind these says how many operations the line is of.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scarplib.device_logs import log_page
from scarplib.device_logs.log_file import LogError
from scarplib.results.percentiles import PERCENTILES, percentile

LATENCIES = Path("files") / "latencies"
# Of all lines together: each operation is a number in memory.
_MOST = 10_000_000


def operations(path: Path) -> dict[str, list[int]]:
    """Sorted latencies by the operation's name; empty if the script took none down."""
    if not path.is_file():
        return {}
    found: dict[str, list[int]] = {}
    total = 0
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = re.fullmatch(r"(\S+)\s+(\d{1,19})(?:\s+(\d{1,7}))?", line.strip())
        if not (match and match[1].isprintable()):
            raise LogError(
                f"{path}: line {number}: '{line[:40]}' is not NAME NANOSECONDS, or NAME "
                "NANOSECONDS COUNT (at most 7 digits)"
            )
        total += int(match[3] or 1)
        if total > _MOST:
            raise LogError(f"{path}: line {number}: more than {_MOST:,} operations up to here")
        found.setdefault(match[1], []).extend([int(match[2])] * int(match[3] or 1))
    return {name: sorted(values) for name, values in found.items() if values}


def _numbers(ordered: list[int]) -> dict[str, Any]:
    return {
        "count": len(ordered),
        "mean_ns": sum(ordered) // len(ordered),
        "max_ns": ordered[-1],
        **{f"p{percent}_ns": percentile(ordered, percent) for percent in PERCENTILES},
    }


def written_bytes(folder: Path) -> int | None:
    """What its processes handed to write(), from the start mark to its end; None: unknown."""
    try:
        first, last = (int((folder / f"written-{x}").read_text()) for x in ("begin", "end"))
    except (OSError, ValueError):
        return None
    # The script may have written these files itself.
    return last - first if 0 <= first <= last < 1 << 64 else None


def load(folder: Path) -> dict[str, Any] | None:
    """The script's part of a summary; None if a fio job ran."""
    if not (folder / "script.log").is_file():
        return None
    begin = log_page.read(folder / "stats-begin.bin").now_ns
    end = log_page.read(folder / "stats-done.bin").now_ns
    of = {name: _numbers(values) for name, values in operations(folder / LATENCIES).items()}
    return {"ns": end - begin, "written_bytes": written_bytes(folder), "operations": of}
