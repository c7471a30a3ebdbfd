# SPDX-License-Identifier: GPL-2.0-or-later
"""One file for each paper: how each row of its table is computed, and when it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from scarplib.reproduce import spec
from scarplib.reproduce.judge import all_together, hios, hpdc18, mappings, paragc, pregc
from scarplib.reproduce.results import Asked, Results


class Judge(Protocol):
    """What each of the files has; `data`: the results by the experiment's name.

    `ASKED`: the paper's claims, in their order, each with what was seen and whether it holds.
    `SUBJECTS`: the columns that the rows are about.  In their place `control` is put, and
    `COMPARATORS`, of which the first is meant by every row.
    `JUDGED_BY`: the experiments where the rows ask for them; each runs all of these.
    `CONDITIONS`: columns with another value of what the paper leaves open, and what is to be said
    where a row does not hold with one of them.
    """

    @property
    def SUBJECTS(self) -> tuple[str, ...]: ...
    @property
    def COMPARATORS(self) -> tuple[str, ...]: ...
    @property
    def CONDITIONS(self) -> dict[str, str]: ...
    @property
    def JUDGED_BY(self) -> tuple[str, ...]: ...

    @property
    def ASKED(self) -> tuple[Asked, ...]: ...

    def details(self, paper: spec.Paper, data: dict[str, Results], /) -> list[str]:
        """The rest of the page, as lines of Markdown."""

    def figures(self, paper: spec.Paper, data: dict[str, Results], folder: Path, /) -> None:
        """The paper's figures, redrawn into the folder."""

    def directions(self, data: dict[str, Results], /) -> list[tuple[str, bool]]:
        """(claim, whether it holds) of what few workloads and seeds can say."""


JUDGES: dict[str, Judge] = {
    "hpdc18": hpdc18,
    "paragc": paragc,
    "pregc": pregc,
    "mappings": mappings,
    "hios": hios,
    "all-together": all_together,
}
