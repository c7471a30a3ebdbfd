# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be said of a row: one of six verdicts.

A row that a scheme without effect passes, too, says nothing.  So each row is computed again with
others in its scheme's place: `control`, which changes nothing but when collections come, and what
the scheme is compared with.  And a row that holds only for one value of a parameter that the paper
leaves open is computed with the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from scarplib.reproduce import spec
from scarplib.reproduce.judge import Judge
from scarplib.reproduce.results import Results, Row, asked_rows

CONTROL = "control"
# A row that fails with the setting chosen beforehand holds only if another is taken, where it does
# in so much of the settings swept; in less of them it does not hold.
SHARE = 0.2


class Verdict(Enum):
    """In words, as a page has them."""

    HOLDS = "holds"
    ONLY_IF = "holds only if"
    FAILS = "**does not hold**"
    NOT_MET = "baseline not met"
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
        return f"{self.verdict.value}{f': {self.reason()}' if self.reason() else ''}"

    def reason(self) -> str:
        """Of the verdict, and why the row is counted in no number, if it is not."""
        apart = f"counted apart: {self.row.apart}" if self.row.apart else ""
        return "; ".join(filter(None, (self.because, apart)))


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


def verdicts(
    judge: Judge, paper: spec.Paper, data: Mapping[str, Results], number: str = ""
) -> list[Judged]:
    """Every row of the paper, or those of one number, judged."""
    asked = [one for one in judge.ASKED if number in ("", one.number)]

    def rows(found: Mapping[str, Results]) -> list[Row]:
        return asked_rows(asked, paper, found)

    plain = rows(data)
    passing: list[list[str]] = [[] for _ in plain]
    # What the rows are judged by; the other experiments stand beside them.
    judged = {name: data[name] for name in judge.JUDGED_BY if name in data}
    for other in (CONTROL, *judge.COMPARATORS) if judge.SUBJECTS else ():
        again = rows({**data, **in_place(judged, judge.SUBJECTS, other, True)})
        for row, names in zip(again, passing, strict=True):
            wanted = (CONTROL, judge.COMPARATORS[0], *row.against)
            if row.holds and row.of_scheme and other in wanted:
                names.append(other)
    conditions: list[list[str]] = [[] for _ in plain]
    for other, condition in judge.CONDITIONS.items():
        again = rows({**data, **in_place(judged, judge.SUBJECTS, other, False)})
        for row, found in zip(again, conditions, strict=True):
            if not row.holds:
                found.append(condition)
    return [_one(*each) for each in zip(plain, passing, conditions, strict=True)]


def _one(row: Row, passing: list[str], conditions: list[str]) -> Judged:
    if row.not_tried:
        return Judged(row, Verdict.NOT_TRIED, row.not_tried)
    if row.not_met:
        return Judged(row, Verdict.NOT_MET, row.not_met)
    if row.other_case:
        return Judged(row, Verdict.NOTHING, row.other_case)
    if not row.holds:
        good, settings = row.swept
        enough = settings and good >= SHARE * settings
        return Judged(row, Verdict.ONLY_IF if enough else Verdict.FAILS, row.condition)
    if row.chosen_by_it:
        return Judged(row, Verdict.NOTHING, row.chosen_by_it)
    if passing:
        names = ", ".join(f"`{name}`" for name in passing)
        return Judged(row, Verdict.NOTHING, f"it holds with {names} in the scheme's place, too")
    conditions = [*conditions, *([row.condition] if row.condition else [])]
    if conditions:
        return Judged(row, Verdict.ONLY_IF, "; ".join(conditions))
    return Judged(row, Verdict.HOLDS)


# One row, and several.
WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.ONLY_IF: ("holds only if", "hold only if"),
    Verdict.FAILS: ("does not hold", "do not hold"),
    Verdict.NOT_MET: ("has a baseline that is not met", "have a baseline that is not met"),
    Verdict.NOTHING: ("says nothing", "say nothing"),
    Verdict.NOT_TRIED: ("was not tried", "were not tried"),
}


def tally(found: Sequence[tuple[Verdict, str]]) -> str:
    """One sentence of verdicts, each with why its row is counted apart, if it is.

    Only what holds whatever the paper leaves open is among those that hold.
    """
    counted = [verdict for verdict, apart in found if not apart]
    parts = [_many(counted.count(verdict), words) for verdict, words in WORDS.items()]
    said = f"Of {len(counted)} rows {', '.join(parts)}."
    aside = []
    for why in dict.fromkeys(apart for _, apart in found if apart):
        mine = [verdict for verdict, apart in found if apart == why]
        aside.append(f"{len(mine)} ({why}), of which {_many(mine.count(Verdict.HOLDS), HOLD)}")
    return f"{said} Counted apart: {'; '.join(aside)}." if aside else said


HOLD = WORDS[Verdict.HOLDS]


def _many(number: int, words: tuple[str, str]) -> str:
    return f"{number} {words[number != 1]}"


def count(judged: Sequence[Judged]) -> str:
    """One sentence of the rows of a page."""
    return tally([(j.verdict, j.row.apart) for j in judged])
