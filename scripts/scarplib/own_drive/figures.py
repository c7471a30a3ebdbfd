# SPDX-License-Identifier: GPL-2.0-or-later
"""Two probes side by side: each figure of the one, the other's, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from scarplib.own_drive.probe_file import Probe, Result

# Figures whose difference is what is judged, and by how much they may differ.
BOUNDS = {"p50": 0.05, "p99": 0.15, "rate": 0.10}
# Of a real drive that others measured.
WIDE = {"p50": 0.10, "p99": 0.25, "rate": 0.10}
# So many latencies have a 99th percentile.
ENOUGH = 1000


@dataclass(frozen=True)
class Figure:
    """One of a step; times in ns, rates in bytes a second."""

    step: str
    name: str
    drive: float
    model: float
    wide: bool = False

    @property
    def difference(self) -> float:
        """The model's, as a share of the drive's, above or below it."""
        if self.drive == self.model:
            return 0.0
        return self.model / self.drive - 1 if self.drive else math.inf

    @property
    def bound(self) -> float | None:
        """Within which it should be; None: nobody asks."""
        return (WIDE if self.wide else BOUNDS).get(self.name.split()[-1])

    @property
    def held(self) -> bool:
        """Is it within its bound?"""
        return self.bound is None or abs(self.difference) <= self.bound

    @property
    def misfit(self) -> float:
        """0: the same; grows with the ratio, whichever is larger."""
        if self.drive <= 0 or self.model <= 0:
            return 0.0 if self.drive == self.model else 1.0
        return math.log(self.model / self.drive) ** 2


def _figures(name: str, drive: Result, model: Result) -> Iterator[Figure]:
    # Only a closed step has parts.  The requests of others come at given times: their rate is the
    # plan's own, whatever the drive does.
    if drive.parts and model.parts:
        yield Figure(name, "rate", drive.bytes_per_s, model.bytes_per_s)
    for kind in ("reads", "writes"):
        one, other = getattr(drive, kind), getattr(model, kind)
        if one and other:
            yield Figure(name, f"{kind} mean", one.mean, other.mean)
            for point, value in one.points.items():
                # A point of so few is its slowest.
                if one.n >= ENOUGH or point in ("p50", "p90"):
                    yield Figure(name, f"{kind} {point}", value, other.points[point])


def compare(drive: Probe, model: Probe, steps: Iterable[str] | None = None) -> list[Figure]:
    """Of all steps that both have, or of these."""
    found: list[Figure] = []
    for name, result in drive.results.items():
        if name in model.results and (steps is None or name in steps):
            found += _figures(name, result, model.results[name])
    return found


def for_programs(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """For JSON, which has no infinity: that is null; so is a bound that nobody asks for."""
    return [
        {
            **asdict(one),
            "difference": one.difference if math.isfinite(one.difference) else None,
            "bound": one.bound,
            "held": one.held,
        }
        for one in figures
    ]


def table(figures: Iterable[Figure]) -> str:
    """As text."""
    found = list(figures)
    wide = max(22, *(len(one.step) + 2 for one in found)) if found else 22
    lines = [f"{'step':{wide}}{'figure':14}{'drive':>12}{'model':>12}{'difference':>12}"]
    for one in found:
        text = _words(one.name)
        mark = "" if one.held else "  !"
        share = f"{one.difference * 100:+.1f} %" if math.isfinite(one.difference) else "–"
        lines.append(
            f"{one.step:{wide}}{one.name:14}{text(one.drive):>12}{text(one.model):>12}{share:>12}{mark}"
        )
    return "\n".join(lines)


def verdict(figures: list[Figure], wide: bool = False) -> str:
    """How many of each kind are within their bounds."""
    lines = []
    for name, bound in (WIDE if wide else BOUNDS).items():
        found = [one for one in figures if one.name.split()[-1] == name]
        if found:
            held = sum(one.held for one in found)
            lines.append(f"{name}: {held} of {len(found)} within {100 * bound:.0f} %")
    return "\n".join(lines)


def _rate_words(value: float) -> str:
    return f"{value / 2**20:,.1f} MiB/s"


def _time_words(value: float) -> str:
    for scale, unit in ((1e6, "ms"), (1e3, "µs")):
        if value >= scale:
            return f"{value / scale:,.1f} {unit}"
    return f"{value:,.0f} ns"


def _words(name: str) -> Callable[[float], str]:
    return _rate_words if name == "rate" else _time_words
