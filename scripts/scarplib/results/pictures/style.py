# SPDX-License-Identifier: GPL-2.0-or-later
"""What the pictures share: colours, axes of latencies, matplotlib's style (in the cache's venv)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

# Families: garbage collection warm, other host I/O blue, the command's own work grey.
CAUSE_COLOURS = {
    "die_gc_program": "#D55E00",
    "die_erase": "#8C2D04",
    "die_gc_held": "#E69F00",
    "die_gc_read": "#F5C27A",
    "die_fold_program": "#A6611A",
    "die_fold_read": "#DFC27D",
    "no_space": "#F0E442",
    "die_host_program": "#0072B2",
    "die_host_read": "#56B4E9",
    "channel": "#009E73",
    "host_queue": "#CC79A7",
    "buffer_full": "#AA4499",
    "order": "#882255",
    "link": "#B8D8C0",
    "rmw": "#5E5E5E",
    "mapping": "#44AA99",
    "suspended": "#999933",
    "die_suspend": "#DDCC77",
    "throttled": "#E7298A",
    "array": "#8A8A8A",
    "transfer": "#B5B5B5",
    "controller": "#D9D9D9",
}


def style() -> None:
    """Set matplotlib's defaults."""
    plt.rcParams.update(
        {
            "font.family": "DejaVu Sans",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.grid": True,
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "savefig.dpi": 130,
            "figure.dpi": 130,
        }
    )


def scatter(
    axes: Axes,
    seconds: Sequence[float],
    latencies: Sequence[int],
    colour: str,
    label: str | None = None,
    order: int = 1,
) -> None:
    """A dot for each of many commands; rasterized, as an SVG would have a shape for each."""
    # As arrays: matplotlib asks a list's values one by one whether they are masked.
    axes.scatter(
        np.asarray(seconds),
        np.asarray(latencies),
        s=2.0,
        color=colour,
        alpha=0.45,
        linewidths=0,
        label=label,
        zorder=order,
        rasterized=True,
    )


def _latency_label(value: float, _: Any = None) -> str:
    if not value:
        return "0"
    for limit, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if value < limit:
            return f"{value / divisor:g} {unit}"
    return ""


def latency_axis(axis: Any) -> None:
    """Label an axis of nanoseconds in µs, ms and s."""
    axis.set_major_formatter(FuncFormatter(_latency_label))
    axis.set_minor_formatter(NullFormatter())
