# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's figures as a summary has them: of all jobs where they ran together, else of each group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scarplib.results.fio import DIRECTIONS, FioRun, Job, Part, Unit
from scarplib.results.percentiles import PERCENTILES, binned_percentile

# What a summary has of every run, if only as None.
_ALWAYS = ("read", "write")


def _parts(jobs: Iterable[Job], direction: str) -> list[Part]:
    return [job.parts[direction] for job in jobs if direction in job.parts]


def _bins(parts: Iterable[Part]) -> dict[int, int]:
    bins: dict[int, int] = {}
    for part in parts:
        for value, number in part.latencies.bins.items():
            bins[value] = bins.get(value, 0) + number
    return bins


def share_later(run: FioRun, direction: str, limit_ns: int) -> float | None:
    """Of a direction's I/Os, those in fio's bins above the limit: 0 to 1; None: it has none."""
    bins = _bins(_parts(run.jobs, direction))
    total = sum(bins.values())
    return sum(n for value, n in bins.items() if value > limit_ns) / total if total else None


def written_bytes(run: FioRun) -> int | None:
    """What all jobs have written; None: one has counted its reads with its writes alone."""
    if any("mixed" in job.parts and "write" not in job.parts for job in run.jobs):
        return None
    return sum(part.bytes for part in _parts(run.jobs, "write"))


def _page_cache(jobs: Sequence[Job], direction: str) -> str | None:
    """Whether "all" or "some" of a direction's calls end in the page cache."""
    if direction == "sync":
        return None
    cached = [job.cached for job in jobs if direction in job.parts]
    return "all" if all(cached) else "some" if any(cached) else None


def figures(jobs: Sequence[Job], direction: str) -> dict[str, Any] | None:
    """One direction of jobs that ran together: IOPS add up, latencies merge by fio's own bins
    (json+).  None: they did nothing of it."""
    parts = _parts(jobs, direction)
    if not parts:
        return None
    count = sum(part.ios for part in parts)
    out: dict[str, Any] = {
        "count": count,
        # What was made durable ("sync") has no rate.
        "iops": round(sum(part.iops for part in parts), 3),
        "mean_ns": round(sum(part.latencies.mean * part.ios for part in parts) / count),
        "max_ns": max(part.latencies.maximum for part in parts),
    }
    if bins := _bins(parts):
        total = sum(bins.values())
        for percent in PERCENTILES:
            out[f"p{percent}_ns"] = binned_percentile(bins, total, percent)
    if cached := _page_cache(jobs, direction):
        out["page_cache"] = cached
    return out


def of_jobs(jobs: Sequence[Job]) -> dict[str, Any]:
    """Every direction that they have something of, and reads and writes in any case."""
    found = {direction: figures(jobs, direction) for direction in DIRECTIONS}
    return {name: part for name, part in found.items() if part or name in _ALWAYS}


def _listed(units: Sequence[Unit]) -> list[dict[str, Any]]:
    return [{"name": unit.name, "fio": of_jobs(unit.jobs)} for unit in units]


def summed_up(run: FioRun) -> dict[str, Any]:
    """fio's part of a summary.

    `fio`: of all jobs together, and None for each direction where they took turns.  `groups`: each
    group by itself, if there are several or if the only one's jobs took turns.  `jobs`: each job by
    itself, where these are others than the groups.
    """
    out: dict[str, Any] = {"fio": of_jobs(run.jobs if run.together else ())}
    units, apart = run.units(), run.jobs_apart()
    if len(units) > 1 or not run.together:
        out["groups"] = _listed(units)
    if len(apart) > len(units):
        out["jobs"] = _listed(apart)
    return out
