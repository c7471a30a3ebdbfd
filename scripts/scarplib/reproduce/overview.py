# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of all papers in docs/results/README.md, computed from the figures that are kept."""

from __future__ import annotations

from pathlib import Path

from scarplib.paths import RESULTS
from scarplib.reproduce import keep, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.markdown import table
from scarplib.reproduce.verdicts import Verdict, verdicts

BEGIN = "<!-- The table of all papers: by `make reproduce`, from docs/results/raw. -->"
END = "<!-- The end of the table of all papers. -->"
HEAD = ("paper", "row", "metric", "it prints", "here", "verdict", "condition or reason")
NAMES = {
    "hpdc18": "GC-PAR, GC-VIC",
    "paragc": "ParaGC",
    "pregc": "PreGC",
    "hios": "HIOS",
    "safs": "SAFS",
}
Line = tuple[str, ...]


def _of(name: str, folder: Path) -> list[Line]:
    """Of one paper that is an experiment's file."""
    paper = spec.load(name)
    link = f"[{NAMES[name]}]({name}.md)"
    head, data = keep.load(paper, folder)
    if not data:
        why = "its kept figures are of other settings" if head else "no figures are kept"
        again = f"`make reproduce PAPER={name}`"
        return [(link, "all", "", "", "", Verdict.NOT_TRIED.value, f"{why}: {again}")]
    lines: list[Line] = []
    for judged in verdicts(JUDGES[name], paper, data):
        row = judged.row
        because = judged.because
        if not because and judged.verdict is Verdict.FAILS:
            because = row.wanted
        lines.append(
            (link, row.number, row.metric, row.paper, row.ours, judged.verdict.value, because)
        )
    return lines


def _safs(folder: Path) -> list[Line]:
    from scarplib.reproduce import safs

    link = f"[{NAMES['safs']}](safs.md)"
    rows = safs.kept_rows(folder)
    if not rows:
        why = "no figures are kept: `make reproduce PAPER=safs`"
        return [(link, "all", "", "", "", Verdict.NOT_TRIED.value, why)]
    return [
        (link, r.number, r.what, r.paper, r.here, r.verdict, r.when if "not" in r.verdict else "")
        for r in rows
        if r.verdict
    ]


WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.ONLY_IF: ("holds only if", "hold only if"),
    Verdict.FAILS: ("does not hold", "do not hold"),
    Verdict.NOTHING: ("says nothing", "say nothing"),
    Verdict.NOT_TRIED: ("was not tried", "were not tried"),
}


def _counted(mine: list[Line]) -> str:
    """How many rows of a paper have each verdict, and which."""
    parts = []
    for verdict, (one, several) in WORDS.items():
        numbers = [line[1] for line in mine if line[5] == verdict.value]
        if numbers:
            which = ", ".join(dict.fromkeys(numbers))
            parts.append(f"{len(numbers)} {several if len(numbers) > 1 else one} ({which})")
    return "; ".join(parts)


def lines(folder: Path = keep.RAW) -> list[str]:
    """The table, and in one sentence for each paper what stands."""
    found = [line for name in NAMES if name != "safs" for line in _of(name, folder)]
    found += _safs(folder)
    said = []
    for name in NAMES:
        mine = [line for line in found if f"({name}.md)" in line[0]]
        said.append(f"- {mine[0][0]}: {_counted(mine)}")
    return [*said, "", *table(HEAD, found)]


def write(page: Path = RESULTS / "README.md", folder: Path = keep.RAW) -> Path:
    """Between the two marks of the page."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    made = "\n".join([BEGIN, "", *lines(folder), "", END])
    page.write_text(before + made + after, encoding="utf-8")
    return page
