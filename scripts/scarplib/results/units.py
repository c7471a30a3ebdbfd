# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers as people read them."""

from __future__ import annotations


def human_ns(value: float | None) -> str:
    """Three significant digits and a unit, as people compare latencies."""
    if value is None:
        return "–"
    for limit, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if value < limit * 0.9995:
            number = value / divisor
            digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
            return f"{number:.{digits}f} {unit}"
    raise AssertionError("unreachable")
