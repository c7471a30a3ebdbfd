# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's JSON: what the guest saw.

The guest has written it, and may have written anything: what is used of it is checked when it is
loaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import LogError
from scarplib.results.percentiles import PERCENTILES, binned_percentile

# What fio counts, and what it takes down of each latency.
_DIRECTIONS = ("read", "write", "sync")
_KINDS = ("lat_ns", "clat_ns")
_MOST = 1 << 63


def _object(parent: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    found = parent.get(key, {})
    if not isinstance(found, dict):
        raise LogError(f"{where}{key}: an object is expected")
    return found


def _check_numbers(part: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        value = part.get(key, 0)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not 0 <= value < _MOST:
            raise LogError(f"{where}{key}: a number from 0 on is expected")


def _check_bins(bins: dict[str, Any], where: str) -> None:
    for value, count in bins.items():
        if not (value.isascii() and value.isdigit() and len(value) < 20):
            raise LogError(f"{where}bins: nanoseconds are expected, not {value[:40]!r}")
        if type(count) is not int or not 0 <= count < _MOST:
            raise LogError(f"{where}bins: {value}: a count is expected")


def _check_job(job: Any, where: str) -> None:
    if not isinstance(job, dict):
        raise LogError(f"{where} an object is expected")
    for direction in _DIRECTIONS:
        part = _object(job, direction, where)
        inside = f"{where}{direction}."
        _check_numbers(part, ("total_ios", "io_bytes", "iops"), inside)
        for kind in _KINDS:
            latencies = _object(part, kind, inside)
            _check_numbers(latencies, ("N", "mean", "max"), f"{inside}{kind}.")
            _check_bins(_object(latencies, "bins", f"{inside}{kind}."), f"{inside}{kind}.")


def load_fio(path: Path) -> dict[str, Any]:
    """The file; whatever it prints before the first brace is skipped."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    start = text.find("{")
    try:
        result: Any = json.loads(text[start:] if start >= 0 else text)
    except (ValueError, RecursionError) as error:
        raise LogError(f"{path}: not fio's JSON: {error}") from error
    jobs = result.get("jobs") if isinstance(result, dict) else None
    if not jobs or not isinstance(jobs, list):
        raise LogError(f"{path}: no job in fio's result")
    for number, job in enumerate(jobs):
        _check_job(job, f"{path}: jobs[{number}].")
        if job.get("error"):
            raise LogError(f"{path}: job {job.get('jobname')} failed with error {job['error']}")
    return dict(result)


def written_bytes(fio: dict[str, Any]) -> int:
    """What all jobs have written."""
    return sum(job.get("write", {}).get("io_bytes", 0) for job in fio["jobs"])


def _latencies(part: dict[str, Any]) -> dict[str, Any]:
    """Of one kind: a job may have a histogram of the other one only, as fio has by itself, and a
    mean of the time from handing an I/O over says nothing of percentiles from its issue on."""
    found: dict[str, Any] = next(
        (part[k] for k in _KINDS if part.get(k, {}).get("bins")),
        part.get("lat_ns", {}) if part.get("lat_ns", {}).get("N") else part.get("clat_ns", {}),
    )
    return found


def _add_bins(bins: dict[int, int], part: dict[str, Any]) -> None:
    """A job's histogram of one direction."""
    for value, number in _latencies(part).get("bins", {}).items():
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
        lat = _latencies(part)
        count += ios
        # Of what was made durable ("sync") fio gives no rate.
        iops += part.get("iops", 0)
        mean_sum += lat.get("mean", 0) * ios
        maximum = max(maximum, lat.get("max", 0))
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
