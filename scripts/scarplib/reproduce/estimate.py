# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a run will take on this machine: said before it begins.

What a finished cell of an experiment took, times the cells that are missing.  Where there is none
a short one is run first (a quick run's, which keeps it), and taken times the length it lacks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from scarplib.errors import UserError
from scarplib.paths import SCRIPTS
from scarplib.reproduce import replays, spec


def _seconds(path: Path) -> float:
    return float(json.loads(path.read_text(encoding="utf-8")).get("cpu_s", 0))


def _of_quick(paper: spec.Paper, quick: spec.Experiment) -> float:
    """Seconds of a core for one cell, by running it if it is not there."""
    point = quick.points[0]
    path = spec.cell_path(quick, point.name, 1, replays.program())
    if not path.exists():
        line = [sys.executable, "-B", "-m", "scarplib.reproduce.cell", paper.name, "quick",
                quick.name, point.name, "1", str(path)]  # fmt: skip
        done = subprocess.run(line, cwd=SCRIPTS, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise UserError(f"{paper.name}, {quick.name}: {said}")
    return _seconds(path)


def _length(e: spec.Experiment, name: str) -> int:
    point = next(p for p in e.points if p.name == name)
    return (point.requests or e.requests) * point.length // 1000


def seconds(paper: spec.Paper) -> float:
    """Of a core, for what is missing of the paper."""
    program = replays.program()
    quick = spec.load(paper.name, "quick")
    total = 0.0
    for e in paper.experiments.values():
        paths = [spec.cell_path(e, p.name, seed, program)
                 for seed in range(1, e.seeds + 1) for p in e.points]  # fmt: skip
        there = [path for path in paths if path.exists()]
        missing = len(paths) - len(there)
        if not missing:
            continue
        if there:
            each = sum(map(_seconds, there)) / len(there)
            total += each * missing
            continue
        short = quick.experiments[e.name]
        first = short.points[0].name
        rate = _of_quick(paper, short) / max(1, _length(short, first))
        # Each point as long as it is.
        total += rate * e.seeds * sum(_length(e, p.name) for p in e.points)
    return total


def text(papers: list[spec.Paper], cores: int) -> str:
    """In hours, for each paper and in all."""
    found = {paper.name: seconds(paper) for paper in papers}
    lines = [
        f"{name}: about {used / 3600:.1f} hours of a core" for name, used in found.items() if used
    ]
    whole = sum(found.values())
    minutes = whole / 60 / cores
    lines.append(
        f"about {minutes:.0f} minutes on {cores} core{'s' if cores > 1 else ''} that nobody else "
        "uses"
        if whole
        else "all cells are there"
    )
    return "\n".join(lines)
