# SPDX-License-Identifier: GPL-2.0-or-later
"""The picture of `--at`: one line until the instant, and from there on one for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from scarplib.results.pictures.schemes import Look, looks
from scarplib.results.pictures.style import latency_axis
from scarplib.results.summary import SchemeData

# Windows of a whole run, each with its slowest command.
WINDOWS = 120

Times = NDArray[np.int64]


def _times(data: SchemeData) -> tuple[Times, Times]:
    commands = data.commands
    return np.frombuffer(commands.submit, np.int64), np.frombuffer(commands.complete, np.int64)


def slowest(data: SchemeData, at_ns: int, width_ns: int) -> tuple[Times, Times]:
    """Of each window that has completions: its middle, and the latency of its slowest command.

    One window begins at the instant, so that none has commands of before and after it.
    """
    submit, complete = _times(data)
    window = (complete - at_ns) // width_ns
    numbers = np.unique(window)
    order = np.argsort(window, kind="stable")
    first = np.searchsorted(window[order], numbers)
    most = np.maximum.reduceat((complete - submit)[order], first)
    return at_ns + numbers * width_ns + width_ns // 2, most


def ahead(data: SchemeData, stem: SchemeData, moments: Times) -> Times:
    """How many commands more than the stem's have completed by each moment."""
    own, stems = (np.sort(_times(each)[1]) for each in (data, stem))
    return np.searchsorted(own, moments, "right") - np.searchsorted(stems, moments, "right")


def _fork(
    axes: Sequence[Axes], stem: SchemeData, branches: Sequence[SchemeData], at_ns: int,
    look: Mapping[str, Look],
) -> None:  # fmt: skip
    begin, end = stem.begin_ns, max(data.end_ns for data in (stem, *branches))
    width_ns = max(1, (end - begin) // WINDOWS)
    moments = np.linspace(begin, end, 4 * WINDOWS).astype(np.int64)
    left, right = axes
    for data in (stem, *branches):
        line = {**look[data.name].line(), "linewidth": 2.2 if data is stem else 1.5}
        middle, most = slowest(data, at_ns, width_ns)
        # Until the instant all are the stem: its line alone is drawn.
        shown = np.ones(len(middle), bool) if data is stem else middle >= at_ns
        left.plot((middle[shown] - begin) / 1e9, most[shown], label=data.name, **line)
        after = moments if data is stem else moments[moments >= at_ns]
        right.plot((after - begin) / 1e9, ahead(data, stem, after), label=data.name, **line)
    for each in axes:
        each.axvline((at_ns - begin) / 1e9, color="#444", linewidth=1, linestyle=":")
        each.set_xlabel("time since the job's start (s)")
        each.legend(loc="best", fontsize=8.5)
    left.set_yscale("log")
    latency_axis(left.yaxis)
    left.set_ylabel("slowest command")
    left.set_title(
        f"The slowest of each {width_ns / 1e6:.3g} ms: {stem.name} until the dotted line"
    )
    right.set_ylabel("commands")
    right.set_title(f"Commands done, more than {stem.name}'s by then")


def figure_fork(
    schemes: Sequence[SchemeData], forks: Mapping[str, Mapping[str, Any]]
) -> Figure | None:
    """A row for each stem; forks are those of a summary.json.  None without any."""
    by_name = {data.name: data for data in schemes if len(data.commands)}
    rows: dict[str, list[SchemeData]] = {}
    for name, fork in forks.items():
        if name in by_name and fork["stem"] in by_name:
            rows.setdefault(fork["stem"], []).append(by_name[name])
    if not rows:
        return None
    figure, axes = plt.subplots(
        len(rows), 2, figsize=(13.5, 4.4 * len(rows)), layout="constrained", squeeze=False
    )
    look = looks([data.name for data in schemes])
    for row, (stem, branches) in zip(axes, rows.items(), strict=True):
        at_ns = int(forks[branches[0].name]["at_ns"])
        _fork(row, by_name[stem], branches, at_ns, look)
    return figure
