# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution of latencies: all of it, and its tail."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from scarplib.device_logs.command_log import DEALLOCATE, READ, WRITE
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import latency_axis
from scarplib.results.summary import SchemeData


def figure_distribution(schemes: list[SchemeData]) -> Figure:
    """The distribution twice: all of it, and its tail on a logarithmic axis."""
    figure, (whole, tail) = plt.subplots(1, 2, figsize=(13.5, 4.8), layout="constrained")
    smallest = 1.0
    look = looks([data.name for data in schemes])
    for data in schemes:
        for op, label, width, faint in (
            (READ, "reads", 2.0, 1.0),
            (WRITE, "writes", 1.2, 0.6),
            (DEALLOCATE, "deallocations", 0.8, 0.4),
        ):
            ordered = sorted(data.commands.latencies(op))
            if not ordered:
                continue
            n = len(ordered)
            smallest = min(smallest, 1 / n)
            style = {**look[data.name].line(), "linewidth": width, "alpha": faint, "where": "post"}
            name = f"{data.name} {label}"
            whole.step(ordered, [(i + 1) / n * 100 for i in range(n)], label=name, **style)
            # The share that is at least this slow: the slowest one stays visible.
            tail.step(ordered, [(n - i) / n for i in range(n)], label=name, **{**style})
    for axes in (whole, tail):
        axes.set_xscale("log")
        latency_axis(axes.xaxis)
        axes.set_xlabel("latency at the device")
    whole.set_ylabel("commands at most this slow (%)")
    whole.set_ylim(0, 100.5)
    whole.set_title("Cumulative distribution")
    whole.legend(loc="lower right")
    tail.set_yscale("log")
    tail.set_ylim(smallest * 0.8, 1.1)
    levels = {1.0: "all", 0.5: "p50", 0.1: "p90", 1e-2: "p99", 1e-3: "p99.9", 1e-4: "p99.99"}
    shown = {share: name for share, name in levels.items() if share >= smallest * 0.8}
    tail.set_yticks(list(shown), list(shown.values()))
    tail.yaxis.set_minor_formatter(NullFormatter())
    tail.set_ylabel("share of commands at least this slow")
    tail.set_title("The tail (right and up is worse)")
    return figure
