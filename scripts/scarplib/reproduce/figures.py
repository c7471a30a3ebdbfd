# SPDX-License-Identifier: GPL-2.0-or-later
"""The papers' figures, redrawn: bars by workload, cumulative response times, curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import Bbox

from scarplib.reproduce.cell import QUANTILES
from scarplib.reproduce.results import Results
from scarplib.results.pictures.schemes import Look, looks
from scarplib.sweep.intervals import mean

matplotlib.use("Agg")
# The same bytes every time.
matplotlib.rcParams["svg.hashsalt"] = "scarp"
matplotlib.rcParams["svg.fonttype"] = "none"


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _legend(axes: Any, columns: int) -> None:
    """Above the axes: never over what is drawn."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, fontsize=7, frameon=False)


def bars(
    path: Path,
    names: Sequence[str],
    label: str,
    groups: Mapping[str, Sequence[float]],
    log: bool = False,
) -> None:
    """A group of bars for each of `names`, a bar in it for each of `groups`."""
    figure, axes = plt.subplots(figsize=(9, 2.8), layout="constrained")
    width = 0.8 / len(groups)
    look = looks(list(groups))
    for number, (group, values) in enumerate(groups.items()):
        at = [i + (number - (len(groups) - 1) / 2) * width for i in range(len(names))]
        axes.bar(at, values, width, label=group, **look[group].bar())
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
    if log:
        axes.set_yscale("log")
    axes.set_ylabel(label, fontsize=8)
    axes.grid(axis="y", linewidth=0.3)
    _legend(axes, len(groups))
    _save(figure, path)


def cumulative(path: Path, data: Results, points: Sequence[str], schemes: Sequence[str]) -> None:
    """Mean of the seeds' quantiles, up to 95 %."""
    figure, axes = plt.subplots(
        1, 2 * len(points), figsize=(9, 2.6), sharey=True, layout="constrained"
    )
    look = looks(schemes)
    upto = sum(q <= 0.951 for q in QUANTILES)
    for column, (point, kind) in enumerate((p, k) for p in points for k in ("write", "read")):
        for scheme in schemes:
            quantiles = [
                mean([data.entry(point, s, scheme)[f"{kind}_q"][i] / 1e6 for s in data.seeds()])
                for i in range(upto)
            ]
            axes[column].plot(
                quantiles, QUANTILES[:upto], label=scheme, linewidth=1.2, **look[scheme].line()
            )
        axes[column].set_xscale("log")
        # Of an axis of less than a decade matplotlib names the ticks between, over each other.
        axes[column].xaxis.set_major_locator(LogLocator(numticks=4))
        axes[column].xaxis.set_minor_formatter(NullFormatter())
        axes[column].set_title(f"{point}, {kind}s", fontsize=8)
        axes[column].set_xlabel("latency, ms", fontsize=8)
        axes[column].grid(linewidth=0.3)
    axes[0].set_ylabel("share of the requests", fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(schemes), fontsize=7,
                  frameon=False)  # fmt: skip
    _save(figure, path)


def curves(
    path: Path, x: Sequence[float], x_label: str, y_label: str, lines: Mapping[str, Sequence[float]]
) -> None:
    """A line for each of `lines`, over the same x."""
    figure, axes = plt.subplots(figsize=(5, 2.8), layout="constrained")
    look = looks(list(lines))
    for label, values in lines.items():
        axes.plot(
            x, values, marker="o", markersize=3, linewidth=1.2, label=label, **look[label].line()
        )
    axes.set_xlabel(x_label, fontsize=8)
    axes.set_ylabel(y_label, fontsize=8)
    axes.grid(linewidth=0.3)
    _legend(axes, 4)
    _save(figure, path)


def _together(at: Mapping[str, tuple[float, float]]) -> list[tuple[str, float, float]]:
    """Names of points that would be drawn on each other, as one: within 4 percent of both."""
    groups: list[tuple[list[str], float, float]] = []
    for name, (x, y) in at.items():
        for names, other_x, other_y in groups:
            if abs(x / other_x - 1) < 0.04 and abs(y / other_y - 1) < 0.04:
                names.append(name)
                break
        else:
            groups.append(([name], x, y))
    return [(", ".join(names), x, y) for names, x, y in groups]


# Of a name from its point, in points: the nearest that hides nothing is taken.
_OFFSETS = sorted(
    ((side * right, up) for side in (1, -1) for right in (7, 20, 40) for up in range(-60, 61, 9)),
    key=lambda at: (abs(at[1] + 3) + abs(at[0]), -at[0], at[1]),
)


def _named(
    figure: Any, axes: Any, at: Mapping[str, tuple[float, float]], look: Mapping[str, Look]
) -> None:
    """Writes the names beside the points, each in its point's colour, and none over another."""
    figure.canvas.draw()
    # Where things are now is where they stay.
    figure.set_layout_engine("none")
    drawn = figure.canvas.get_renderer()
    within = axes.get_window_extent()
    points = axes.transData.transform(list(at.values()))
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in points]
    for name, x, y in _together(at):
        for right, up in _OFFSETS:
            far = abs(up) > 9 or abs(right) > 7
            text = axes.annotate(
                name, (x, y), xytext=(right, up - 3), textcoords="offset points", fontsize=7,
                ha="left" if right > 0 else "right", color=look[name.split(", ")[0]].colour,
                arrowprops={"arrowstyle": "-", "linewidth": 0.3, "shrinkA": 0,
                            "relpos": (0 if right > 0 else 1, 0.5)} if far else None,
            )  # fmt: skip
            text.update_positions(drawn)
            # Of the words alone: an annotation's own has its line, too.
            box = Text.get_window_extent(text, drawn)
            inside = within.contains(*box.min) and within.contains(*box.max)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()
        else:
            # No place is free: a picture that is hard to read is better than none.
            axes.annotate(name, (x, y), xytext=(7, 3), textcoords="offset points", fontsize=7)


def front(
    path: Path,
    at: Mapping[str, tuple[float, float]],
    best: Sequence[str],
    x_label: str,
    y_label: str,
) -> None:
    """A point for each name, ringed if nobody dominates it."""
    figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
    look = looks(list(at))
    for name, (x, y) in at.items():
        axes.plot(x, y, "o", color=look[name].colour, markersize=5)
        if name in best:
            axes.plot(x, y, "o", markersize=11, markerfacecolor="none", markeredgecolor="#222")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_label, fontsize=8)
    axes.set_ylabel(y_label, fontsize=8)
    axes.grid(linewidth=0.3)
    _named(figure, axes, at, look)
    _save(figure, path)


def changes(
    path: Path, columns: Sequence[str], rows: Mapping[str, Sequence[float]], title: str
) -> None:
    """A map of percentages of a baseline: blue is less, orange is more, to a tenth and tenfold."""
    figure, axes = plt.subplots(figsize=(7, 0.8 + 0.19 * len(rows)), layout="constrained")
    logs = [[math.log10(max(value, 0.1) / 100) for value in values] for values in rows.values()]
    axes.imshow(logs, cmap="PuOr_r", vmin=-1, vmax=1, aspect="auto")
    for y, (values, of) in enumerate(zip(rows.values(), logs, strict=True)):
        for x, (value, log) in enumerate(zip(values, of, strict=True)):
            said = "< 1" if value < 1 else f"{value:.0f}"
            axes.text(x, y, said, ha="center", va="center", fontsize=7,
                      color="black" if abs(log) < 0.6 else "white")  # fmt: skip
    axes.set_xticks(range(len(columns)), columns, fontsize=7, rotation=20, ha="right")
    axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
    axes.set_title(title, fontsize=9)
    _save(figure, path)


def heat(
    path: Path,
    columns: Sequence[str],
    label: str,
    maps: Sequence[tuple[str, Mapping[str, Sequence[float]]]],
) -> None:
    """Percent of the baseline, a map beside the other: blue is less, orange is more."""
    figure, axes = plt.subplots(
        1, len(maps), figsize=(4.4 * len(maps), 3.4), sharey=True, layout="constrained"
    )
    for each, (title, rows) in zip(axes, maps, strict=True):
        each.imshow(list(rows.values()), cmap="PuOr_r", vmin=30, vmax=170, aspect="auto")
        for y, values in enumerate(rows.values()):
            for x, value in enumerate(values):
                light = 62 < value < 138
                each.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=6,
                          color="black" if light else "white")  # fmt: skip
        each.set_xticks(range(len(columns)), columns, fontsize=7, rotation=45)
        each.set_yticks(range(len(rows)), list(rows), fontsize=8)
        each.set_xlabel(label, fontsize=8)
        each.set_title(f"{title}, % of Baseline", fontsize=9)
    _save(figure, path)


def over_time(path: Path, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """The worst latency and the bytes a second of each slot of a run, a line for each scheme."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 3.6), sharex=True, layout="constrained")
    look = looks(list(entries))
    for label, entry in entries.items():
        slot_s = entry["slot_ns"] / 1e9
        at = [i * slot_s for i in range(len(entry["slot_bytes"]))]
        worst = [w / 1e6 or None for w in entry["slot_worst_ns"]]
        line = {"linewidth": 1, **look[label].line()}
        axes[0].plot(at, worst, label=label, **line)
        axes[1].plot(at, [b / slot_s / 1e6 for b in entry["slot_bytes"]], **line)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("worst latency, ms", fontsize=8)
    _legend(axes[0], len(entries))
    axes[1].set_ylabel("written and read, MB/s", fontsize=8)
    axes[1].set_xlabel("time since the first request, s", fontsize=8)
    for each in axes:
        each.grid(linewidth=0.3)
    _save(figure, path)
