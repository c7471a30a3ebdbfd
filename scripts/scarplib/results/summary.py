# SPDX-License-Identifier: GPL-2.0-or-later
"""A run in numbers: what fio saw, what the device logged, and what they were caused by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs import changes, log_page
from scarplib.device_logs.command_log import DEALLOCATE, FLUSH, READ, WRITE, Commands, read_commands
from scarplib.device_logs.gc_log import GcRun, read_gc_runs
from scarplib.device_logs.log_file import LogError
from scarplib.results import block_trace, fio_window, guest_drive_join, lateness, script
from scarplib.results.causes import TAIL_PERMILLE, tail_causes
from scarplib.results.fio import FioRun, load_fio
from scarplib.results.fio_figures import summed_up
from scarplib.results.percentiles import PERCENTILES, percentile
from scarplib.scheme_text import split

SCHEMA = "scarp-summary-1"
# The drive's commands by direction: what a summary has of each run, and what only of one with some.
_ALWAYS = {"read": READ, "write": WRITE}
_SOME = {"trim": DEALLOCATE, "flush": FLUSH}


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


def _ramp(fio: FioRun | None, cut: bool) -> dict[str, str]:
    """What of fio's ramp the drive's commands are without, if it had one."""
    if not fio or not fio.ramp():
        return {}
    return {"ramp": "cut" if cut else "kept"}


def ramp_notes(schemes: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence on fio's ramp, where a job had one."""
    kinds = {s.get("ramp") for s in schemes.values()} - {None}
    if "kept" in kinds:
        return [
            "fio counts from its ramp's end on; the drive's rows and causes are of the ramp, too."
        ]
    if "cut" in kinds:
        return [
            "Latencies are without fio's ramp, fio's and the drive's; counts of collections, pages "
            "and write amplification are with it."
        ]
    return []


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
    fio = None if ran else load_fio(fio_file or folder / "fio.json")
    window = fio_window.counted(fio, folder) if fio else None
    if window:
        commands = commands.select([window.has(moment) for moment in commands.submit])
    # From the first command to the last: fio's own start and end are not the job.
    begin = min(commands.submit, default=first.now_ns)
    end = max(commands.complete, default=last.now_ns)
    runs = [run for run in runs if run.end >= begin] if window else runs
    ops = {**_ALWAYS, **{name: op for name, op in _SOME.items() if op in commands.op}}
    device = {
        name: _with_iops(device_direction(commands, op), end - begin) for name, op in ops.items()
    }
    summary: dict[str, Any] = {
        "scheme": last.scheme,
        "virtual_ns": end - begin,
        "begin_ns": begin,
        "end_ns": end,
        # Of a script's I/O nobody but the drive has seen anything.
        **(summed_up(fio) if fio else {"fio": dict(device)}),
        **_ramp(fio, window is not None),
        "device": device,
        "tail_causes": {
            "permille": TAIL_PERMILLE,
            **{name: tail_causes(commands, op) for name, op in ops.items()},
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
