# SPDX-License-Identifier: GPL-2.0-or-later
"""The lateness picture: each completion of a run on the host's clock, above the host's load."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarplib.device_logs.command_log import READ, WRITE
from scarplib.device_logs.lateness_log import completions
from scarplib.guest.host_load import stretches
from scarplib.results.pictures.latency_over_time import READ_COLOUR, WRITE_COLOUR
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import latency_axis, scatter
from scarplib.results.summary import SchemeData

_OTHER_COLOUR, _STOLEN_COLOUR, _OWN_COLOUR = "#CC79A7", "#D55E00", "#56B4E9"


@dataclass
class _Points:
    """Seconds since the job's start, and lateness in ns, by operation."""

    seconds: dict[int, list[float]] = field(default_factory=dict)
    late: dict[int, list[int]] = field(default_factory=dict)
    # The host's clock at the job's start.
    begin_host: int = 0


def _points(data: SchemeData) -> _Points:
    found = _Points()
    for c in completions(data.folder / "late.bin"):
        if c.part or not data.begin_ns <= c.arrived <= data.end_ns:
            continue
        found.begin_host = found.begin_host or c.host - (c.posted - data.begin_ns)
        op = c.op if c.op in (READ, WRITE) else -1
        found.seconds.setdefault(op, []).append((c.posted - data.begin_ns) / 1e9)
        # A logarithmic axis has no 0.
        found.late.setdefault(op, []).append(max(c.late_ns, 100))
    return found


def draw_load(axes: Axes, path: Path, begin_host: int, own: str = "QEMU's share") -> None:
    """The host's load since that moment of its clock; `own`: whose the file's last column is."""
    axes.set_ylim(0, 105)
    axes.set_ylabel("host, %")
    if not path.is_file():
        return
    rows = list(stretches(path))
    seconds = [(row.end_ns - begin_host) / 1e9 for row in rows]
    for permille, colour, label in (
        ([row.busy_permille for row in rows], "#5E5E5E", "all that is busy"),
        ([row.qemu_permille for row in rows], _OWN_COLOUR, own),
        ([row.stolen_permille for row in rows], _STOLEN_COLOUR, "stolen by another machine"),
    ):
        shares = [value / 10 for value in permille]
        axes.plot(seconds, shares, color=colour, linewidth=1.1, label=label)
    axes.legend(loc="upper right", ncols=3, fontsize=8)


def figure_lateness(schemes: list[SchemeData], load: Path | None = None) -> Figure | None:
    """For each scheme two panels; None for a run on virtual time.

    load: the host's, if all were in one guest; else each has its own.
    """
    chosen = [data for data in schemes if data.summary.get("lateness")]
    if not chosen:
        return None
    figure = plt.figure(figsize=(13.5, 3.9 * len(chosen) + 0.6), layout="constrained")
    grid = figure.add_gridspec(2 * len(chosen), 1, height_ratios=[3, 1.3] * len(chosen))
    look = looks([data.name for data in schemes])
    for row, data in enumerate(chosen):
        late = data.summary["lateness"]
        above = figure.add_subplot(grid[2 * row])
        below = figure.add_subplot(grid[2 * row + 1], sharex=above)
        points = _points(data)
        for op, colour, label in (
            (WRITE, WRITE_COLOUR, "write"),
            (READ, READ_COLOUR, "read"),
            (-1, _OTHER_COLOUR, "other"),
        ):
            if op in points.late:
                scatter(above, points.seconds[op], points.late[op], colour, label)
        above.axhline(late["bound_ns"], color="#D55E00", linewidth=1, label="bound of the p99")
        above.axhline(
            max(late["all"]["p99_ns"], 100), color="#222", linewidth=1, ls=":", label="p99"
        )
        above.set_yscale("log")
        latency_axis(above.yaxis)
        above.set_ylabel("lateness")
        verdict = "doubtful" if late["doubtful"] else "good"
        above.set_title(
            f"{data.name}: lateness of every completion ({verdict})", color=look[data.name].colour
        )
        above.legend(loc="upper right", ncols=5, fontsize=8, markerscale=3)
        above.set_xlim(0, (data.end_ns - data.begin_ns) / 1e9)
        above.tick_params(labelbottom=False)
        draw_load(below, load or data.folder / "load.csv", points.begin_host)
        below.set_xlabel("real time since the job's start (s)")
    return figure
