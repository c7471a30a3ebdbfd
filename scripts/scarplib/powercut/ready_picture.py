# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of `scarp powercut --ready`: by size, and by the interval of checkpoints."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from scarplib.powercut.ready import FILE, PICTURE
from scarplib.results.pictures.style import style

# Told apart by those who see few colours, too (Okabe, Ito 2008).
_LINES = (("#D55E00", "-"), ("#0072B2", "--"), ("#009E73", "-."), ("#555555", ":"))


def _by_size(axes: Axes, rows: list[dict[str, Any]]) -> None:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    for way, (colour, dashes) in zip(ways, _LINES, strict=True):
        own = [row for row in rows if row["way"] == way]
        sizes = [row["flash_bytes"] / 2**30 for row in own]
        axes.plot(
            sizes, [row["ready_ns"] / 1e9 for row in own],
            color=colour, linestyle=dashes, marker="o", markersize=4, label=way,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="flash of the drive, GiB (16 dies)")
    axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylabel("time until ready, s")
    axes.set_title("After a power cut, by size", loc="left")
    # Room for the legend above the lines.
    axes.set_ylim(top=axes.get_ylim()[1] * 100)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def _by_interval(axes: Axes, rows: list[dict[str, Any]]) -> None:
    labels = [
        f"{row['checkpoint_pages']:,}" if row["checkpoint_pages"] else "never" for row in rows
    ]
    at = range(len(rows))
    times = [sorted(ns / 1e9 for ns in row["ready_ns"]) for row in rows]
    axes.vlines(at, [t[0] for t in times], [t[-1] for t in times], color="#0072B2", alpha=0.5)
    axes.plot(at, [median(t) for t in times], color="#0072B2", marker="o", markersize=4)
    axes.set(yscale="log", xlabel="pages between two checkpoints")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("time until ready, s", color="#0072B2")
    axes.set_xticks(at, labels)
    axes.set_title("What checkpoints give, and cost (32 GiB)", loc="left")
    cost = axes.twinx()
    cost.spines["right"].set_visible(True)
    never = rows[0]["writes_per_s"]
    cost.plot(
        at, [row["writes_per_s"] / never * 100 for row in rows],
        color="#D55E00", linestyle="--", marker="s", markersize=4,
    )  # fmt: skip
    cost.set_ylim(0, 105)
    cost.set_ylabel("random writes, % of those without", color="#D55E00")


def main(folder: Path) -> None:
    """Of `ready.json` in the folder."""
    found = json.loads((folder / FILE).read_text())
    style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    _by_size(left, found["sizes"])
    _by_interval(right, found["intervals"])
    figure.savefig(folder / PICTURE, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
