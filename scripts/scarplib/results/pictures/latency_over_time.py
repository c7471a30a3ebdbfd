# SPDX-License-Identifier: GPL-2.0-or-later
"""The latency picture: every command of the run over time, garbage collections behind it."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from scarplib.device_logs.command_log import DEALLOCATE, READ, WRITE
from scarplib.results import lateness
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import latency_axis, scatter
from scarplib.results.summary import SchemeData

GC_BAND = "#F0C987"
GC_EDGE = "#B7791F"
READ_COLOUR, WRITE_COLOUR = "#0072B2", "#8A8A8A"
TRIM_COLOUR = "#CC79A7"
# Each kind's colour, and what is drawn above what.
_DRAWN = ((DEALLOCATE, TRIM_COLOUR, 1), (WRITE, WRITE_COLOUR, 2), (READ, READ_COLOUR, 3))
# In the full-run panel, GC periods closer than this share of it are one band.
BAND_GAP = 1 / 1500


def merge_spans(spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Sorted union of spans; those at most gap apart become one."""
    out: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1] + gap:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def gc_steps(data: SchemeData) -> tuple[list[float], list[int]]:
    """How many GC runs are active at a time, as the corners of a step function (seconds)."""
    changes: dict[int, int] = {}
    for run in data.gc_runs:
        if run.end > run.begin:
            changes[run.begin] = changes.get(run.begin, 0) + 1
            changes[run.end] = changes.get(run.end, 0) - 1
    times, counts, level = [0.0], [0], 0
    for moment in sorted(changes):
        level += changes[moment]
        times.append((moment - data.begin_ns) / 1e9)
        counts.append(level)
    times.append((data.end_ns - data.begin_ns) / 1e9)
    counts.append(level)
    return times, counts


def closer_window(data: SchemeData) -> tuple[int, int]:
    """A stretch around the slowest read, short enough to see single commands."""
    reads = data.commands.indices(READ) or list(range(len(data.commands)))
    length = max((data.end_ns - data.begin_ns) // 60, 1)
    if not reads:
        return data.begin_ns, data.begin_ns + length
    worst = max(reads, key=lambda i: data.commands.complete[i] - data.commands.submit[i])
    middle = (data.commands.submit[worst] + data.commands.complete[worst]) // 2
    length = max(length, 3 * (data.commands.complete[worst] - data.commands.submit[worst]))
    begin = min(max(middle - length // 2, data.begin_ns), max(data.begin_ns, data.end_ns - length))
    return begin, begin + length


def _bands(axes: Axes, data: SchemeData, spans: list[tuple[int, int]]) -> None:
    for begin, end in spans:
        axes.axvspan(
            (begin - data.begin_ns) / 1e9,
            (end - data.begin_ns) / 1e9,
            color=GC_BAND,
            alpha=0.38,
            linewidth=0,
            zorder=0,
        )


def _over_time(axes: Axes, data: SchemeData) -> None:
    commands = data.commands
    for op, colour, order in _DRAWN:
        chosen = commands.indices(op)
        scatter(
            axes,
            [(commands.submit[i] - data.begin_ns) / 1e9 for i in chosen],
            [commands.complete[i] - commands.submit[i] for i in chosen],
            colour,
            order=order,
        )


def _closer(axes: Axes, data: SchemeData, window: tuple[int, int]) -> None:
    """Each command as a line from its submission to its completion, at its latency."""
    commands = data.commands
    for op, colour, order in _DRAWN:
        lines = []
        for i in commands.indices(op):
            begin, end = commands.submit[i], commands.complete[i]
            if end >= window[0] and begin <= window[1] and end > begin:
                x0, x1 = (begin - data.begin_ns) / 1e9, (end - data.begin_ns) / 1e9
                lines.append([(x0, end - begin), (x1, end - begin)])
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=1.3, alpha=0.7, zorder=order)
        )
    spans = [(r.begin, r.end) for r in data.gc_runs if r.end > r.begin]
    _bands(axes, data, [s for s in merge_spans(spans, 0) if s[1] > window[0] and s[0] < window[1]])
    axes.set_xlim((window[0] - data.begin_ns) / 1e9, (window[1] - data.begin_ns) / 1e9)


def _dot(colour: str, label: str) -> Line2D:
    return Line2D([], [], marker="o", ls="", ms=5, color=colour, label=label)


def figure_over_time(schemes: list[SchemeData]) -> Figure | None:
    """For each scheme: the whole run, the GCs active at a time, and a closer look."""
    if not any(data.commands.indices(op) for data in schemes for op, *_ in _DRAWN):
        return None
    trims = any(data.commands.indices(DEALLOCATE) for data in schemes)
    figure = plt.figure(figsize=(13.5, 3.9 * len(schemes) + 0.9), layout="constrained")
    grid = figure.add_gridspec(
        2 * len(schemes), 2, width_ratios=[2.1, 1], height_ratios=[4.2, 1] * len(schemes)
    )
    all_latencies = [
        data.commands.complete[i] - data.commands.submit[i]
        for data in schemes
        for i in range(len(data.commands))
        if data.commands.op[i] in (READ, WRITE, DEALLOCATE)
    ]
    low, high = max(min(all_latencies), 1) * 0.7, max(all_latencies) * 1.5
    longest = max((data.end_ns - data.begin_ns) / 1e9 for data in schemes)
    most = max(max(gc_steps(data)[1]) for data in schemes)
    look = looks([data.name for data in schemes])
    for row, data in enumerate(schemes):
        colour = look[data.name].colour
        main = figure.add_subplot(grid[2 * row, 0])
        strip = figure.add_subplot(grid[2 * row + 1, 0], sharex=main)
        closer = figure.add_subplot(grid[2 * row, 1], sharey=main)
        closer_strip = figure.add_subplot(grid[2 * row + 1, 1], sharex=closer)
        _over_time(main, data)
        spans = [(r.begin, r.end) for r in data.gc_runs if r.end > r.begin]
        _bands(main, data, merge_spans(spans, int((data.end_ns - data.begin_ns) * BAND_GAP)))
        window = closer_window(data)
        _closer(closer, data, window)
        main.set_yscale("log")
        main.set_ylim(low, high)
        main.set_xlim(0, longest * 1.005)
        latency_axis(main.yaxis)
        main.set_ylabel("latency")
        note = "" if spans else "  (GC takes no time)" if data.gc_runs else "  (no GC)"
        main.set_title(f"{data.name}: latency of every command{note}", color=colour)
        legend = main.legend(
            handles=[
                _dot(READ_COLOUR, "read"),
                _dot(WRITE_COLOUR, "write"),
                *([_dot(TRIM_COLOUR, "deallocate")] if trims else []),
                Rectangle((0, 0), 1, 1, color=GC_BAND, alpha=0.6, label="GC somewhere"),
            ],
            loc="upper right",
            ncols=3 + trims,
            fontsize=8.5,
            frameon=True,
            framealpha=0.85,
            edgecolor="none",
        )
        legend.set_zorder(10)
        clock = lateness.clock([data.summary])
        slowest = "read" if data.commands.indices(READ) else "command"
        closer.set_title(f"a closer look, around its slowest {slowest}")
        times, counts = gc_steps(data)
        for axes in (strip, closer_strip):
            axes.fill_between(times, counts, step="post", color=GC_BAND, linewidth=0)
            axes.step(times, counts, where="post", color=GC_EDGE, linewidth=0.6)
            axes.set_ylim(0, max(most, 1) * 1.1)
            axes.set_yticks([0, max(most, 1)])
            axes.set_xlabel(f"{clock} time since the job's start (s)")
        strip.set_ylabel("planes\nin GC")
        main.tick_params(labelbottom=False)
        closer.tick_params(labelbottom=False, labelleft=False)
    return figure
