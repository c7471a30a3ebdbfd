# SPDX-License-Identifier: GPL-2.0-or-later
"""Kept figures against this engine's: a page whose sampled cells give others fails `make test`.

A sample is a cell under two of its schemes, the first and another: the requests that are followed
under a scheme are chosen by the first.  The commit decides which are drawn, so that a commit's test
is always the same, and the next commit's is of other cells.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.paths import RESULTS, ROOT
from scarplib.reproduce import cell, keep, replays, safs, spec

PAPERS = (*spec.PAPERS, "all-together")
# Of a core, as the kept cells took on the machine that ran them; another one may be half as fast.
BUDGET_S = 30.0
DEAREST_S = 10.0
# A drive of the array with so few drives takes seconds.
SAFS_DRIVES = 1
# Which engine it was, and not what it did.
LEFT_OUT = ("stats/scarp_version",)
# Digits of a mean depend on the order in which a processor's vectors add.
CLOSE = 1e-9
SHOWN = 3


@dataclass(frozen=True)
class Sample:
    """A kept cell under two schemes.

    `engine`: the older one that ran it, if it is known to have given other figures; else empty.
    """

    paper: str
    experiment: spec.Experiment
    point: spec.Point
    seed: int
    kept: dict[str, Any]
    engine: str
    seconds: float

    @property
    def name(self) -> str:
        """As a test's."""
        labels = " and ".join(f"{s.label}" for s in self.experiment.schemes)
        return f"{self.paper} {self.experiment.name}, {self.point.name}, seed {self.seed}, {labels}"


def commit() -> str:
    """Of the checkout; the same text wherever there is none."""
    line = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "no checkout"


def _sample(
    paper: spec.Paper,
    e: spec.Experiment,
    cells: keep.Cells,
    head: dict[str, Any],
    by: random.Random,
) -> Sample:
    name, seed = by.choice(sorted(cells))
    of = cells[name, seed]
    point = next(p for p in e.points if p.name == name)
    first, *others = e.schemes
    chosen = (first, by.choice(others)) if others else (first,)
    # Ageing takes about as long as a run.
    share = (len(chosen) + 1) / (len(e.schemes) + 1)
    engine = keep.engine_of(head, e.name, name)
    return Sample(
        paper.name, replace(e, schemes=chosen), point, seed, of,
        engine if engine in keep.DIFFER else "", of.get("cpu_s", 0) * share,
    )  # fmt: skip


def drawn(names: Sequence[str], seed: str, budget: float, folder: Path) -> list[Sample]:
    """At most one cell of each experiment, until they take `budget` seconds of a core."""
    by = random.Random(seed)
    every = []
    for name in names:
        paper = spec.load(name)
        head, found = keep.read(paper, folder)
        for e in paper.experiments.values():
            if e.name in found:
                every.append(_sample(paper, e, found[e.name], head, by))
    by.shuffle(every)
    chosen: list[Sample] = []
    for one in every:
        # One more second for what does not shrink with the run.
        if one.seconds <= DEAREST_S and sum(s.seconds + 1 for s in chosen) < budget:
            chosen.append(one)
    return chosen


def _figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and word of an entry, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _figures(inner, f"{path}/{key}" if path else key)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _figures(inner, f"{path}/{at}")
    else:
        yield path, value


def _same(a: Any, b: Any) -> bool:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return math.isclose(a, b, rel_tol=CLOSE) if numbers else bool(a == b)


def differences(kept: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """`PLACE: kept X, here Y` of each figure that both have, and that is not the same."""
    new = dict(_figures(here))
    both = {key: value for key, value in _figures(kept) if key in new and key not in LEFT_OUT}
    if not any(isinstance(value, int | float) and value for value in both.values()):
        return ["no figure is in both"]
    return [f"{k}: kept {v}, here {new[k]}" for k, v in both.items() if not _same(v, new[k])]


def again(one: Sample) -> list[str]:
    """Run it on this engine: what differs."""
    made = json.loads(json.dumps(cell.cell(one.experiment, one.point, one.seed)))
    lean = keep.lean(one.paper, one.experiment.name, made)
    return [
        f"{scheme.label}: {each}"
        for scheme in one.experiment.schemes
        for each in differences(
            one.kept["schemes"][scheme.label], lean["schemes"][scheme.label]
        )
    ]  # fmt: skip


def _array(seed: str, folder: Path) -> list[tuple[str, bool]]:
    """The same of a run of the array's simulator."""
    runs = [(run, n) for run, n in safs.points() if run.drives <= SAFS_DRIVES]
    run, number = random.Random(seed).choice(runs)
    found = safs.again(run, number, folder)
    if found is None:
        return []
    off = differences(*found)
    name = f"safs, {' '.join(run.options)}, seed {number}"
    return [_said(name, off, "safs", "")]


def _said(name: str, off: Sequence[str], page: str, engine: str) -> tuple[str, bool]:
    """A test's name, and whether it passed; `engine`: one of keep.DIFFER that the page may name."""
    if not off:
        return f"{name}: figures as kept", True
    shown = "; ".join(off[:SHOWN]) + (f"; {len(off) - SHOWN} more" if len(off) > SHOWN else "")
    text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
    if engine and f"engine {engine} of commit" in text:
        return f"{name}: other figures ({shown}); its page names the older engine", True
    return f"{name}: other figures ({shown}): make reproduce PAPER={page}", False


def check(
    seed: str, names: Sequence[str] = PAPERS, budget: float = BUDGET_S, folder: Path = keep.RAW
) -> list[tuple[str, bool]]:
    """Each sample's words, and whether its page's figures are this engine's."""
    found = []
    for one in drawn(names, seed, budget, folder):
        try:
            off = again(one)
        except UserError as error:
            off = [f"it does not run: {error}"]
        found.append(_said(one.name, off, one.paper, one.engine))
        mine = replace(one.experiment, points=(one.point,))
        replays.drop_images([replace(spec.load(one.paper), experiments={mine.name: mine})])
    return found + (_array(seed, folder) if names == PAPERS else [])
