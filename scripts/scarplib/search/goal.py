# SPDX-License-Identifier: GPL-2.0-or-later
"""The figure that a search makes as small (or as large) as it can."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from scarplib.errors import UserError
from scarplib.results.percentiles import PERCENTILES
from scarplib.results.summary import seen
from scarplib.results.units import human_ns

_MEASURES = (*(f"p{percent}" for percent in PERCENTILES), "mean", "max")
_WHAT = {"reads": "read", "writes": "write", "fsync": "sync"}
WRITE_AMPLIFICATION, IOPS = "write amplification", "IOPS"


@dataclass(frozen=True)
class Goal:
    """`measure` of a kind of work (`direction`, as summaries have it); without a measure the goal
    is one of the drive's whole figures."""

    text: str
    measure: str = ""
    direction: str = ""

    def value(self, column: dict[str, Any]) -> float | None:
        """Of a column of summary.json, the less the better; None: it has no such figure."""
        if self.text == WRITE_AMPLIFICATION:
            found = column["write_amplification"]
            return None if found is None else float(found)
        parts = {name: part for name, part in seen(column).items() if part}
        if self.text == IOPS:
            return -sum(part["iops"] for part in parts.values() if "iops" in part) or None
        figure = parts.get(self.direction, {}).get(f"{self.measure}_ns")
        return None if figure is None else float(figure)

    def said(self, value: float | None) -> str:
        """As people read it."""
        if value is None:
            return "–"
        if self.text == IOPS:
            return f"{-value:,.0f}"
        return f"{value:.3f}" if self.text == WRITE_AMPLIFICATION else human_ns(value)


def parse(text: str) -> Goal:
    """--goal, for argparse."""
    for whole in (WRITE_AMPLIFICATION, IOPS):
        if text.lower() == whole.lower():
            return Goal(whole)
    match = re.fullmatch(r"(\S+) of (?:the )?(\w+)", text)
    what = match[2] if match else ""
    what = "fsync" if what in ("fsyncs", "fdatasync") else what
    if not match or match[1] not in _MEASURES or what not in _WHAT:
        raise UserError(
            f"--goal: '{text}': allowed: {', '.join(_MEASURES)} of {', '.join(_WHAT)}, such as "
            f"'p99.9 of reads'; '{WRITE_AMPLIFICATION}'; '{IOPS}'"
        )
    return Goal(f"{match[1]} of {what}", match[1], _WHAT[what])
