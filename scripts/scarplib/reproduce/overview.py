# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of all papers in docs/results/README.md, computed from the figures that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.paths import RESULTS
from scarplib.reproduce import keep, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.markdown import table
from scarplib.reproduce.verdicts import WORDS, Verdict, tally, verdicts

BEGIN = "<!-- The table of all papers: by `make reproduce`, from docs/results/raw. -->"
END = "<!-- The end of the table of all papers. -->"
COUNT = "<!-- How many rows hold: by `make reproduce`, too. -->"
COUNT_END = "<!-- The end of that. -->"
HEAD = ("paper", "row", "metric", "it prints", "here", "verdict", "condition or reason")
NAMES = {
    "hpdc18": "GC-PAR, GC-VIC",
    "paragc": "ParaGC",
    "pregc": "PreGC",
    "hios": "HIOS",
    "safs": "SAFS",
}


@dataclass(frozen=True)
class Line:
    """A row of the table; `apart`: why it is counted in no number."""

    said: tuple[str, ...]
    verdict: Verdict
    apart: str = ""


def _missing(link: str, why: str) -> Line:
    """In the place of a paper's rows."""
    verdict = Verdict.NOT_TRIED
    return Line((link, "all", "", "", "", verdict.value, why), verdict)


def _of(name: str, folder: Path) -> list[Line]:
    """Of one paper that is an experiment's file."""
    paper = spec.load(name)
    link = f"[{NAMES[name]}]({name}.md)"
    head, data = keep.load(paper, folder)
    if not data:
        why = "its kept figures are of other settings" if head else "no figures are kept"
        again = f"`make reproduce PAPER={name}`"
        return [_missing(link, f"{why}: {again}")]
    lines: list[Line] = []
    for judged in verdicts(JUDGES[name], paper, data):
        row = judged.row
        because = judged.reason()
        if not because and judged.verdict is Verdict.FAILS:
            because = row.wanted
        said = (link, row.number, row.metric, row.paper, row.ours, judged.verdict.value, because)
        lines.append(Line(said, judged.verdict, row.apart))
    return lines


def _safs(folder: Path) -> list[Line]:
    from scarplib.reproduce import safs

    link = f"[{NAMES['safs']}](safs.md)"
    rows = safs.kept_rows(folder)
    if not rows:
        why = "no figures are kept: `make reproduce PAPER=safs`"
        return [_missing(link, why)]
    return [
        Line(
            (link, r.number, r.what, r.paper, r.here, r.verdict.value,
             r.reason() or (r.when if r.verdict is Verdict.FAILS else "")),
            r.verdict, r.apart,
        )
        for r in rows
        if r.verdict
    ]  # fmt: skip


def _counted(mine: list[Line]) -> str:
    """How many rows of a paper have each verdict, and which."""
    parts = []
    for verdict, (one, several) in WORDS.items():
        numbers = [line.said[1] for line in mine if line.verdict is verdict and not line.apart]
        if numbers:
            which = ", ".join(dict.fromkeys(numbers))
            parts.append(f"{len(numbers)} {several if len(numbers) > 1 else one} ({which})")
    apart = list(dict.fromkeys(line.said[1] for line in mine if line.apart))
    return "; ".join([*parts, *([f"apart: {', '.join(apart)}"] if apart else [])])


def rows_of_all(folder: Path) -> list[Line]:
    """Every paper's rows, from the figures in the folder."""
    found = [line for name in NAMES if name != "safs" for line in _of(name, folder)]
    return found + _safs(folder)


def lines(found: list[Line]) -> list[str]:
    """The table, and in one sentence for each paper what stands."""
    said = []
    for name in NAMES:
        mine = [line for line in found if f"({name}.md)" in line.said[0]]
        said.append(f"- {mine[0].said[0]}: {_counted(mine)}")
    return [*said, "", *table(HEAD, [line.said for line in found])]


def first(found: list[Line]) -> str:
    """How many rows of all papers have each verdict, strictly."""
    return f"**{tally([(line.verdict, line.apart) for line in found])}**"


def _between(text: str, begin: str, end: str, made: Sequence[str]) -> str:
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return before + "\n".join([begin, "", *made, "", end]) + after


def write(page: Path = RESULTS / "README.md", folder: Path = keep.RAW) -> Path:
    """Between the marks of the page."""
    found = rows_of_all(folder)
    text = page.read_text(encoding="utf-8")
    text = _between(text, COUNT, COUNT_END, [first(found)])
    page.write_text(_between(text, BEGIN, END, lines(found)), encoding="utf-8")
    return page
