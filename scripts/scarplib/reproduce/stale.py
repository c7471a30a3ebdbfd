# SPDX-License-Identifier: GPL-2.0-or-later
"""Which pages of docs/results are of another engine than the one here: said, never a failure."""

from __future__ import annotations

import re
from pathlib import Path

from scarplib.build.array import built_simulator
from scarplib.build.replayer import built_replay, key_of
from scarplib.paths import RESULTS

# Digits of the hash of a program's sources, in a page and in the names of its cells.
DIGITS = 12
PAGES = ("hpdc18", "paragc", "pregc", "mappings", "hios", "all-together", "safs")
_ENGINE = re.compile(r"\bengine ([0-9a-f]{12})\b")


def here(paper: str) -> str:
    """Of what the paper's page would be made with, built or not."""
    program = built_simulator() if paper == "safs" else built_replay()
    return key_of(program)[:DIGITS]


def older(folder: Path = RESULTS) -> list[str]:
    """A line for each page whose engine is another, or which names none."""
    lines = []
    for paper in PAGES:
        path = folder / f"{paper}.md"
        if not path.is_file():
            continue
        found = _ENGINE.search(path.read_text(encoding="utf-8"))
        if not found or found[1] != here(paper):
            of = f"engine {found[1]}" if found else "an engine that it does not name"
            lines.append(
                f"docs/results/{path.name} is of {of}, here is {here(paper)}: "
                f"make reproduce PAPER={paper}"
            )
    return lines
