# SPDX-License-Identifier: GPL-2.0-or-later
"""Means over seeds and their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, 97.5 %, by degrees of freedom (1 to 30): NIST/SEMATECH e-Handbook, 1.3.6.7.2.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


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
    half = _T[min(n - 1, len(_T)) - 1] * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def mean(values: Sequence[float]) -> float:
    """Arithmetic."""
    return sum(values) / len(values)
