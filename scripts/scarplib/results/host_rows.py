# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of a table on what the host saw, and what the drive saw of the same: by direction, by group.

Where fio ran, the host's figures are its own: of all jobs where they ran together, and of each
group where there are several.  Calls that end in the guest's page cache are not the drive's
commands, and are called otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scarplib.results.causes import SMALL_SHARE, TAIL_PERMILLE, labels, merges, tail_shares
from scarplib.results.percentiles import PERCENTILES, has
from scarplib.results.summary import seen
from scarplib.results.units import human_ns

Row = tuple[str, list[str]]
# By their names in a summary: what fio counts, and what the drive does of it.
PLURALS = {
    "read": "reads",
    "write": "writes",
    "trim": "trims",
    "mixed": "reads, writes and trims as one",
    "sync": "fsync",
}
AT_DRIVE = {"read": "reads", "write": "writes", "trim": "deallocations", "flush": "flushes"}
_CACHED = {"all": ", through the page cache", "some": ", some through the page cache"}


def units(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By name, the figures of what ran together: "" is the whole, the others are groups."""
    found: dict[str, dict[str, Any]] = {}
    if any(seen(summary).values()):
        found[""] = seen(summary)
    found.update({group["name"]: group["fio"] for group in summary.get("groups", ())})
    return found


def populations(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """(unit, direction) of which a summary has something, in the table's order."""
    of = [units(summary) for summary in summaries]
    names = list(dict.fromkeys(name for each in of for name in each))
    return [
        (name, direction)
        for name in names
        for direction in PLURALS
        if any(each.get(name, {}).get(direction) for each in of)
    ]


def label(summaries: Sequence[dict[str, Any]], unit: str, direction: str) -> str:
    """What a population is called: "second: writes, through the page cache"."""
    found = [units(s).get(unit, {}).get(direction) or {} for s in summaries]
    kinds = {part.get("page_cache") for part in found if part}
    cached = _CACHED["all" if kinds == {"all"} else "some"] if kinds - {None} else ""
    return f"{unit}: {PLURALS[direction]}{cached}" if unit else f"{PLURALS[direction]}{cached}"


def latency(values: dict[str, Any], key: str) -> str:
    """A percentile that is the greatest of so few values is in the row of that one alone."""
    percent = key.removeprefix("p").removesuffix("_ns")
    count = values.get("count")
    # The median of one is what it is called.
    if percent in PERCENTILES[1:] and count and not has(percent, count):
        return "–"
    return human_ns(values.get(key))


def figure_rows(parts: Sequence[dict[str, Any] | None], rate: bool = True) -> list[Row]:
    """IOPS, or where there is no rate how many, and latencies."""
    there = [part or {} for part in parts]
    if rate and any("iops" in part for part in there):
        rows = [("  IOPS", [f"{p['iops']:,.0f}" if "iops" in p else "–" for p in there])]
    else:
        rows = [("  count", [f"{p.get('count', 0):,}" for p in there])]
    keys = [("mean", "mean_ns"), *((f"p{p}", f"p{p}_ns") for p in PERCENTILES), ("max", "max_ns")]
    for name, key in keys:
        rows.append((f"  {name}", [latency(part, key) for part in there]))
    return rows


def tail_rows(summaries: Sequence[dict[str, Any]], direction: str) -> list[Row]:
    """What the slowest of the drive's commands waited for; none where no column has one."""
    tails = [s.get("tail_causes", {}).get(direction) for s in summaries]
    if not any(tails):
        return []
    shares = [tail_shares(tail) for tail in tails]
    words = labels(merges(summaries))
    named = [name for name in words if any(s.get(name, 0) >= SMALL_SHARE for s in shares)]
    title = f"slowest {TAIL_PERMILLE / 10:g} % of {AT_DRIVE[direction]}: their time"
    rows: list[Row] = [(title, [])]
    rows.append(("  mean of them", [human_ns(tail["mean_ns"]) if tail else "–" for tail in tails]))
    for name in named:
        cells = [f"{s.get(name, 0):.0f} %" if s else "–" for s in shares]
        rows.append((f"  {words[name]}", cells))
    rest = [100 - sum(s.get(name, 0) for name in named) if s else None for s in shares]
    rows.append(("  anything else", ["–" if r is None else f"{abs(r):.0f} %" for r in rest]))
    return rows


def _of_drive(summaries: Sequence[dict[str, Any]], direction: str) -> list[Row]:
    """The drive's commands of a direction, where the host's figures are not theirs, and their
    tail."""
    parts = [s.get("device", {}).get(direction) for s in summaries]
    if not any(parts):
        return []
    own = [seen(s).get(direction) for s in summaries]
    scripts = any("script" in s for s in summaries)
    same = any(own) and not any((part or {}).get("page_cache") for part in own)
    rows: list[Row] = []
    if direction == "flush" or (not same and not scripts):
        rows.append((f"{AT_DRIVE[direction]} at the drive", []))
        rows += figure_rows(parts, rate=direction != "flush")
    return rows + tail_rows(summaries, direction)


def host_rows(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """All of it, but for what was made durable."""
    rows: list[Row] = []
    scripts = any("script" in s for s in summaries)
    found = [at for at in populations(summaries) if at[1] != "sync"]
    listed = list(dict.fromkeys(["read", "write", "trim", *(of for _, of in found)]))
    for direction in listed:
        for unit in (unit for unit, of in found if of == direction):
            said = label(summaries, unit, direction)
            rows.append((f"{said} at the drive" if scripts else said, []))
            rows += figure_rows([units(s).get(unit, {}).get(direction) for s in summaries])
        rows += _of_drive(summaries, direction)
    return rows


def durable_rows(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """Calls that made data durable, and the drive's flushes."""
    rows: list[Row] = []
    for unit, direction in populations(summaries):
        if direction == "sync":
            rows.append((label(summaries, unit, direction), []))
            parts = [units(s).get(unit, {}).get(direction) for s in summaries]
            rows += figure_rows(parts, rate=False)
    return rows + _of_drive(summaries, "flush")


def job_rows(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """Of jobs that ran together, each by itself, in short."""
    of = [{job["name"]: job["fio"] for job in s.get("jobs", ())} for s in summaries]
    names = list(dict.fromkeys(name for each in of for name in each))
    rows: list[Row] = [("each job by itself", [])] if names else []
    for name in names:
        for direction, plural in PLURALS.items():
            parts = [each.get(name, {}).get(direction) or {} for each in of]
            if not any(parts):
                continue
            if direction != "sync":
                rates = [f"{p['iops']:,.0f}" if p else "–" for p in parts]
                rows.append((f"  {name}, {plural}: IOPS", rates))
            rows.append((f"  {name}, {plural}: p50", [latency(p, "p50_ns") for p in parts]))
            rows.append((f"  {name}, {plural}: p99.9", [latency(p, "p99.9_ns") for p in parts]))
    return rows
