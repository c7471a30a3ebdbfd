# SPDX-License-Identifier: GPL-2.0-or-later
"""The table that a run prints: a column for each scheme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scarplib.errors import printable
from scarplib.results import file_system, guest_drive_join, host_rows, lateness
from scarplib.results.units import human_ns


def _wall_label(schemes: Iterable[dict[str, Any]]) -> str:
    return "  wall (boot included)" if all("fio" in s for s in schemes) else "  wall"


def table_rows(schemes: dict[str, dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Rows of (label, one cell for each scheme); a row without cells is a heading."""
    listed = list(schemes.values())
    rows: list[tuple[str, list[str]]] = host_rows.host_rows(listed)
    rows += operation_rows(listed)
    rows += host_rows.job_rows(listed)
    rows += guest_drive_join.rows(list(schemes.values()))
    rows += file_system.rows(list(schemes.values()))
    ramp = any(s.get("ramp") for s in listed)
    rows.append(("drive, with fio's ramp" if ramp else "drive", []))
    rows.append(("  GC runs", [f"{s['gc_runs']:,}" for s in schemes.values()]))
    rows.append(("  pages moved", [f"{s['gc_pages_moved']:,}" for s in schemes.values()]))
    amplification = [s["write_amplification"] for s in schemes.values()]
    rows.append(
        ("  write amplification", ["–" if a is None else f"{a:.3f}" for a in amplification])
    )
    rows += mapping_rows([s.get("stats", {}) for s in schemes.values()])
    rows += lateness.rows(list(schemes.values()))
    rows.append(("time", []))
    clock = lateness.clock(schemes.values())
    if any("script" in s for s in schemes.values()):
        took = [s["script"]["ns"] if "script" in s else None for s in schemes.values()]
        rows.append((f"  of the script, {clock}", [human_ns(ns) for ns in took]))
    rows.append((f"  {clock}", [f"{s['virtual_ns'] / 1e9:.3f} s" for s in schemes.values()]))
    rows.append(
        (
            _wall_label(schemes.values()),
            [f"{s['wall_s']:.1f} s" if "wall_s" in s else "–" for s in schemes.values()],
        )
    )
    return rows


def operation_rows(schemes: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What was made durable, and what a script took down itself: latencies by operation."""
    rows = host_rows.durable_rows(schemes)
    of = [s.get("script", {}).get("operations", {}) for s in schemes]
    for name in dict.fromkeys(name for each in of for name in each):
        rows.append((f"{name} (the script's)", []))
        rows += host_rows.figure_rows([each.get(name) for each in of], rate=False)
    return rows


def mapping_rows(stats: Sequence[Mapping[str, int]]) -> list[tuple[str, list[str]]]:
    """What the drive's mapping did, if it is not `page`: merges, entries that were in RAM."""
    rows = []
    merges = {k: [s.get(f"{k}_merges", 0) for s in stats] for k in ("switch", "partial", "full")}
    if any(any(counts) for counts in merges.values()):
        rows += [(f"  {kind} merges", [f"{n:,}" for n in n_s]) for kind, n_s in merges.items()]
    hits = [s.get("map_hits", 0) for s in stats]
    asked = [n + s.get("map_misses", 0) for n, s in zip(hits, stats, strict=True)]
    if any(asked):
        shares = [f"{100 * n / of:.1f} %" if of else "–" for n, of in zip(hits, asked, strict=True)]
        rows.append(("  mapping entries in RAM", shares))
    return rows


def columns(names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Rows of (label, one cell for each name) below the names; a row without cells is a heading.

    A label may have the name of a script's operation, out of a summary of anybody's.
    """
    rows = [(printable(label), cells) for label, cells in rows]
    label_width = max(len(label) for label, _ in rows)
    widths = [
        max(len(name), *(len(cells[i]) for _, cells in rows if cells))
        for i, name in enumerate(names)
    ]
    head = " ".join(f"{name:>{w + 2}}" for name, w in zip(names, widths, strict=True))
    lines = [" " * label_width + head]
    for label, cells in rows:
        line = f"{label:<{label_width}}"
        line += " ".join(f"{cell:>{w + 2}}" for cell, w in zip(cells, widths, strict=False))
        lines.append(line.rstrip())
    return "\n".join(lines)


def table_text(schemes: dict[str, dict[str, Any]]) -> str:
    """The rows in columns."""
    return columns(list(schemes), table_rows(schemes))
