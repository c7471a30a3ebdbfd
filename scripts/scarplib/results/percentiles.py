# SPDX-License-Identifier: GPL-2.0-or-later
"""Nearest-rank percentiles, of values and of histograms."""

from __future__ import annotations

from collections.abc import Sequence

PERCENTILES = ("50", "99", "99.9", "99.99")


def percentile(ordered: Sequence[int], percent: str) -> int:
    """The nearest-rank percentile; percent is decimal text, so that 99.9 is exact."""
    if not ordered:
        raise ValueError("no values")
    whole, _, fraction = percent.partition(".")
    scale = 10 ** len(fraction)
    rank: int = -(-int(whole + fraction) * len(ordered) // (100 * scale))
    return ordered[max(rank, 1) - 1]


def has(percent: str, count: int) -> bool:
    """Whether this percentile of so many values is another one than their greatest."""
    whole, _, fraction = percent.partition(".")
    rank: int = -(-int(whole + fraction) * count // (100 * 10 ** len(fraction)))
    return rank < count


def binned_percentile(bins: dict[int, int], total: int, percent: str) -> int:
    """The same of a histogram: how many (`bins`) of each value, `total` in all."""
    whole, _, fraction = percent.partition(".")
    rank: int = -(-int(whole + fraction) * total // (100 * 10 ** len(fraction)))
    seen = 0
    for value in sorted(bins):
        seen += bins[value]
        if seen >= rank:
            return value
    raise ValueError("empty histogram")
