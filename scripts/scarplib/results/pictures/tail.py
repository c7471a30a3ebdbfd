# SPDX-License-Identifier: GPL-2.0-or-later
"""Each scheme's tail in one picture: how slow the slowest are, and what they waited for."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarplib.device_logs.command_log import DEALLOCATE, FLUSH, READ, WRITE
from scarplib.results.causes import TAIL_PERMILLE, labels, merges, tail_shares
from scarplib.results.host_rows import AT_DRIVE
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import CAUSE_COLOURS, latency_axis
from scarplib.results.summary import SchemeData
from scarplib.results.units import human_ns

# A curve has this many points, evenly spaced on the axis of nines: a small file whatever the run.
_POINTS = 240
_TAIL_BAND = "#F3EBDD"
_NINES = ("50", "90", "99", "99.9", "99.99", "99.999")
_OPS = {"read": READ, "write": WRITE, "trim": DEALLOCATE, "flush": FLUSH}
# Rows of the picture: those of each that a run has. A flush waits for what others wrote.
TAILS = ("read", "write", "trim")


def _nines(share: float) -> float:
    """0.9 is at 1, 0.99 at 2: as much room for each ten times rarer."""
    return -math.log10(1 - share)


def percentile_curve(ordered: list[int]) -> tuple[list[float], list[int]]:
    """Points (nines, ns) of sorted latencies; 1 on the axis of nines is 90 %, 2 is 99 %."""
    most = math.log10(len(ordered))
    xs, ys = [], []
    for step in range(_POINTS + 1):
        x = most * step / _POINTS
        slower = 10**-x * len(ordered)
        xs.append(x)
        ys.append(ordered[min(len(ordered) - 1, max(0, len(ordered) - math.ceil(slower)))])
    return xs, ys


def _curves(axes: Axes, schemes: list[SchemeData], direction: str) -> None:
    most = 0.0
    low: list[int] = []
    look = looks([data.name for data in schemes])
    for row, data in enumerate(schemes):
        ordered = sorted(data.commands.latencies(_OPS[direction]))
        if not ordered:
            continue
        xs, ys = percentile_curve(ordered)
        most = max(most, xs[-1])
        low.append(ordered[len(ordered) // 2])
        axes.plot(
            xs,
            ys,
            **look[data.name].line(),
            linewidth=2.2,
            label=data.name,
            zorder=3 + row,
        )
    axes.set_yscale("log")
    axes.set_ylim(bottom=min(low) / 1.5)
    latency_axis(axes.yaxis)
    start = _nines(0.5)
    axes.set_xlim(start, most * 1.02)
    begin = _nines(1 - TAIL_PERMILLE / 1000)
    # Of fewer than a thousand commands the slowest alone is more than that.
    if begin < most:
        axes.axvspan(begin, most * 1.02, color=_TAIL_BAND, zorder=0, linewidth=0)
        text = " the slowest 0.1 %"
        axes.text(begin, 1.01, text, transform=axes.get_xaxis_transform(), fontsize=8.5)
    shown = [p for p in _NINES if _nines(float(p) / 100) <= most]
    axes.set_xticks([_nines(float(p) / 100) for p in shown], [f"{p} %" for p in shown])
    axes.set_xlabel(f"{AT_DRIVE[direction]} at least as fast")
    axes.set_ylabel("latency")
    axes.set_title(f"How slow the slow {AT_DRIVE[direction]} are\n", fontsize=11)
    # Below: wherever it is inside, some scheme's curve goes there.
    columns = 3 if max(len(data.name) for data in schemes) < 14 else 2
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, fontsize=9, frameon=False
    )


def _bars(axes: Axes, schemes: list[SchemeData], direction: str) -> dict[str, Any]:
    """One bar a scheme, as long as its slowest commands took; returns a patch for each cause."""
    used: dict[str, Any] = {}
    words = labels(merges(data.summary for data in schemes))
    tails = [data.summary["tail_causes"].get(direction) for data in schemes]
    longest = max((tail["mean_ns"] for tail in tails if tail), default=1) or 1
    for y, tail in enumerate(tails):
        if not tail:
            axes.text(longest * 0.01, y, "none", va="center", fontsize=9)
            continue
        left = 0.0
        for cause, colour in CAUSE_COLOURS.items():
            length = tail["cause_ns"].get(cause, 0) / tail["count"]
            if not length:
                continue
            bar = axes.barh(
                y, length, left=left, color=colour, edgecolor="white", linewidth=0.6, height=0.62
            )
            share = length * 100 / tail["mean_ns"]
            if share >= 3:
                used.setdefault(cause, bar)
            if length >= 0.07 * longest:
                axes.text(
                    left + length / 2,
                    y,
                    f"{share:.0f} %",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if sum(mpl.colors.to_rgb(colour)) < 1.5 else "black",
                )
            left += length
        shares = tail_shares(tail)
        first = max(shares, key=shares.__getitem__)
        axes.text(
            left + longest * 0.012,
            y,
            f"{human_ns(tail['mean_ns'])}\nmostly {words[first]}",
            va="center",
            fontsize=8.5,
            linespacing=1.3,
        )
    axes.set_yticks(range(len(schemes)), [data.name for data in schemes])
    look = looks([data.name for data in schemes])
    for data, label in zip(schemes, axes.get_yticklabels(), strict=True):
        label.set_color(look[data.name].colour)
        label.set_fontweight("bold")
    axes.invert_yaxis()
    axes.set_xlim(0, longest * 1.42)
    latency_axis(axes.xaxis)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean latency")
    axes.set_title(f"What the slowest 0.1 % of {AT_DRIVE[direction]} waited for\n", fontsize=11)
    return used


def figure_tail(schemes: list[SchemeData], directions: tuple[str, ...] = TAILS) -> Figure | None:
    """A row for each direction that has commands: percentiles, and the tail's causes beside."""
    shown = [d for d in directions if any(data.summary["tail_causes"].get(d) for data in schemes)]
    if not shown:
        return None
    height = max(3.6, 0.62 * len(schemes) + 1.4)
    figure, rows = plt.subplots(
        len(shown),
        2,
        figsize=(13.5, height * len(shown) + 0.9),
        width_ratios=[1, 1.55],
        squeeze=False,
        layout="constrained",
    )
    used: dict[str, Any] = {}
    words = labels(merges(data.summary for data in schemes))
    for (left, right), direction in zip(rows, shown, strict=True):
        _curves(left, schemes, direction)
        used = {**_bars(right, schemes, direction), **used}
    ordered = [cause for cause in CAUSE_COLOURS if cause in used]
    figure.legend(
        [used[cause] for cause in ordered],
        [words[cause] for cause in ordered],
        loc="outside lower center",
        ncols=min(5, max(1, len(ordered))),
        fontsize=9.5,
    )
    return figure
