# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce PAPER=… ROW=… SET=…`: one row under another choice, beside the published one.

Only the cells that the row is computed from are run.  Neither the page nor the kept figures change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

from scarplib.errors import UserError, nearest
from scarplib.reproduce import estimate, keep, replays, results, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.results import Asked
from scarplib.reproduce.verdicts import Judged, verdicts


def asked(name: str, row: str) -> list[Asked]:
    """The paper's rows of that number; at least one."""
    every = JUDGES[name].ASKED if name in JUDGES else ()
    if not every:
        have = [paper for paper, judge in JUDGES.items() if judge.ASKED]
        raise UserError(
            f"--row: {name} has no rows that can be run alone; allowed: {', '.join(have)}"
        )
    found = [one for one in every if one.number == row]
    if not found:
        numbers = list(dict.fromkeys(one.number for one in every))
        raise UserError(
            f"--row {row}: {name} has no such row; allowed: {', '.join(numbers)}"
            f"{nearest(row, numbers)}"
        )
    return found


def _key(change: str) -> str:
    key, _, value = change.partition("=")
    group, _, name = key.rpartition(".")
    if not (group and name and value) or " " in change:
        raise UserError(f"--set {change}: must be GROUP.KEY=VALUE or SCHEME.PARAMETER=VALUE")
    return key


def _unvaried(e: spec.Experiment, change: str) -> None:
    """A row that compares values of the key can't be asked with one of them."""
    key = _key(change)
    varied = [text for each in (e.points, e.schemes) for part in each for text in part.set]
    if any(text.startswith(f"{key}=") for text in varied):
        raise UserError(
            f"--set {change}: the row compares drives with several values of {key} "
            f"(experiment {e.name} of experiments/{e.paper}.toml)"
        )


def _accepted(e: spec.Experiment, changes: Sequence[str]) -> None:
    """The engine itself says what is wrong with a key, a value or a parameter."""
    tried = spec.changed(e, changes)
    for scheme in tried.schemes:
        line = [str(replays.replay()), *replays.options(tried, tried.points[0], scheme)]
        line += ["-s", scheme.scheme, *(["-p", scheme.params] if scheme.params else [])]
        done = subprocess.run(
            [*line, "gen:uniform,requests=1"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1].removeprefix("scarp-replay: ")
            raise UserError(f"--set {' '.join(changes)}: {said.removeprefix('overrides: ')}")


def check(experiments: Sequence[spec.Experiment], changes: Sequence[str]) -> None:
    """Raises UserError, in one line, for what is wrong in the choice."""
    for change in changes:
        for e in experiments:
            _unvaried(e, change)
    for e in experiments if changes else ():
        _accepted(e, changes)


def _published(name: str, row: str) -> list[Judged]:
    """By the kept figures; empty where those are of other settings."""
    paper = spec.load(name)
    _, data = keep.load(paper)
    return verdicts(JUDGES[name], paper, data, row) if data else []


def lines(published: Sequence[Judged], found: Sequence[Judged], changes: str) -> list[str]:
    """Each line of the row: what the paper prints, the published verdict, and that of this run."""
    before = {judged.row.metric: judged for judged in published}
    out = []
    for at, judged in enumerate(found):
        row = judged.row
        # A metric may name what was run.
        old = before.get(row.metric, published[at] if at < len(published) else None)
        out += [
            f"{row.number}: {row.metric}",
            f"  the paper: {row.paper}",
            f"  holds when: {row.wanted}",
            f"  published: {f'{old.row.ours}: {old.text()}' if old else 'no figures are kept'}",
            f"  {changes or 'run again'}: {row.ours}: {judged.text()}",
        ]
    return out


def needed(name: str, row: str, changes: Sequence[str], part: str) -> list[str]:
    """The experiments of the row, which can be run under the choice."""
    os.environ.pop(spec.CHANGES, None)
    needs = list(dict.fromkeys(n for one in asked(name, row) for n in one.needs))
    if changes and not needs:
        raise UserError(f"--set: row {row} of {name} runs no cell that it could change")
    plain = spec.load(name, part)
    check([plain.experiments[n] for n in needs], changes)
    return needs


def chosen(name: str, needs: Sequence[str], changes: Sequence[str], part: str) -> spec.Paper:
    """The paper with these experiments alone, under the choice.

    The choice is left in the environment, for the processes that run the cells.
    """
    os.environ[spec.CHANGES] = " ".join(changes)
    paper = spec.load(name, part)
    return replace(paper, experiments={n: paper.experiments[n] for n in needs})


def main(name: str, row: str, changes: Sequence[str], cores: int, part: str) -> int:
    """Run the row, and print both verdicts."""
    from scarplib.reproduce.papers import run_cells

    # A choice that cannot be run is refused before the kept figures are judged, which takes longer.
    needs = needed(name, row, changes, part)
    published = _published(name, row)
    paper = chosen(name, needs, changes, part)
    if part == "full":
        keep.restore(paper, replays.program())
        print(estimate.text([paper], cores or os.cpu_count() or 1), file=sys.stderr, flush=True)
    if paper.experiments:
        run_cells([paper], part, cores, list(paper.experiments))
    found = verdicts(JUDGES[name], spec.load(name, part), results.load(paper), row)
    print("\n".join(lines(published, found, " ".join(changes))))
    replays.drop_images([paper])
    return 0
