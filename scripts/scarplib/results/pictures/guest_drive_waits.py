# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's slowest calls: where their time went, and what the slowest one stood behind."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from scarplib.results.guest_drive_join import (
    LABELS,
    Shares,
    Waits,
    drive_shares,
    place,
    shares,
    slowest_calls,
)
from scarplib.results.pictures.style import CAUSE_COLOURS, latency_axis
from scarplib.results.summary import SchemeData
from scarplib.results.units import human_ns

_BARS, _STEPS = 16, 12
_COLOURS = {"guest": "#F0F0F0", "block": "#C9C2E6", "driver": "#7B6FB0", **CAUSE_COLOURS}


def _bar(axes: Axes, row: int, begin: float, span: float, found: Shares, met: set[str]) -> None:
    """One bar of the causes' shares of a span."""
    total, left = sum(found.values()) or 1, begin
    for name in LABELS:
        if ns := found.get(name, 0):
            width = span * ns / total
            axes.barh(row, width, left=left, height=0.75, color=_COLOURS[name], linewidth=0)
            left += width
            if ns * 100 >= total:
                met.add(name)


def _finish(axes: Axes, labels: list[str], title: str) -> None:
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    latency_axis(axes.xaxis)
    axes.set_title(title)


def _slowest(axes: Axes, data: SchemeData, met: set[str]) -> None:
    """The slowest calls, or without any the slowest requests."""
    assert data.block
    found: list[tuple[str, Shares]]
    if data.block.trace.calls:
        waits = Waits(data.block)
        calls = slowest_calls(data.block.trace.calls, _BARS)
        found = [(f"{c.name} ({c.thread})", waits.call_shares(c)) for c in calls]
    else:
        slow = sorted(data.block.trace.requests, key=lambda r: (r.queue - r.complete, r.queue))
        found = [(f"{place(r)}", shares(data.block, r)) for r in slow[:_BARS]]
    for row, (_, each) in enumerate(found):
        _bar(axes, row, 0, sum(each.values()), each, met)
    _finish(axes, [label for label, _ in found], f"{data.name}: the slowest")


def _one(axes: Axes, data: SchemeData, met: set[str]) -> None:
    """The slowest call, step by step; the shortest steps are left out."""
    assert data.block
    waits = Waits(data.block)
    (call,) = slowest_calls(data.block.trace.calls, 1)
    steps = waits.steps(call)
    told = [
        s for s in steps if s.where == "drive" or (s.end - s.begin) * 100 > call.end - call.begin
    ]
    kept = sorted(told, key=lambda step: step.begin - step.end)[:_STEPS]
    labels: list[str] = []
    for step in sorted(kept, key=lambda step: step.begin):
        span = step.end - step.begin
        found = {step.where: span}
        if step.request and step.where == "drive":
            found = drive_shares(data.block, step.request)
        _bar(axes, len(labels), step.begin - call.begin, span, found, met)
        axes.annotate(
            human_ns(span),
            (step.end - call.begin, len(labels)),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
        labels.append(
            f"{place(step.request)}, {step.request.thread}" if step.request else "no request"
        )
    took = call.end - call.begin
    axes.set_xlim(0, took * 1.12)
    _finish(axes, labels, f"{data.name}: one {call.name}, {human_ns(took)}")
    axes.set_xlabel("since the call began")


def figure_guest_drive_waits(schemes: list[SchemeData]) -> Figure | None:
    """A row for each scheme; None if no guest was recorded."""
    recorded = [data for data in schemes if data.block and data.block.trace.requests]
    if not recorded:
        return None
    figure, all_axes = plt.subplots(
        len(recorded), 2, figsize=(14, 0.8 + 3.6 * len(recorded)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    met: set[str] = set()
    for (left, right), data in zip(all_axes, recorded, strict=True):
        _slowest(left, data, met)
        if data.block and data.block.trace.calls:
            _one(right, data, met)
        else:
            right.set_axis_off()
    handles = [Rectangle((0, 0), 1, 1, color=_COLOURS[name]) for name in LABELS if name in met]
    words = [LABELS[name] for name in LABELS if name in met]
    figure.legend(handles, words, loc="outside lower center", ncols=5, fontsize=8.5)
    return figure
