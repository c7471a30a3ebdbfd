# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be said of a row: it holds, only if, it does not, it says nothing, or was not tried.

A row that a scheme without effect passes, too, says nothing.  So each row is computed again with
others in its scheme's place: `control`, which changes nothing but when collections come, and what
the scheme is compared with.  And a row that holds only for one value of a parameter that the paper
leaves open is computed with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from scarplib.reproduce import spec
from scarplib.reproduce.judge import Judge
from scarplib.reproduce.results import Results, Row

CONTROL = "control"


class Verdict(Enum):
    """In words, as a page has them."""

    HOLDS = "holds"
    ONLY_IF = "holds only if"
    FAILS = "**does not hold**"
    NOTHING = "says nothing"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Judged:
    """A row, its verdict, and why it is not simply that it holds, or does not."""

    row: Row
    verdict: Verdict
    because: str = ""

    def text(self) -> str:
        """The verdict and its reason."""
        return f"{self.verdict.value}{f': {self.because}' if self.because else ''}"


def in_place(
    data: dict[str, Results], subjects: Sequence[str], other: str, everywhere: bool
) -> dict[str, Results]:
    """`other`'s results where the subjects' are asked for; `everywhere`: it must be there.

    Else an experiment that did not run it stays as it is.
    """
    return {
        name: results.with_replaced(dict.fromkeys(subjects, other))
        if everywhere or other in results.labels()
        else results
        for name, results in data.items()
    }


def verdicts(judge: Judge, paper: spec.Paper, data: dict[str, Results]) -> list[Judged]:
    """Every row of the paper, judged."""
    rows = judge.rows(paper, data)
    passing: list[list[str]] = [[] for _ in rows]
    # What the rows are judged by; the other experiments stand beside them.
    judged = {name: data[name] for name in judge.JUDGED_BY}
    for other in (CONTROL, *judge.COMPARATORS) if judge.SUBJECTS else ():
        again = judge.rows(paper, {**data, **in_place(judged, judge.SUBJECTS, other, True)})
        for row, names in zip(again, passing, strict=True):
            asked = (CONTROL, judge.COMPARATORS[0], *row.against)
            if row.holds and row.of_scheme and other in asked:
                names.append(other)
    conditions: list[list[str]] = [[] for _ in rows]
    for other, condition in judge.CONDITIONS.items():
        again = judge.rows(paper, {**data, **in_place(judged, judge.SUBJECTS, other, False)})
        for row, found in zip(again, conditions, strict=True):
            if not row.holds:
                found.append(condition)
    return [
        _one(row, names, found) for row, names, found in zip(rows, passing, conditions, strict=True)
    ]


def _one(row: Row, passing: list[str], conditions: list[str]) -> Judged:
    if row.not_tried:
        return Judged(row, Verdict.NOT_TRIED, row.not_tried)
    conditions = [*conditions, *([row.condition] if row.condition else [])]
    if not row.holds:
        return Judged(row, Verdict.FAILS, row.condition)
    if row.by_construction:
        return Judged(row, Verdict.NOTHING, row.by_construction)
    if passing:
        names = ", ".join(f"`{name}`" for name in passing)
        return Judged(row, Verdict.NOTHING, f"it holds with {names} in the scheme's place, too")
    if conditions:
        return Judged(row, Verdict.ONLY_IF, "; ".join(conditions))
    return Judged(row, Verdict.HOLDS)


def count(judged: Sequence[Judged]) -> str:
    """One sentence.  What says nothing, or was not tried, counts in neither number."""
    number = {verdict: sum(j.verdict is verdict for j in judged) for verdict in Verdict}
    asked = number[Verdict.HOLDS] + number[Verdict.ONLY_IF] + number[Verdict.FAILS]
    rest = [
        f"{number[verdict]} {words}"
        for verdict, words in ((Verdict.NOTHING, "say nothing"), (Verdict.NOT_TRIED, "not tried"))
        if number[verdict]
    ]
    only = f" ({number[Verdict.ONLY_IF]} of them only if)" if number[Verdict.ONLY_IF] else ""
    held = number[Verdict.HOLDS] + number[Verdict.ONLY_IF]
    return "; ".join([f"Of {asked} rows {held} hold{only}", *rest]) + "."
