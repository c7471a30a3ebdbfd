# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of a run: what fio saw, what the device logged, and the table of both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs import log_page
from scarplib.device_logs.command_log import CAUSES, READ, WRITE, Commands, read_commands
from scarplib.device_logs.gc_log import GcRun, read_gc_runs
from scarplib.device_logs.log_file import LogError

PERCENTILES = ("50", "99", "99.9", "99.99")
SCHEMA = "scarp-summary-1"
# The tail that the report explains, in thousandths of the commands.
TAIL_PERMILLE = 1
# What waits for garbage collection first, then other host I/O, then the command's own work.
CAUSE_LABELS = {
    "die_gc_program": "die: GC program",
    "die_gc_read": "die: GC read",
    "die_gc_held": "die: held by a waiting GC",
    "die_erase": "die: erase",
    "no_space": "no free page until GC ends",
    "die_host_program": "die: another host program",
    "die_host_read": "die: another host read",
    "channel": "flash channel busy",
    "host_queue": "host queue",
    "buffer_full": "write buffer full",
    "order": "another command's data",
    "rmw": "read before a partial write",
    "mapping": "mapping table",
    "suspended": "own program suspended",
    "die_suspend": "die: suspending",
    "array": "own array time",
    "transfer": "own transfer",
    "controller": "controller",
    "link": "host link",
}
# The same in full, for whoever meets them for the first time.
CAUSE_SENTENCES = {
    "die_gc_program": "the die was writing pages that garbage collection moves",
    "die_gc_read": "the die was reading pages that garbage collection moves",
    "die_gc_held": "garbage collection kept the die to itself while it waited for something else",
    "die_erase": "the die was erasing a block",
    "no_space": "no page was free to write to until garbage collection had made one",
    "die_host_program": "the die was writing for another command of the host",
    "die_host_read": "the die was reading for another command of the host",
    "channel": "the wires to the die were busy with other data",
    "host_queue": "the drive had taken no more commands, or preferred others",
    "buffer_full": "the write buffer was full",
    "order": "the data that it depends on was another command's, still on its way",
    "rmw": "the rest of the unit had to be read first, as less than a unit was written",
    "mapping": "a part of the mapping table had to be read first",
    "suspended": "its own write stood still to let a read pass",
    "die_suspend": "the die was putting aside what it did",
    "array": "the flash itself, reading or writing its own data: not a wait",
    "transfer": "its own data on the wires to the die: not a wait",
    "controller": "the drive's firmware: not a wait",
    "link": "the link to the host",
}


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


def percentile(ordered: Sequence[int], percent: str) -> int:
    """The nearest-rank percentile; percent is decimal text, so that 99.9 is exact."""
    if not ordered:
        raise ValueError("no values")
    whole, _, fraction = percent.partition(".")
    scale = 10 ** len(fraction)
    wanted = int(whole + fraction)
    rank = -(-wanted * len(ordered) // (100 * scale))
    return ordered[max(rank, 1) - 1]


def load_fio(path: Path) -> dict[str, Any]:
    """fio's JSON; whatever it prints before the first brace is skipped."""
    try:
        text = path.read_text()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    start = text.find("{")
    try:
        result = json.loads(text[start:] if start >= 0 else text)
    except ValueError as error:
        raise LogError(f"{path}: not fio's JSON: {error}") from error
    if not result.get("jobs"):
        raise LogError(f"{path}: no job in fio's result")
    for job in result["jobs"]:
        if job.get("error"):
            raise LogError(f"{path}: job {job.get('jobname')} failed with error {job['error']}")
    return result


def fio_direction(fio: dict[str, Any], direction: str) -> dict[str, Any] | None:
    """One direction of all jobs: IOPS add up, latencies merge by fio's own bins (json+)."""
    count = 0
    iops = mean_sum = 0.0
    maximum = 0
    bins: dict[int, int] = {}
    for job in fio["jobs"]:
        part = job.get(direction, {})
        ios = part.get("total_ios", 0)
        if not ios:
            continue
        # Jobs may be told to keep percentiles of one kind of latency only.
        lat = part["lat_ns"] if part.get("lat_ns", {}).get("N") else part["clat_ns"]
        binned = next(
            (part[k]["bins"] for k in ("lat_ns", "clat_ns") if part.get(k, {}).get("bins")), {}
        )
        count += ios
        iops += part["iops"]
        mean_sum += lat["mean"] * ios
        maximum = max(maximum, lat["max"])
        for value, number in binned.items():
            bins[int(value)] = bins.get(int(value), 0) + number
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
            out[f"p{percent}_ns"] = _binned_percentile(bins, total, percent)
    return out


def _binned_percentile(bins: dict[int, int], total: int, percent: str) -> int:
    whole, _, fraction = percent.partition(".")
    rank = -(-int(whole + fraction) * total // (100 * 10 ** len(fraction)))
    seen = 0
    for value in sorted(bins):
        seen += bins[value]
        if seen >= rank:
            return value
    raise ValueError("empty histogram")


def device_direction(commands: Commands, op: int) -> dict[str, Any] | None:
    ordered = sorted(commands.latencies(op))
    if not ordered:
        return None
    return {
        "count": len(ordered),
        "mean_ns": sum(ordered) // len(ordered),
        "max_ns": ordered[-1],
        **{f"p{percent}_ns": percentile(ordered, percent) for percent in PERCENTILES},
    }


def tail_causes(commands: Commands, op: int) -> dict[str, Any] | None:
    """Where the slowest commands' time went: nanoseconds by cause, zeroes left out."""
    chosen = commands.indices(op)
    if not chosen:
        return None
    chosen.sort(key=lambda i: (commands.submit[i] - commands.complete[i], i))
    chosen = chosen[: max(1, len(chosen) * TAIL_PERMILLE // 1000)]
    causes = {
        name: total
        for name, column in zip(CAUSES, commands.causes, strict=True)
        if (total := sum(column[i] for i in chosen))
    }
    return {
        "count": len(chosen),
        "mean_ns": sum(causes.values()) // len(chosen),
        "fastest_ns": min(commands.complete[i] - commands.submit[i] for i in chosen),
        "cause_ns": causes,
    }


def write_amplification(stats: dict[str, int]) -> float | None:
    """Units programmed (moved, padding, parity) for each unit that the host wrote."""
    written = stats["host_written_units"]
    if not written:
        return None
    moved = stats["gc_moved_units"] + stats["premigrated_units"]
    # With parity a unit is a page.
    own = moved + stats["padded_units"] + stats.get("parity_page_programs", 0)
    return (written + own) / written


def load_scheme(folder: Path, name: str) -> SchemeData:
    """Read one guest's folder; raises LogError when the run cannot be trusted."""
    first = log_page.read(folder / "stats-begin.bin")
    last = log_page.read(folder / "stats-end.bin")
    if first.scheme != last.scheme:
        raise LogError(f"{folder}: the scheme changed from {first.scheme} to {last.scheme}")
    commands = read_commands(folder / "cmd.bin", first.now_ns, last.now_ns)
    runs = read_gc_runs(folder / "gc.bin", first.now_ns, last.now_ns)
    fio = load_fio(folder / "fio.json")
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
    seen = {direction: fio_direction(fio, direction) for direction in ("read", "write")}
    summary = {
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
    return SchemeData(name, folder, begin, end, commands, runs, stats, summary)


# ---- Text -----------------------------------------------------------------


def human_ns(value: float | None) -> str:
    """Three significant digits and a unit, as people compare latencies."""
    if value is None:
        return "–"
    for limit, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if value < limit * 0.9995:
            number = value / divisor
            digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
            return f"{number:.{digits}f} {unit}"
    raise AssertionError("unreachable")


def _cell(summary: dict[str, Any], direction: str, key: str) -> str:
    values = summary["fio"][direction]
    if not values:
        return "–"
    if key == "iops":
        return f"{values['iops']:,.0f}"
    return human_ns(values.get(key))


# A cause that is less than this share (in percent) of every tail is among "anything else".
_SMALL_SHARE = 5


def tail_shares(tail: dict[str, Any] | None) -> dict[str, float]:
    """What the slowest commands' time went to, in percent, by cause."""
    causes = tail["cause_ns"] if tail else {}
    total = sum(causes.values())
    return {name: value * 100 / total for name, value in causes.items()} if total else {}


def tail_text(tail: dict[str, Any], most: int = 3) -> str:
    """The greatest causes in words: "71 % die: GC program, 20 % die: erase"."""
    shares = sorted(tail_shares(tail).items(), key=lambda item: -item[1])
    named = [(name, share) for name, share in shares[:most] if share >= _SMALL_SHARE]
    return ", ".join(f"{share:.0f} % {CAUSE_LABELS[name]}" for name, share in named)


def _tail_rows(schemes: dict[str, dict[str, Any]], direction: str) -> list[tuple[str, list[str]]]:
    tails = [s["tail_causes"][direction] for s in schemes.values()]
    shares = [tail_shares(tail) for tail in tails]
    named = [name for name in CAUSE_LABELS if any(s.get(name, 0) >= _SMALL_SHARE for s in shares)]
    rows = [(f"slowest {TAIL_PERMILLE / 10:g} % of {direction}s: their time", [])]
    rows.append(("  mean of them", [human_ns(tail["mean_ns"]) if tail else "–" for tail in tails]))
    for name in named:
        cells = [f"{s.get(name, 0):.0f} %" if s else "–" for s in shares]
        rows.append((f"  {CAUSE_LABELS[name]}", cells))
    rest = [100 - sum(s.get(name, 0) for name in named) if s else None for s in shares]
    rows.append(("  anything else", ["–" if r is None else f"{abs(r):.0f} %" for r in rest]))
    return rows


def table_rows(schemes: dict[str, dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Rows of (label, one cell for each scheme); a row without cells is a heading."""
    rows: list[tuple[str, list[str]]] = []
    latencies = [("mean", "mean_ns"), *((f"p{p}", f"p{p}_ns") for p in PERCENTILES)]
    for direction in ("read", "write"):
        if not any(s["fio"][direction] for s in schemes.values()):
            continue
        rows.append((f"{direction}s", []))
        for label, key in [("IOPS", "iops"), *latencies, ("max", "max_ns")]:
            rows.append((f"  {label}", [_cell(s, direction, key) for s in schemes.values()]))
        rows += _tail_rows(schemes, direction)
    rows.append(("drive", []))
    rows.append(("  GC runs", [f"{s['gc_runs']:,}" for s in schemes.values()]))
    rows.append(("  pages moved", [f"{s['gc_pages_moved']:,}" for s in schemes.values()]))
    amplification = [s["write_amplification"] for s in schemes.values()]
    rows.append(
        ("  write amplification", ["–" if a is None else f"{a:.3f}" for a in amplification])
    )
    rows.append(("time", []))
    rows.append(("  virtual", [f"{s['virtual_ns'] / 1e9:.3f} s" for s in schemes.values()]))
    rows.append(
        (
            "  wall (boot included)",
            [f"{s['wall_s']:.1f} s" if "wall_s" in s else "–" for s in schemes.values()],
        )
    )
    return rows


def table_text(schemes: dict[str, dict[str, Any]]) -> str:
    rows = table_rows(schemes)
    label_width = max(len(label) for label, _ in rows)
    widths = [
        max(len(name), *(len(cells[i]) for _, cells in rows if cells))
        for i, name in enumerate(schemes)
    ]
    head = " ".join(f"{name:>{w + 2}}" for name, w in zip(schemes, widths, strict=True))
    lines = [" " * label_width + head]
    for label, cells in rows:
        line = f"{label:<{label_width}}"
        line += " ".join(f"{cell:>{w + 2}}" for cell, w in zip(cells, widths, strict=False))
        lines.append(line.rstrip())
    return "\n".join(lines)


def cliff(schemes: dict[str, dict[str, Any]]) -> tuple[str, str, float] | None:
    """How many times the reads' p99.9 of the worst scheme is that of the best."""
    values = {
        name: s["fio"]["read"]["p99.9_ns"]
        for name, s in schemes.items()
        if s["fio"]["read"] and "p99.9_ns" in s["fio"]["read"]
    }
    if len(values) < 2:
        return None
    worst, best = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    if worst == best or not values[best]:
        return None
    return worst, best, values[worst] / values[best]
