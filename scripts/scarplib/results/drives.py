# SPDX-License-Identifier: GPL-2.0-or-later
"""A run over several drives in numbers: what fio saw of all, what each drive did."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs.command_log import READ, WRITE
from scarplib.device_logs.log_file import LogError
from scarplib.results import lateness
from scarplib.results.fio import load_fio
from scarplib.results.fio_figures import summed_up
from scarplib.results.host_rows import PLURALS, figure_rows, job_rows, populations, units
from scarplib.results.summary import SchemeData, load_scheme
from scarplib.results.table import columns
from scarplib.results.units import human_ns

SCHEMA = "scarp-drives-1"


@dataclass
class LayoutData:
    """Everything that the report draws for one layout."""

    name: str
    layout: str
    drives: list[SchemeData]
    # (ns since the job's start, latency in ns, READ or WRITE) of every request that fio sent.
    requests: list[tuple[int, int, int]]
    summary: dict[str, Any]

    @property
    def begin_ns(self) -> int:
        """On the drives' clock, which is one for all: their first command of the job."""
        return min(drive.begin_ns for drive in self.drives)

    @property
    def end_ns(self) -> int:
        """Their last."""
        return max(drive.end_ns for drive in self.drives)


# Milliseconds, nanoseconds, direction.
_REQUEST = re.compile(r"\s*(\d{1,15})\s*,\s*(\d{1,19})\s*,\s*(\d{1,3})\s*(?:,|$)")


def requests(folder: Path) -> list[tuple[int, int, int]]:
    """fio's log of latencies, of all its jobs: its clock counts whole milliseconds.

    Sorted: ns since the job's start, latency in ns, READ or WRITE.
    """
    found = []
    for path in sorted(folder.glob("lat_lat*.log")):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = _REQUEST.match(line)
            if not match:
                raise LogError(f"{path}: line {number}: '{line[:60]}' is none of fio's")
            ms, latency, direction = (int(x) for x in match.groups())
            if direction in (0, 1):
                found.append((ms * 1_000_000, latency, WRITE if direction else READ))
    return sorted(found)


def _drive(data: SchemeData) -> dict[str, Any]:
    kept = ["gc_runs", "gc_pages_moved", "write_amplification", "device", "tail_causes", "stats"]
    if "lateness" in data.summary:
        kept += ["lateness", "begin_ns", "end_ns"]
    return {name: data.summary[name] for name in kept}


def load_layout(folder: Path, name: str, layout: str, drives: int) -> LayoutData:
    """Read one guest's folder; raises LogError when the run cannot be trusted."""
    fio_file = folder / "fio.json"
    loaded = [load_scheme(folder / f"drive{n}", f"drive {n}", fio_file) for n in range(drives)]
    data = LayoutData(name, layout, loaded, requests(folder), {})
    data.summary = {
        "scheme": loaded[0].summary["scheme"],
        "virtual_ns": data.end_ns - data.begin_ns,
        **summed_up(load_fio(fio_file)),
        **({"ramp": loaded[0].summary["ramp"]} if "ramp" in loaded[0].summary else {}),
        "drives": [_drive(drive) for drive in loaded],
    }
    return data


def _host_rows(layouts: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    rows: list[tuple[str, list[str]]] = []
    for unit, direction in populations(layouts):
        name = f"{unit}: {PLURALS[direction]}" if unit else PLURALS[direction]
        rows.append((f"{name}, as fio saw them", []))
        parts = [units(layout).get(unit, {}).get(direction) for layout in layouts]
        rows += figure_rows(parts, rate=direction != "sync")
    return rows + job_rows(layouts)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def table_rows(layouts: dict[str, dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """A column for each layout; then, drive by drive, what each did."""
    rows = _host_rows(list(layouts.values()))
    of = [layout["drives"] for layout in layouts.values()]

    def each(heading: str, cell: Any) -> None:
        rows.append((heading, []))
        for number in range(len(of[0])):
            rows.append((f"  drive {number}", [cell(drives[number]) for drives in of]))

    def written(drive: dict[str, Any]) -> str:
        device = drive["device"]["write"]
        return f"{device['count']:,}" if device else "0"

    each("writes that reached it", written)
    each("collections", lambda drive: f"{drive['gc_runs']:,}")
    each("write amplification", lambda drive: _number(drive["write_amplification"], 3))
    if on_real_time(layouts):
        each("lateness: p50, p99, maximum", _lateness)
        each("reads' distance to virtual time", lambda drive: _distance(drive, "read"))
        each("writes' distance to virtual time", lambda drive: _distance(drive, "write"))
    rows.append(
        (f"{clock_of(layouts)} time", [f"{x['virtual_ns'] / 1e9:.3f} s" for x in layouts.values()])
    )
    return rows


def on_real_time(layouts: dict[str, dict[str, Any]]) -> bool:
    """Whether the drives were on the host's clock."""
    return clock_of(layouts) == "real"


def clock_of(layouts: dict[str, dict[str, Any]]) -> str:
    """Whose time the drives' is."""
    return lateness.clock(drive for layout in layouts.values() for drive in layout["drives"])


def _lateness(drive: dict[str, Any]) -> str:
    late = drive["lateness"]["all"]
    return ", ".join(human_ns(late[f"{point}_ns"]) for point in ("p50", "p99", "max"))


def _distance(drive: dict[str, Any], operation: str) -> str:
    found = drive.get("truth", {}).get(operation)
    return human_ns(found["distance_ns"]) if found else "–"


def doubts(layouts: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence for each drive whose latencies are not the model's."""
    return lateness.doubts(
        {
            f"{name}, drive {number}": drive
            for name, layout in layouts.items()
            for number, drive in enumerate(layout["drives"])
        }
    )


def table_text(layouts: dict[str, dict[str, Any]]) -> str:
    """The rows in columns."""
    return columns(list(layouts), table_rows(layouts))
