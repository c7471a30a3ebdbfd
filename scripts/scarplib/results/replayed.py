# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay in numbers, in the form of a guest's run: the same table and the same report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scarplib.device_logs.command_log import READ, WRITE, read_commands
from scarplib.device_logs.gc_log import read_gc_runs
from scarplib.device_logs.log_file import LogError
from scarplib.results.causes import TAIL_PERMILLE, tail_causes
from scarplib.results.percentiles import PERCENTILES
from scarplib.results.summary import SchemeData, device_direction, write_amplification

# Of the summary.json of replays.
SCHEMA = "scarp-replays-1"
# What scarp-replay's JSON calls the tail that the table explains.
_TAIL = "slowest_0_1_percent"


def _direction(latency: dict[str, Any], span_ns: int) -> dict[str, Any] | None:
    """From the drive's own histogram, whose steps are at most 1/128 wide."""
    if not latency["n"]:
        return None
    points = {f"p{p}_ns": latency[f"p{p.replace('.', '_')}_ns"] for p in PERCENTILES}
    return {
        "count": latency["n"],
        "iops": _rate(latency["n"], span_ns),
        "mean_ns": latency["mean_ns"],
        **points,
        "max_ns": latency["max_ns"],
    }


def _rate(count: int, span_ns: int) -> float:
    return round(count * 1e9 / max(span_ns, 1), 3)


def _tail(latency: dict[str, Any]) -> dict[str, Any] | None:
    tail = latency[_TAIL]
    if not tail["n"]:
        return None
    causes: dict[str, int] = tail["cause_ns"]
    return {
        "count": tail["n"],
        "mean_ns": sum(causes.values()) // tail["n"],
        "fastest_ns": tail["at_least_ns"],
        "cause_ns": causes,
    }


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Of scarp-replay's JSON alone: no log is needed, however long the workload was."""
    stats = result["stats"]
    span = result["drive_ns"]
    latencies = {direction: stats[f"{direction}_latency"] for direction in ("read", "write")}
    return {
        "scheme": result["scheme"],
        "virtual_ns": span,
        "device": {name: _direction(latency, span) for name, latency in latencies.items()},
        "tail_causes": {
            "permille": TAIL_PERMILLE,
            **{name: _tail(latency) for name, latency in latencies.items()},
        },
        "gc_runs": stats["gc_runs"],
        "gc_pages_moved": stats["gc_page_programs"],
        "gc_units_moved": stats["gc_moved_units"],
        "write_amplification": write_amplification(stats),
        "stats": stats,
        "wall_s": result["wall_s"],
    }


def load(folder: Path, name: str) -> SchemeData:
    """A scheme that was replayed with its logs: the numbers are of the commands themselves."""
    path = folder / "replay.json"
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise LogError(f"{path}: {error}") from error
    try:
        return _load(folder, name, result)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise LogError(f"{path}: is not what scarp-replay writes: {error!r}") from error


def _load(folder: Path, name: str, result: dict[str, Any]) -> SchemeData:
    commands = read_commands(folder / "cmd.bin")
    # Those of the warm-up are not measured: the rest is the last so many to be submitted.
    measured = sorted(commands.submit)[-result["measured"] :]
    if measured[0] > min(commands.submit):
        commands = read_commands(folder / "cmd.bin", measured[0])
    begin, end = min(commands.submit), max(commands.complete)
    whole = summary(result)
    whole["begin_ns"], whole["end_ns"] = begin, end
    whole["device"] = {}
    for direction, op in (("read", READ), ("write", WRITE)):
        found = device_direction(commands, op)
        if found:
            found["iops"] = _rate(found["count"], end - begin)
        whole["device"][direction] = found
        whole["tail_causes"][direction] = tail_causes(commands, op)
    runs = read_gc_runs(folder / "gc.bin", begin, end)
    return SchemeData(name, folder, begin, end, commands, runs, result["stats"], whole)
