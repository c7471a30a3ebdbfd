# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's JSON: what the guest saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import LogError
from scarplib.results.percentiles import PERCENTILES, binned_percentile


def load_fio(path: Path) -> dict[str, Any]:
    """The file; whatever it prints before the first brace is skipped."""
    try:
        text = path.read_text()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    start = text.find("{")
    try:
        result: dict[str, Any] = json.loads(text[start:] if start >= 0 else text)
    except ValueError as error:
        raise LogError(f"{path}: not fio's JSON: {error}") from error
    if not result.get("jobs"):
        raise LogError(f"{path}: no job in fio's result")
    for job in result["jobs"]:
        if job.get("error"):
            raise LogError(f"{path}: job {job.get('jobname')} failed with error {job['error']}")
    return result


def written_bytes(fio: dict[str, Any]) -> int:
    """What all jobs have written."""
    return sum(job.get("write", {}).get("io_bytes", 0) for job in fio["jobs"])


def _add_bins(bins: dict[int, int], part: dict[str, Any]) -> None:
    """A job's histogram of one direction; it may be of one kind of latency only."""
    binned: dict[str, int] = next(
        (part[k]["bins"] for k in ("lat_ns", "clat_ns") if part.get(k, {}).get("bins")), {}
    )
    for value, number in binned.items():
        bins[int(value)] = bins.get(int(value), 0) + number


def share_later(fio: dict[str, Any], direction: str, limit_ns: int) -> float | None:
    """Of a direction's I/Os, those in fio's bins above the limit: 0 to 1; None: it has none."""
    bins: dict[int, int] = {}
    for job in fio["jobs"]:
        _add_bins(bins, job.get(direction, {}))
    total = sum(bins.values())
    return sum(n for value, n in bins.items() if value > limit_ns) / total if total else None


def fio_direction(fio: dict[str, Any], direction: str) -> dict[str, Any] | None:
    """One direction of all jobs: IOPS add up, latencies merge by fio's own bins (json+)."""
    count = 0
    iops = mean_sum = 0.0
    maximum = 0
    bins: dict[int, int] = {}
    for job in fio["jobs"]:
        part = job.get(direction, {})
        total = part.get("lat_ns", {})
        # Of what was made durable ("sync") fio counts fsync, but not fdatasync.
        ios = total.get("N", 0) if direction == "sync" else part.get("total_ios", 0)
        if not ios:
            continue
        # Jobs may be told to keep percentiles of one kind of latency only.
        lat = total if total.get("N") else part.get("clat_ns", total)
        count += ios
        # Of what was made durable ("sync") fio gives no rate.
        iops += part.get("iops", 0)
        mean_sum += lat["mean"] * ios
        maximum = max(maximum, lat["max"])
        _add_bins(bins, part)
    if not count:
        return None
    out: dict[str, Any] = {
        "count": count,
        "iops": round(iops, 3),
        "mean_ns": round(mean_sum / count),
        "max_ns": maximum,
    }
    if bins:
        total = sum(bins.values())
        for percent in PERCENTILES:
            out[f"p{percent}_ns"] = binned_percentile(bins, total, percent)
    return out
