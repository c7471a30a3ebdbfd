# SPDX-License-Identifier: GPL-2.0-or-later
"""The table that a run prints: a column for each scheme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scarplib.errors import printable
from scarplib.results import file_system, guest_drive_join, lateness
from scarplib.results.causes import SMALL_SHARE, TAIL_PERMILLE, labels, merges, tail_shares
from scarplib.results.percentiles import PERCENTILES, has
from scarplib.results.summary import seen
from scarplib.results.units import human_ns


def _latency(values: dict[str, Any], key: str) -> str:
    """A percentile that is the greatest of so few values is in the row of that one alone."""
    percent = key.removeprefix("p").removesuffix("_ns")
    count = values.get("count")
    # The median of one is what it is called.
    if percent in PERCENTILES[1:] and count and not has(percent, count):
        return "–"
    return human_ns(values.get(key))


def _cell(summary: dict[str, Any], direction: str, key: str) -> str:
    values = seen(summary)[direction]
    if not values:
        return "–"
    if key == "iops":
        return f"{values['iops']:,.0f}"
    return _latency(values, key)


def _wall_label(schemes: Iterable[dict[str, Any]]) -> str:
    return "  wall (boot included)" if all("fio" in s for s in schemes) else "  wall"


def _tail_rows(schemes: dict[str, dict[str, Any]], direction: str) -> list[tuple[str, list[str]]]:
    tails = [s["tail_causes"][direction] for s in schemes.values()]
    shares = [tail_shares(tail) for tail in tails]
    words = labels(merges(schemes.values()))
    named = [name for name in words if any(s.get(name, 0) >= SMALL_SHARE for s in shares)]
    rows: list[tuple[str, list[str]]] = []
    rows.append((f"slowest {TAIL_PERMILLE / 10:g} % of {direction}s: their time", []))
    rows.append(("  mean of them", [human_ns(tail["mean_ns"]) if tail else "–" for tail in tails]))
    for name in named:
        cells = [f"{s.get(name, 0):.0f} %" if s else "–" for s in shares]
        rows.append((f"  {words[name]}", cells))
    rest = [100 - sum(s.get(name, 0) for name in named) if s else None for s in shares]
    rows.append(("  anything else", ["–" if r is None else f"{abs(r):.0f} %" for r in rest]))
    return rows


def table_rows(schemes: dict[str, dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Rows of (label, one cell for each scheme); a row without cells is a heading."""
    rows: list[tuple[str, list[str]]] = []
    latencies = [("mean", "mean_ns"), *((f"p{p}", f"p{p}_ns") for p in PERCENTILES)]
    for direction in ("read", "write"):
        if not any(seen(s)[direction] for s in schemes.values()):
            continue
        scripts = any("script" in s for s in schemes.values())
        rows.append((f"{direction}s at the drive" if scripts else f"{direction}s", []))
        for label, key in [("IOPS", "iops"), *latencies, ("max", "max_ns")]:
            rows.append((f"  {label}", [_cell(s, direction, key) for s in schemes.values()]))
        rows += _tail_rows(schemes, direction)
    rows += operation_rows(list(schemes.values()))
    rows += guest_drive_join.rows(list(schemes.values()))
    rows += file_system.rows(list(schemes.values()))
    rows.append(("drive", []))
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
    found: dict[str, list[dict[str, Any]]] = {}
    if any(seen(s).get("sync") for s in schemes):
        found["fsync"] = [seen(s).get("sync") or {} for s in schemes]
    of = [s.get("script", {}).get("operations", {}) for s in schemes]
    for name in dict.fromkeys(name for each in of for name in each):
        found[f"{name} (the script's)"] = [each.get(name, {}) for each in of]
    rows: list[tuple[str, list[str]]] = []
    for name, values in found.items():
        rows.append((name, []))
        rows.append(("  count", [f"{v.get('count', 0):,}" for v in values]))
        keys = [("mean", "mean_ns"), *((f"p{p}", f"p{p}_ns") for p in PERCENTILES)]
        for label, key in [*keys, ("max", "max_ns")]:
            rows.append((f"  {label}", [_latency(v, key) for v in values]))
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
