# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run of power cuts prints and writes: a table, the stories of what failed, JSON."""

from __future__ import annotations

import statistics
from typing import Any

from scarplib.powercut.cuts import Cut, Tried
from scarplib.powercut.recording import Recording
from scarplib.results.units import human_ns

SCHEMA = "scarp-powercut-1"


def summary(recording: Recording, tried: Tried) -> dict[str, Any]:
    """All of it for programs."""
    ready = [cut.ready_ns for cut in tried.cuts if cut.ready_ns is not None]
    met = {cut.met for cut in tried.cuts if not cut.again}
    return {
        "schema": SCHEMA,
        "work": recording.work,
        "file_system": recording.file_system,
        "scheme": recording.scheme,
        "overrides": recording.overrides,
        "drives": len(recording.drives),
        "moments": tried.moments,
        "cuts": len(tried.cuts),
        "cut_twice": sum(cut.again is not None for cut in tried.cuts),
        "kinds": len(tried.kinds),
        "kinds_met": len(met & {kind["met"] for kind in tried.kinds}),
        "contents": len({cut.contents for cut in tried.cuts if cut.contents}),
        "torn_pages": sum(cut.torn_pages for cut in tried.cuts),
        "lost": sum(cut.lost_sectors > 0 for cut in tried.cuts),
        "ready_median_ns": int(statistics.median(ready)) if ready else None,
        "ready_worst_ns": max(ready, default=None),
        "violated": {"contract": [cut.name for cut in tried.cuts if cut.violations]},
        "interrupted": tried.interrupted,
        "manifest": recording.manifest,
    }


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    twice = f", {found['cut_twice']:,} of them twice" if found["cut_twice"] else ""
    return [
        ("moments of the run", f"{found['moments']:,}"),
        ("cuts", f"{found['cuts']:,}{twice}"),
        ("kinds of moments met", f"{found['kinds_met']} of {found['kinds']}"),
        ("distinct contents", f"{found['contents']:,}"),
        ("pages torn", f"{found['torn_pages']:,}"),
        ("cuts that lost completed writes", f"{found['lost']:,}"),
        ("time until ready, median", human_ns(found["ready_median_ns"])),
        ("time until ready, worst", human_ns(found["ready_worst_ns"])),
    ]


def table(found: dict[str, Any]) -> str:
    """For people."""
    rows = _rows(found)
    for name, cuts in found["violated"].items():
        rows.append((f"violated: {name}", f"{len(cuts):,}"))
    width = max(len(label) for label, _ in rows)
    right = max(len(value) for _, value in rows)
    return "\n".join(f"{label:{width}}  {value:>{right}}" for label, value in rows)


def story(cut: Cut) -> str:
    """Of one cut that broke the contract."""
    lines = [f"cut {cut.name}, at {cut.at_ns} ns: the power failed during: {cut.met}"]
    for drive, text in enumerate(cut.stories):
        if text:
            lines.append(f"  drive {drive}: {text}" if len(cut.stories) > 1 else f"  {text}")
    if cut.fault:
        lines.append(f"  a fault of the drive: {cut.fault}")
    return "\n".join(lines)
