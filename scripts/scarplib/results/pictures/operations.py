# SPDX-License-Identifier: GPL-2.0-or-later
"""The latencies that a script took down itself: percentiles of each operation, side by side."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarplib.results import script
from scarplib.results.pictures.schemes import Look, looks
from scarplib.results.pictures.style import latency_axis
from scarplib.results.summary import SchemeData
from scarplib.results.units import human_ns

_NINES = ("50", "90", "99", "99.9", "99.99")


def _curve(axes: Axes, look: Look, name: str, ordered: list[int]) -> float:
    """One scheme's: to the right ten times rarer; returns how far it goes."""
    count = len(ordered)
    xs = [-math.log10(1 - i / count) for i in range(count)]
    axes.step(xs, ordered, where="post", **look.line(), linewidth=2, label=name)
    axes.annotate(
        human_ns(ordered[-1]),
        (xs[-1], ordered[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=8.5,
        color=look.colour,
    )
    return xs[-1]


def figure_operations(schemes: list[SchemeData]) -> Figure | None:
    """One picture for each operation's name; None if no script took any down."""
    found = {data.name: script.operations(data.folder / script.LATENCIES) for data in schemes}
    names = list(dict.fromkeys(name for each in found.values() for name in each))
    if not names:
        return None
    figure, all_axes = plt.subplots(
        1, len(names), figsize=(7.5 * len(names), 4.6), squeeze=False, layout="constrained"
    )
    look = looks([data.name for data in schemes])
    for axes, name in zip(all_axes[0], names, strict=True):
        most = 1.0
        for data in schemes:
            if ordered := found[data.name].get(name):
                most = max(most, _curve(axes, look[data.name], data.name, ordered))
        axes.set_yscale("log")
        latency_axis(axes.yaxis)
        shown = [p for p in _NINES if -math.log10(1 - float(p) / 100) <= most]
        axes.set_xticks([-math.log10(1 - float(p) / 100) for p in shown], [f"{p} %" for p in shown])
        axes.set_xlim(0, most * 1.12)
        axes.set_xlabel("at least as fast")
        axes.set_ylabel("latency, as the script saw it")
        axes.set_title(f"{name}: how slow the slow ones are")
        axes.legend(loc="best")
    return figure
