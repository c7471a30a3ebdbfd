# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce PAPER=… ROW=… SET=…`: one row under another choice, beside the published one.

Only the cells that the row is computed from are run.  Neither the page nor the kept figures change.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace

from scarplib.errors import UserError, nearest
from scarplib.reproduce import keep, replays, results, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.results import Asked
from scarplib.reproduce.verdicts import Judged, verdicts


def asked(name: str, row: str) -> list[Asked]:
    """The paper's rows of that number."""
    every = JUDGES[name].ASKED
    found = [one for one in every if one.number == row]
    if not found:
        numbers = list(dict.fromkeys(one.number for one in every))
        allowed = ", ".join(numbers) if numbers else "none"
        raise UserError(f"ROW={row}: {name} has no such row; allowed: {allowed}")
    return found


def _key(change: str) -> str:
    key, equals, value = change.partition("=")
    if not (key and equals and value):
        raise UserError(f"SET={change}: must be GROUP.KEY=VALUE or SCHEME.PARAMETER=VALUE")
    return key


def check(experiments: Sequence[spec.Experiment], changes: Sequence[str]) -> None:
    """One line for a key that there is not, for a value, and for what the row itself varies."""
    for change in changes:
        key = _key(change)
        for e in experiments:
            varied = [text for part in (*e.points, *e.schemes) for text in part.set]
            if any(text.startswith(f"{key}=") for text in varied):
                raise UserError(f"SET={change}: the row itself varies {key} (`{e.name}`)")
    for e in experiments:
        point = replace(e.points[0], age=0)
        tried = spec.changed(e, changes)
        for scheme in tried.schemes:
            line = [str(replays.replay()), "--quiet", "-d", str(spec.ROOT / e.device)]
            for text in (*tried.set, *point.set, *scheme.set):
                line += ["-o", text]
            line += ["-s", scheme.scheme, *(["-p", scheme.params] if scheme.params else [])]
            done = subprocess.run(
                [*line, "gen:uniform,requests=1"], capture_output=True, text=True, check=False
            )
            if done.returncode:
                said = done.stderr.strip().splitlines()[-1].removeprefix("scarp-replay: ")
                raise UserError(f"SET={' '.join(changes)}: {said}")


def _of_kept(paper: spec.Paper, row: str) -> list[Judged]:
    """As published; empty where the kept figures are of other settings."""
    _, data = keep.load(paper)
    return verdicts(JUDGES[paper.name], paper, data, row) if data else []


def lines(published: Sequence[Judged], found: Sequence[Judged], changes: str) -> list[str]:
    """The verdict of each line of the row under the choice, and the published one."""
    out = []
    for at, judged in enumerate(found):
        row = judged.row
        before = published[at] if at < len(published) else None
        out += [
            f"{row.number}: {row.metric}; the paper: {row.paper}; holds when: {row.wanted}",
            f"  published: {f'{before.row.ours}: {before.text()}' if before else 'none is kept'}",
            f"  {changes}: {row.ours}: {judged.text()}",
        ]
    return out


def chosen(name: str, row: str, changes: Sequence[str], part: str) -> spec.Paper:
    """The paper with the experiments of the row alone, under the choice."""
    plain = spec.load(name, part)
    needs = dict.fromkeys(n for one in asked(name, row) for n in one.needs)
    check([plain.experiments[n] for n in needs], changes)
    os.environ[spec.CHANGES] = " ".join(changes)
    paper = spec.load(name, part)
    return replace(paper, experiments={n: paper.experiments[n] for n in needs})


def judge(paper: spec.Paper, row: str) -> list[Judged]:
    """The row, from the cells that were run."""
    return verdicts(JUDGES[paper.name], paper, results.load(paper), row)


def main(name: str, row: str, changes: Sequence[str], cores: int, part: str) -> int:
    """Run it, and print both verdicts."""
    from scarplib.reproduce.papers import run_cells

    os.environ.pop(spec.CHANGES, None)
    if name not in JUDGES:
        near = nearest(name, list(JUDGES))
        raise UserError(f"ROW: not with {name}; allowed: {', '.join(JUDGES)}{near}")
    published = _of_kept(spec.load(name), row) if asked(name, row) else []
    paper = chosen(name, row, changes, part)
    run_cells([paper], part, cores, list(paper.experiments))
    print("\n".join(lines(published, judge(paper, row), " ".join(changes) or "as published")))
    replays.drop_images([paper])
    return 0
