# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of several drives: what fio waited for, above each drive's collections."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarplib.device_logs.command_log import READ, WRITE
from scarplib.guest.layouts import ARRAYS
from scarplib.results import lateness
from scarplib.results.drives import LayoutData
from scarplib.results.pictures.latency_over_time import (
    GC_EDGE,
    READ_COLOUR,
    WRITE_COLOUR,
    merge_spans,
)
from scarplib.results.pictures.schemes import scheme_colour
from scarplib.results.pictures.style import latency_axis, scatter
from scarplib.results.units import human_ns

# Collections closer than this share of the run are one bar.
GAP = 1 / 1500
# What a layout is, above its panel.
LAYOUTS = {
    "independent": "each drive by itself",
    "md": "the kernel's RAID-0 (md)",
    "dm": "the kernel's dm-stripe",
    "cached": "the array without its flusher",
    "flusher": "the array with its flusher",
    "engine": "the array as fio's engine",
}
ENDED = "fio has ended; what is left in the cache is written"


def _requests(axes: Axes, data: LayoutData) -> None:
    for op, colour, order in ((WRITE, WRITE_COLOUR, 2), (READ, READ_COLOUR, 3)):
        chosen = [(at / 1e9, latency) for at, latency, kind in data.requests if kind == op]
        scatter(axes, [at for at, _ in chosen], [ns for _, ns in chosen], colour, order=order)


def _title(axes: Axes, data: LayoutData, colour: str) -> None:
    """What it is; and, as the legend, the tails that fio saw."""
    axes.set_title(f"{data.name}: {LAYOUTS.get(data.layout, data.layout)}", color=colour)
    for direction, dots, right in (("read", READ_COLOUR, 0.72), ("write", WRITE_COLOUR, 1)):
        if of := data.summary["fio"][direction]:
            tails = ", ".join(f"{p} {human_ns(of[f'{p}_ns'])}" for p in ("p99", "p99.9"))
            axes.text(
                right,
                1.03,
                f"\u25cf {direction}s: {tails}",
                transform=axes.transAxes,
                ha="right",
                va="bottom",
                fontsize=8.5,
                color=dots,
            )


def _end_of_job(axes: Axes, data: LayoutData) -> None:
    """Where fio's last request ended, if a cache was written for long after it."""
    ended = max((at for at, _, _ in data.requests), default=0) / 1e9
    last = (data.end_ns - data.begin_ns) / 1e9
    if data.layout not in ARRAYS or last - ended < last / 50:
        return
    axes.axvspan(ended, last, color="#EFEFEF", linewidth=0, zorder=0)
    axes.text(
        (ended + last) / 2,
        0.04,
        ENDED if last - ended > last / 3 else "written back",
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize=8.5,
        color="#606060",
    )


def _collections(axes: Axes, data: LayoutData) -> None:
    gap = int((data.end_ns - data.begin_ns) * GAP)
    for number, drive in enumerate(data.drives):
        spans = merge_spans([(r.begin, r.end) for r in drive.gc_runs if r.end > r.begin], gap)
        bars = [((b - data.begin_ns) / 1e9, (e - b) / 1e9) for b, e in spans]
        axes.broken_barh(bars, (number + 0.1, 0.8), color=GC_EDGE, linewidth=0)
    axes.set_ylim(len(data.drives), 0)
    axes.set_yticks([n + 0.5 for n in range(len(data.drives))])
    axes.set_yticklabels([str(n) for n in range(len(data.drives))], fontsize=7)
    axes.set_ylabel("drive\nin GC")
    axes.grid(visible=False)


def figure_drives(layouts: list[LayoutData]) -> Figure:
    """For each layout: every request that fio sent, and below it who collected when."""
    high = 0.16 * len(layouts[0].drives) + 0.3
    figure = plt.figure(figsize=(11, (2.6 + high) * len(layouts) + 0.5), layout="constrained")
    grid = figure.add_gridspec(2 * len(layouts), 1, height_ratios=[2.6, high] * len(layouts))
    latencies = [latency for data in layouts for _, latency, _ in data.requests] or [1]
    longest = max((data.end_ns - data.begin_ns) / 1e9 for data in layouts)
    for row, data in enumerate(layouts):
        main = figure.add_subplot(grid[2 * row])
        strip = figure.add_subplot(grid[2 * row + 1], sharex=main)
        _requests(main, data)
        _end_of_job(main, data)
        _collections(strip, data)
        main.set_yscale("log")
        main.set_ylim(max(min(latencies), 1) * 0.7, max(latencies) * 1.5)
        main.set_xlim(0, longest * 1.005)
        latency_axis(main.yaxis)
        main.set_ylabel("latency")
        _title(main, data, scheme_colour(data.name))
        main.tick_params(labelbottom=False)
        clock = lateness.clock(drive.summary for drive in data.drives)
        strip.set_xlabel(f"{clock} time since the job's start (s)")
    return figure
