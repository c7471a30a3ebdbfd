# SPDX-License-Identifier: GPL-2.0-or-later
"""Which scheme is best at what: by the 99.9th percentile of each kind of work that there was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scarplib.results import host_rows
from scarplib.results.percentiles import has
from scarplib.results.units import human_ns

_PERCENT = "99.9"


@dataclass(frozen=True)
class Ranking:
    """Of one kind of work: each column's 99.9th percentile (ns), the least first.

    `few`: there are too few of them in some column for that to be another than the slowest.
    """

    what: str
    values: tuple[tuple[str, float], ...]
    few: bool

    @property
    def ratio(self) -> float | None:
        """How many times the least the greatest is; None: they are the same, or there is one."""
        first, last = self.values[0][1], self.values[-1][1]
        return last / first if first and last > first else None

    def words(self) -> str:
        """On one line, the best first."""
        found: dict[float, list[str]] = {}
        for name, value in self.values:
            found.setdefault(value, []).append(name)
        said = ", ".join(f"{' = '.join(names)} {human_ns(value)}" for value, names in found.items())
        return f"{self.what}: {said}"


def _ranking(what: str, parts: dict[str, dict[str, Any]]) -> Ranking | None:
    key = f"p{_PERCENT}_ns"
    there = {name: part for name, part in parts.items() if key in part}
    if len(there) < 2:
        return None
    few = any(not has(_PERCENT, part["count"]) for part in there.values() if part.get("count"))
    ordered = sorted((part[key], at, name) for at, (name, part) in enumerate(there.items()))
    slowest = f"{what}, the slowest of few" if few else what
    return Ranking(slowest, tuple((name, value) for value, _, name in ordered), few)


def rankings(schemes: dict[str, dict[str, Any]]) -> list[Ranking]:
    """Of what fio did, reads first, and of a script's own operations; a script's few reads are not
    what it is about."""
    fios = {name: s for name, s in schemes.items() if "script" not in s}
    listed = list(fios.values())
    found = [
        _ranking(
            host_rows.label(listed, unit, direction),
            {
                name: host_rows.units(s).get(unit, {}).get(direction) or {}
                for name, s in fios.items()
            },
        )
        for unit, direction in host_rows.populations(listed)
    ]
    of = {name: s["script"]["operations"] for name, s in schemes.items() if "script" in s}
    for operation in dict.fromkeys(x for each in of.values() for x in each):
        parts = {name: each.get(operation, {}) for name, each in of.items()}
        found.append(_ranking(f"{operation} (the script's)", parts))
    return [ranking for ranking in found if ranking]


def cliff(schemes: dict[str, dict[str, Any]]) -> str | None:
    """How far the worst is from the best, of the first kind of work of which there is enough."""
    for ranking in rankings(schemes):
        if ranking.ratio and not ranking.few:
            worst, best = ranking.values[-1][0], ranking.values[0][0]
            plural = f"{ranking.what}' 99.9th percentile"
            if not ranking.what.endswith("s"):
                plural = f"99.9th percentile of {ranking.what}"
            return f"The {plural}: {worst} is {ranking.ratio:.1f} times {best}."
    return None


def words(schemes: dict[str, dict[str, Any]]) -> list[str]:
    """Lines behind a table: the cliff, and each kind of work with its best scheme first."""
    found = rankings(schemes)
    if not found:
        return []
    lines = [said] if (said := cliff(schemes)) else []
    if len(found) > 1 or len(schemes) > 2 or not lines:
        lines.append("Best first, by the 99.9th percentile:")
        lines += [f"  {ranking.words()}" for ranking in found]
    return lines
