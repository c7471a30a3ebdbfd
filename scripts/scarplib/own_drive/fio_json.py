# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's own results (--output-format=json) as rows of a table of measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.own_drive.cited import Row
from scarplib.own_drive.plan import KIB, MIB

_SUFFIXES = {"k": KIB, "m": MIB, "g": 1024 * MIB}
_POINTS = {"p50": "50.000000", "p90": "90.000000", "p99": "99.000000"}


def size(text: str) -> int:
    """fio's 4k, 1m, 512, 64KiB; 0 for nothing."""
    text = text.strip().lower().removesuffix("ib").removesuffix("b")
    if not text:
        return 0
    scale = _SUFFIXES.get(text[-1], 1)
    return int(text[:-1] if scale > 1 else text) * scale


def _of_direction(text: str, write: bool) -> str:
    """Of READ,WRITE,TRIM; one value is for all."""
    parts = text.split(",")
    return parts[1] if write and len(parts) > 1 else parts[0]


def _latencies(found: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """fio's total latencies if it was told to record their percentiles, else completions."""
    for name in ("lat_ns", "clat_ns"):
        points = found.get(name, {}).get("percentile", {})
        if points:
            have = {short: float(points[key]) for short, key in _POINTS.items() if key in points}
            return float(found[name]["mean"]), have
    return float(found.get("lat_ns", {}).get("mean", 0)), {}


def rows(path: Path) -> list[Row]:
    """A row for each job and direction in which it did anything; each job is a run of its own."""
    try:
        whole = json.loads(path.read_text())
        found = []
        for number, job in enumerate(whole["jobs"], 1):
            options = {**whole.get("global options", {}), **job["job options"]}
            for kind in ("read", "write"):
                done = job[kind]
                if not done["total_ios"]:
                    continue
                write = kind == "write"
                order = "rand" if options.get("rw", "").startswith("rand") else ""
                mean, points = _latencies(done)
                found.append(
                    Row(
                        file=f"{path.name}, job {number}",
                        use="held",
                        rw=f"{order}{kind}",
                        bs=size(_of_direction(options.get("bs", "4k"), write)),
                        depth=int(options.get("iodepth", 1)),
                        jobs=int(options.get("numjobs", 1)),
                        rate=size(_of_direction(options.get("rate", ""), write)),
                        iops=float(done["iops"]),
                        kib_per_s=float(done["bw"]),
                        mean=mean,
                        points=points,
                    )
                )
        return found
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: is no JSON of fio's: {error!r}") from error
