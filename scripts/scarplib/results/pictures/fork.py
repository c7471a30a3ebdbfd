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

# Moments of a whole run at which it is looked at.
MOMENTS = 480

Times = NDArray[np.int64]


def _times(data: SchemeData) -> tuple[Times, Times]:
    commands = data.commands
    return np.frombuffer(commands.submit, np.int64), np.frombuffer(commands.complete, np.int64)


def oldest(data: SchemeData, moments: Times) -> Times:
    """How long the oldest of the commands under way had waited at each moment (ns); 0: none was."""
    submit, complete = _times(data)
    order = np.argsort(submit, kind="stable")
    submit, latest = submit[order], np.maximum.accumulate(complete[order])
    # The first command that ends after the moment is the first that raises `latest` beyond it.
    first = np.searchsorted(latest, moments, "right")
    came = np.append(submit, np.iinfo(np.int64).max)[first]
    return np.where(came <= moments, moments - np.minimum(came, moments), 0)


def ahead(data: SchemeData, stem: SchemeData, moments: Times) -> Times:
    """How many commands more than the stem's have completed by each moment."""
    own, stems = (np.sort(_times(each)[1]) for each in (data, stem))
    return np.searchsorted(own, moments, "right") - np.searchsorted(stems, moments, "right")


def _fork(
    axes: Sequence[Axes], stem: SchemeData, branches: Sequence[SchemeData], at_ns: int,
    look: Mapping[str, Look],
) -> None:  # fmt: skip
    begin, end = stem.begin_ns, max(data.end_ns for data in (stem, *branches))
    moments = np.linspace(begin, end, MOMENTS).astype(np.int64)
    left, right = axes
    for data in (stem, *branches):
        line = {**look[data.name].line(), "linewidth": 2.2 if data is stem else 1.5}
        # Until the instant all are the stem: its line alone is drawn.
        shown = moments if data is stem else moments[moments >= at_ns]
        age = oldest(data, shown)
        seconds = (shown - begin) / 1e9
        left.plot(seconds, np.where(age > 0, age, np.nan), label=data.name, **line)
        right.plot(seconds, ahead(data, stem, shown), label=data.name, **line)
    for each in axes:
        each.axvline((at_ns - begin) / 1e9, color="#444", linewidth=1, linestyle=":")
        each.set_xlabel("time since the job's start (s)")
        each.legend(loc="best", fontsize=8.5)
    left.set_yscale("log")
    latency_axis(left.yaxis)
    left.set_ylabel("has waited for")
    left.set_title(f"The oldest command under way: {stem.name} until the dotted line")
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
