# SPDX-License-Identifier: GPL-2.0-or-later
"""What the slowest commands waited for, as shares: bars of one length."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from scarplib.results.causes import TAIL_PERMILLE, labels, merges
from scarplib.results.host_rows import AT_DRIVE
from scarplib.results.pictures.style import CAUSE_COLOURS
from scarplib.results.pictures.tail import TAILS
from scarplib.results.summary import SchemeData
from scarplib.results.units import human_ns


def figure_cause_shares(schemes: list[SchemeData]) -> Figure | None:
    """What the slowest commands waited for, as shares of their time."""
    bars = []
    for direction in TAILS:
        for data in schemes:
            tail = data.summary["tail_causes"].get(direction)
            if tail:
                bars.append((data.name, direction, tail))
    if not bars:
        return None
    figure, axes = plt.subplots(figsize=(13.5, 0.62 * len(bars) + 2.1), layout="constrained")
    used: dict[str, Any] = {}
    for y, (_, _, tail) in enumerate(bars):
        total = sum(tail["cause_ns"].values()) or 1
        left = 0.0
        for cause, colour in CAUSE_COLOURS.items():
            share = tail["cause_ns"].get(cause, 0) / total * 100
            if not share:
                continue
            bar = axes.barh(y, share, left=left, color=colour, edgecolor="white", height=0.68)
            if share >= 7:
                dark = sum(mpl.colors.to_rgb(colour)) < 1.5
                axes.text(
                    left + share / 2,
                    y,
                    f"{share:.0f} %",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if dark else "black",
                )
            if share >= 0.5:
                used.setdefault(cause, bar)
            left += share
        axes.text(101, y, f"mean {human_ns(tail['mean_ns'])}  (n = {tail['count']})", va="center")
    axes.set_yticks(
        range(len(bars)), [f"{name}, {AT_DRIVE[direction]}" for name, direction, _ in bars]
    )
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of their time (%)")
    axes.set_title(f"Where the slowest {TAIL_PERMILLE / 10:g} % spent their time")
    words = labels(merges(data.summary for data in schemes))
    ordered = [cause for cause in CAUSE_COLOURS if cause in used]
    figure.legend(
        [used[cause] for cause in ordered],
        [words[cause] for cause in ordered],
        loc="outside lower center",
        ncols=min(5, len(ordered)),
    )
    return figure
