# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in numbers: what fio saw, what the device logged, and what they were caused by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs import changes, log_page
from scarplib.device_logs.command_log import READ, WRITE, Commands, read_commands
from scarplib.device_logs.gc_log import GcRun, read_gc_runs
from scarplib.device_logs.log_file import LogError
from scarplib.results import block_trace, guest_drive_join, lateness, script
from scarplib.results.causes import TAIL_PERMILLE, tail_causes
from scarplib.results.fio import fio_direction, load_fio
from scarplib.results.percentiles import PERCENTILES, percentile
from scarplib.scheme_text import split

SCHEMA = "scarp-summary-1"


@dataclass
class SchemeData:
    """Everything that the report draws for one scheme."""

    name: str
    folder: Path
    begin_ns: int
    end_ns: int
    commands: Commands
    gc_runs: list[GcRun]
    stats: dict[str, int]
    summary: dict[str, Any]
    # With --trace blk.
    block: guest_drive_join.Joined | None = None


def device_direction(commands: Commands, op: int) -> dict[str, Any] | None:
    """Count and latencies (ns) of one kind of command as the device logged them."""
    ordered = sorted(commands.latencies(op))
    if not ordered:
        return None
    return {
        "count": len(ordered),
        "mean_ns": sum(ordered) // len(ordered),
        "max_ns": ordered[-1],
        **{f"p{percent}_ns": percentile(ordered, percent) for percent in PERCENTILES},
    }


def _with_iops(part: dict[str, Any] | None, over_ns: int) -> dict[str, Any] | None:
    return part and {"iops": round(part["count"] * 1e9 / max(1, over_ns), 3), **part}


def write_amplification(stats: dict[str, int]) -> float | None:
    """Units programmed (moved, padding, parity, mapping) for each that the host wrote."""
    written = stats["host_written_units"]
    if not written:
        return None
    moved = stats["gc_moved_units"] + stats["premigrated_units"]
    # With parity a unit is a page.
    own = moved + stats["padded_units"] + stats.get("parity_page_programs", 0)
    own += stats.get("map_written_units", 0)
    return (written + own) / written


def load_scheme(folder: Path, name: str, fio_file: Path | None = None) -> SchemeData:
    """Read one drive's files; raises LogError when the run cannot be trusted.

    fio's own file is in the same folder, or elsewhere when it is of several drives.
    """
    first = log_page.read(folder / "stats-begin.bin")
    last = log_page.read(folder / "stats-end.bin")
    if first.scheme != last.scheme and not changes.of(folder):
        raise LogError(f"{folder}: the scheme changed from {first.scheme} to {last.scheme}")
    commands = read_commands(folder / "cmd.bin", first.now_ns, last.now_ns)
    runs = read_gc_runs(folder / "gc.bin", first.now_ns, last.now_ns)
    ran = script.load(folder)
    stats = last.values
    if stats["oob_mismatches"]:
        raise LogError(f"{folder}: {stats['oob_mismatches']} reads met a foreign logical address")
    outstanding = stats["cmds_accepted"] - stats["cmds_completed"]
    if outstanding:
        raise LogError(f"{folder}: {outstanding} commands were accepted but not completed")
    if any(commands.status):
        raise LogError(f"{folder}: {sum(map(bool, commands.status))} commands failed")
    # From the first command to the last: fio's own start and end are not the job.
    begin = min(commands.submit, default=first.now_ns)
    end = max(commands.complete, default=last.now_ns)
    device = {
        "read": device_direction(commands, READ),
        "write": device_direction(commands, WRITE),
    }
    if ran:
        # Nobody but the drive has seen its I/O.
        seen = {name: _with_iops(part, end - begin) for name, part in device.items()}
    else:
        fio = load_fio(fio_file or folder / "fio.json")
        seen = {name: fio_direction(fio, name) for name in ("read", "write")}
        if synced := fio_direction(fio, "sync"):
            seen["sync"] = synced
    summary: dict[str, Any] = {
        "scheme": last.scheme,
        "virtual_ns": end - begin,
        "begin_ns": begin,
        "end_ns": end,
        "fio": seen,
        "device": device,
        "tail_causes": {
            "permille": TAIL_PERMILLE,
            "read": tail_causes(commands, READ),
            "write": tail_causes(commands, WRITE),
        },
        "gc_runs": stats["gc_runs"],
        "gc_pages_moved": stats["gc_page_programs"],
        "gc_units_moved": stats["gc_moved_units"],
        "write_amplification": write_amplification(stats),
        "stats": stats,
    }
    if late := lateness.of_page(last.realtime):
        summary["lateness"] = {**late, **lateness.shares(folder / "late.bin", begin, end)}
    if ran:
        summary["script"] = ran
    recorded = block_trace.read(folder)
    block = guest_drive_join.join(recorded, commands) if recorded else None
    if block:
        summary["block"] = guest_drive_join.summary(block)
    return SchemeData(name, folder, begin, end, commands, runs, stats, summary, block)


def said_params(summary: dict[str, Any], scheme: str) -> dict[str, Any]:
    """With the parameters that were given, behind the scheme, whose name alone a drive tells."""
    params = split(scheme).params()
    if not params:
        return summary
    return {"scheme": summary["scheme"], "params": params, **summary}


def seen(summary: dict[str, Any]) -> dict[str, Any]:
    """Latencies as the host saw them: fio in a guest; the device itself without one."""
    found: dict[str, Any] = summary["fio"] if "fio" in summary else summary["device"]
    return found


def cliff(schemes: dict[str, dict[str, Any]]) -> tuple[str, str, float] | None:
    """How many times the reads' p99.9 of the worst scheme is that of the best."""
    values = {
        name: read["p99.9_ns"]
        for name, s in schemes.items()
        # A script's few reads are not what it is about.
        if (read := seen(s)["read"]) and "p99.9_ns" in read and "script" not in s
    }
    if len(values) < 2:
        return None
    worst, best = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    if worst == best or not values[best]:
        return None
    return worst, best, values[worst] / values[best]
