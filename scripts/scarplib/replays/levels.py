# SPDX-License-Identifier: GPL-2.0-or-later
"""Levels of a write rate: where a drive that is filled becomes slower, and how fast it is.

The drive's bytes are cut into parts of one size, and each part has a rate.  The levels are the
fewest that fit these rates well: of all ways to cut the parts into stretches, the one with the
least sum of squared deviations of the rates' logarithms, and of a price for each stretch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

# So many parts: a level begins at the border of one, so it is placed to half a percent.
_PARTS = 200
# A level's price.  Two parts at half the rate of the others are worth one (2 × ln(2)² = 0.96);
# parts of which every other one is a third slower, as folds come and go, are not.
_PRICE = 0.5


@dataclass(frozen=True)
class Level:
    """A stretch of about one rate."""

    from_bytes: int
    to_bytes: int
    windows: float

    def bytes_per_s(self, window_ns: int) -> float:
        """Its mean."""
        return (self.to_bytes - self.from_bytes) * 1e9 / (self.windows * window_ns)


def _times(windows: Sequence[int], places: Sequence[int]) -> list[float]:
    """When so many bytes were written, in windows; within a window its rate is one."""
    found, done, window = [], 0, 0
    for place in places:
        while window + 1 < len(windows) and done + windows[window] < place:
            done += windows[window]
            window += 1
        found.append(window + (place - done) / windows[window] if place > done else float(window))
    return found


def _stretches(values: Sequence[float]) -> list[int]:
    """Indexes at which a stretch begins, and the end."""
    sums = [0.0, *itertools.accumulate(values)]
    squares = [0.0, *itertools.accumulate(value * value for value in values)]
    best, begin = [0.0], [0]
    for end in range(1, len(values) + 1):
        costs = [
            best[i] + _PRICE + squares[end] - squares[i] - (sums[end] - sums[i]) ** 2 / (end - i)
            for i in range(end)
        ]
        begin.append(min(range(end), key=costs.__getitem__))
        best.append(costs[begin[end]])
    cuts = [len(values)]
    while cuts[-1]:
        cuts.append(begin[cuts[-1]])
    return cuts[::-1]


def find(windows: Sequence[int]) -> list[Level]:
    """Of bytes that were written in each window of one length; the last one may be shorter."""
    whole = windows[:-1] if len(windows) > 1 else windows
    total = sum(whole)
    parts = min(_PARTS, len(whole))
    places = [total * i // parts for i in range(parts + 1)]
    times = _times(whole, places)
    # A part that was written in no time at all has no rate; none is that fast.
    rates = [
        math.log((to - at) / max(end - begin, 1e-9))
        for (at, to), (begin, end) in zip(
            itertools.pairwise(places), itertools.pairwise(times), strict=True
        )
    ]
    return [
        Level(places[begin], places[end], times[end] - times[begin])
        for begin, end in itertools.pairwise(_stretches(rates))
    ]
