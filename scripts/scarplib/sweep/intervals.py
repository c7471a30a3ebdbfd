# SPDX-License-Identifier: GPL-2.0-or-later
"""Means over seeds and their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

# Of Student's t: a two-sided interval of 95 % leaves 2.5 % above it.
_BELOW = 0.975


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    def below(self, limit: float) -> bool:
        """The whole interval is."""
        return self.high < limit

    def above(self, limit: float) -> bool:
        """The whole interval is."""
        return self.low > limit

    def text(self, unit: str = " %", sign: bool = True, digits: int = 1) -> str:
        """As in "-12.3 % ± 0.4"."""
        form = f"{'+' if sign else ''}.{digits}f"
        half = (self.high - self.low) / 2
        return f"{self.mean:{form}}{unit} ± {half:.{digits}f}"


def interval(values: Sequence[float]) -> Interval:
    """Of independent values, one for each seed.  One value has no interval."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return Interval(mean, -math.inf, math.inf, n)
    spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    half = float(stdtrit(n - 1, _BELOW)) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def mean(values: Sequence[float]) -> float:
    """Arithmetic."""
    return sum(values) / len(values)
