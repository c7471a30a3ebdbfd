# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp rows --words`: a line for each command, which says what it waited for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from scarplib.device_logs import as_csv
from scarplib.device_logs.command_log import ALL_CAUSES
from scarplib.errors import UserError
from scarplib.results.causes import labels, merges
from scarplib.results.units import human_ns
from scarplib.scheme_text import column_in

# So many causes of a command are named, and no smaller share of its time, in percent.
_MOST, _LEAST = 3, 1


def _merging(log: Path) -> bool:
    """Whether the run that the log is of has counted merges; without its summary: no."""
    folder = (log if log.is_dir() else log.parent).resolve()
    try:
        schemes = json.loads((folder.parent / "summary.json").read_text())["schemes"]
        return merges([schemes[column_in(schemes, folder.name)]])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _what(row: dict[str, Any]) -> str:
    if not row["length_bytes"]:
        return str(row["op"])
    size = row["length_bytes"]
    words = f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} bytes"
    return f"{row['op']} of {words} at {row['offset_bytes']}"


def _from(row: dict[str, Any]) -> str:
    """Where a replayed command came from."""
    line = f", line {row['line']}" if row.get("line") else ""
    return line + (f", job {row['job']}" if row.get("job") else "")


def _why(row: dict[str, Any], words: dict[str, str]) -> str:
    total = row["latency_ns"] or 1
    found = {name: row.get(f"{name}_ns", 0) for name in ALL_CAUSES}
    shares = sorted(((100 * ns / total, name) for name, ns in found.items()), reverse=True)
    named = [f"{share:.0f} % {words[name]}" for share, name in shares[:_MOST] if share >= _LEAST]
    return ", ".join(named)


def lines(log: Path, picks: as_csv.Picks) -> Iterator[str]:
    """Of a command log or a GC log.  A moment is written as `scarp timeline --around` takes it."""
    columns, rows = as_csv.picked(log, picks)
    if columns == as_csv.FLASH_COLUMNS:
        raise UserError(f"{log}: --words: a flash log has no times; its command log has")
    words = labels(_merging(log))
    for values in rows:
        row = dict(zip(columns, values, strict=True))
        if columns != as_csv.GC_COLUMNS:
            took = human_ns(row["latency_ns"])
            yield f"{row['submit_ns']} ns: {_what(row)}{_from(row)}: {took}: {_why(row, words)}"
        else:
            took = human_ns(row["end_ns"] - row["begin_ns"])
            block = f"block {row['victim_block']} of plane {row['plane']} on die {row['die']}"
            yield f"{row['begin_ns']} ns: {block}: {took}: {row['moved_units']} units moved"


def main(log: Path, out: Path | None, picks: as_csv.Picks) -> int:
    """To the file `out`, or to standard output."""

    def write(stream: TextIO) -> None:
        for line in lines(log, picks):
            stream.write(line + "\n")

    return as_csv.save(write, out, log)
