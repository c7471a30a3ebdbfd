# SPDX-License-Identifier: GPL-2.0-or-later
"""What a file system added to a job: write amplification of its own, and what it discarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scarplib.results import script
from scarplib.results.fio import load_fio
from scarplib.results.fio_figures import written_bytes
from scarplib.results.units import human_ns

# What a matrix shows: a label, and a column's value as text.
Metric = tuple[str, Callable[[dict[str, Any]], str]]


def figures(name: str, summary: dict[str, Any], folder: Path, unit_bytes: int) -> dict[str, Any]:
    """The file system's part of a summary."""
    stats = summary["stats"]
    if "script" in summary:
        job = script.written_bytes(folder)
    else:
        job = written_bytes(load_fio(folder / "fio.json"))
    return {
        "name": name,
        "job_bytes": job,
        "drive_bytes": stats["write_bytes"],
        "amplification": stats["write_bytes"] / job if job else None,
        "discards": stats["deallocates"],
        "discarded_bytes": stats["deallocated_units"] * unit_bytes,
    }


def _mib(value: int | None) -> str:
    return "–" if value is None else f"{value / (1 << 20):,.1f} MiB"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def rows(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The table's rows; none where no column has a file system."""
    of = [summary.get("file_system") for summary in summaries]
    if not any(of):
        return []
    there = [x or {} for x in of]
    return [
        ("file system", []),
        ("  which", [x.get("name", "–") for x in there]),
        ("  written by the job", [_mib(x.get("job_bytes")) for x in there]),
        ("  written to the drive", [_mib(x.get("drive_bytes")) for x in there]),
        ("  its write amplification", [_ratio(x.get("amplification")) for x in there]),
        ("  discards", [f"{x.get('discards', 0):,}" for x in there]),
        ("  discarded", [_mib(x.get("discarded_bytes")) for x in there]),
    ]


def _latency(direction: str, key: str) -> Callable[[dict[str, Any]], str]:
    return lambda summary: human_ns((summary["fio"].get(direction) or {}).get(key))


def _metrics(summaries: Sequence[dict[str, Any]]) -> list[Metric]:
    metrics: list[Metric] = []
    for direction, label in (("read", "reads"), ("write", "writes"), ("sync", "fsync")):
        if any(summary["fio"].get(direction) for summary in summaries):
            metrics.append((f"{label}: p50", _latency(direction, "p50_ns")))
            metrics.append((f"{label}: p99.9", _latency(direction, "p99.9_ns")))
    if any("script" in summary for summary in summaries):
        metrics.append(("the script's time", lambda s: human_ns(s["script"]["ns"])))
        names = {name for s in summaries for name in s.get("script", {}).get("operations", {})}
        for name in sorted(names):
            metrics.append((f"{name}: p99.9", partial(_operation, name)))
    metrics.append(("write amplification of the file system", _amplification))
    metrics.append(("write amplification of the drive", lambda s: _ratio(s["write_amplification"])))
    metrics.append(("discarded", lambda s: _mib(s["file_system"]["discarded_bytes"])))
    return metrics


def _operation(name: str, summary: dict[str, Any]) -> str:
    return human_ns(summary["script"]["operations"].get(name, {}).get("p99.9_ns"))


def _amplification(summary: dict[str, Any]) -> str:
    return _ratio(summary["file_system"]["amplification"])


def matrix(
    summaries: dict[str, dict[str, Any]],
) -> tuple[list[str], list[tuple[str, list[str]]]] | None:
    """Schemes as columns, and for each figure a row for each file system; None with only one."""
    found = [s for s in summaries.values() if s.get("file_system")]
    systems = list(dict.fromkeys(s["file_system"]["name"] for s in found))
    if len(systems) < 2:
        return None
    at: dict[tuple[str, str], dict[str, Any]] = {}
    for column, s in summaries.items():
        if of := s.get("file_system"):
            # The drive's log page, of which "scheme" is, has room for 31 letters of it.
            at[of["name"], column.removeprefix(f"{of['name']}-")] = s
    schemes = list(dict.fromkeys(scheme for _, scheme in at))
    out: list[tuple[str, list[str]]] = []
    for label, value in _metrics(found):
        out.append((label, []))
        for system in systems:
            cells = [value(at[system, x]) if (system, x) in at else "–" for x in schemes]
            out.append((f"  {system}", cells))
    return schemes, out
