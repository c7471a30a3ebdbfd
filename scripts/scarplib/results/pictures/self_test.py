# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of `scarp doctor`: lateness in the course of its test, above the host's load."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from scarplib.results.pictures.latency_over_time import READ_COLOUR
from scarplib.results.pictures.lateness import draw_load
from scarplib.results.pictures.style import latency_axis, style


def figure_self_test(folder: Path) -> Figure:
    """Of what dev/doctor.py left there."""
    result = json.loads((folder / "result.json").read_text())
    with (folder / "lateness.csv").open() as stream:
        rows = [{key: int(cell) for key, cell in row.items()} for row in csv.DictReader(stream)]
    # Without a completion there is no beginning, and nothing to draw.
    begin = rows[0]["host_ns"] if rows else 0
    seconds = [(row["host_ns"] - begin) / 1e9 for row in rows]
    figure = plt.figure(figsize=(13.5, 4.9), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=[3, 1.3])
    above = figure.add_subplot(grid[0])
    below = figure.add_subplot(grid[1], sharex=above)
    for key, colour, label in (
        ("late_max_ns", "#8A8A8A", "greatest of 10 ms"),
        ("late_p50_ns", READ_COLOUR, "median of 10 ms"),
    ):
        # A logarithmic axis has no 0.
        late = [max(row[key], 100) for row in rows]
        above.plot(seconds, late, ".", color=colour, markersize=3, label=label)
    above.axhline(result["bound_ns"], color="#D55E00", linewidth=1, label="bound of the p99")
    above.axhline(max(result["late_p99_ns"], 100), color="#222", linewidth=1, ls=":", label="p99")
    above.set_yscale("log")
    latency_axis(above.yaxis)
    above.set_ylabel("lateness")
    verdict = "good" if result["late_p99_ns"] <= result["bound_ns"] else "doubtful"
    above.set_title(f"{result['name']}: lateness ({verdict})")
    above.legend(loc="upper right", ncols=4, fontsize=8, markerscale=3)
    above.tick_params(labelbottom=False)
    draw_load(below, folder / "load.csv", begin, "the test's share")
    below.set_xlim(0, max(seconds, default=1) or 1)
    below.set_xlabel("time since the test's start (s)")
    return figure


def main() -> int:
    """As `scarp doctor` calls it: FOLDER, which gets lateness.png."""
    style()
    folder = Path(sys.argv[1])
    figure_self_test(folder).savefig(folder / "lateness.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
