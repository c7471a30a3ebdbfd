# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a paper's cells, and the comparisons that its rows are judged by."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scarplib.reproduce import replays, spec
from scarplib.sweep.intervals import Interval, interval, mean

# What is said of a row about all requests that stands beside one about those that GC affected.
ASKED_AFTER = "asked for after results"
SELECTED = (
    "the requests that GC affected are those that waited for it under `baseline`, as the rows want "
    "it. They are slow there because they were chosen for that. On the same drive aged with "
    "another seed (`control`) other requests meet the collections, so the chosen ones are faster "
    "there, too. This row, of all requests, was added after that had been seen."
)
Entry = dict[str, Any]
Value = Callable[[Entry], float]


@dataclass(frozen=True)
class Results:
    """One experiment's cells: [point][seed - 1]["schemes"][label]."""

    experiment: spec.Experiment
    cells: dict[str, list[dict[str, Any]]]
    replaced: Mapping[str, str] = field(default_factory=dict)
    # Older engines than the page's that ran cells of it, and which points; empty text: all of them.
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> list[str]:
        """Names of the points."""
        return list(self.cells)

    def seeds(self) -> range:
        """Numbers of the seeds from 0: a cell's seed is one more."""
        return range(self.experiment.seeds)

    def entry(self, point: str, seed: int, scheme: str) -> Entry:
        """What a scheme's run gave."""
        found: Entry = self.cells[point][seed]["schemes"][self.replaced.get(scheme, scheme)]
        return found

    def labels(self) -> list[str]:
        """The columns that were run."""
        return [scheme.label for scheme in self.experiment.schemes]

    def with_replaced(self, replaced: Mapping[str, str]) -> Results:
        """The same runs; who asks for a scheme that is a key here is given its value's."""
        return replace(self, replaced=replaced)

    def change(
        self, scheme: str, against: str, value: Value, points: Sequence[str] | None = None
    ) -> Interval:
        """Percent, paired: in each seed the mean over the points of the ratio of the two."""
        return interval(
            [
                mean([self._ratio(p, seed, scheme, against, value) for p in points or self.points])
                for seed in self.seeds()
            ]
        )

    def _ratio(self, point: str, seed: int, scheme: str, against: str, value: Value) -> float:
        base = value(self.entry(point, seed, against))
        return 100 * (value(self.entry(point, seed, scheme)) / base - 1)

    def level(self, scheme: str, value: Value, points: Sequence[str] | None = None) -> Interval:
        """The value itself, mean over the points, over the seeds."""
        return interval(
            [
                mean([value(self.entry(p, seed, scheme)) for p in points or self.points])
                for seed in self.seeds()
            ]
        )

    def paired(self, per_seed: Callable[[int], float]) -> Interval:
        """Of what is computed for each seed by itself."""
        return interval([per_seed(seed) for seed in self.seeds()])


def load(paper: spec.Paper) -> dict[str, Results]:
    """Results of every experiment of the paper, by its name."""
    out = {}
    program = replays.program()
    for experiment in paper.experiments.values():
        cells = {
            point.name: [
                json.loads(spec.cell_path(experiment, point.name, seed, program).read_text())
                for seed in range(1, experiment.seeds + 1)
            ]
            for point in experiment.points
        }
        out[experiment.name] = Results(experiment, cells)
    return out


def key(name: str) -> Value:
    """The number of that name in an entry."""
    return lambda entry: entry[name]


def stat(name: str) -> Value:
    """The statistic of that name."""
    return lambda entry: float(entry["stats"][name])


def quantile(name: str, share: float) -> Value:
    """The quantile nearest to `share` (0 to 1) of the latencies of that name, ns."""
    from scarplib.reproduce.cell import QUANTILES

    index = min(range(len(QUANTILES)), key=lambda i: abs(QUANTILES[i] - share))
    return lambda entry: entry[f"{name}_q"][index]


def utilisation(entry: Entry) -> float:
    """Percent of planes in use while their die collects."""
    stats = entry["stats"]
    busy = stats["gc_busy_ns"] + stats["gc_shared_ns"]
    return float(100 * busy / max(1, stats["gc_window_ns"]))


def amplification(entry: Entry) -> float:
    """Pages programmed for each page that the host wrote."""
    stats = entry["stats"]
    host = stats["host_page_programs"]
    own = stats["gc_page_programs"] + stats["parity_page_programs"] + stats["map_page_programs"]
    return float((host + own) / host)


@dataclass(frozen=True)
class Row:
    """A row of targets: what the paper says, what was seen, and whether it holds.

    `why` is asked for only where the row is printed: what it divides by may be 0 elsewhere.
    `against`: whom the scheme is compared with besides the first of the judge's comparators.
    `of_scheme`: it compares a scheme with others; not so what is said of a drive or of a load.
    `chosen_by_it`: why it can't but hold, as something was chosen by this very row.
    `other_case`: why the runs are not of the case that the row is about.
    `condition`: of what is swept, for how much it holds; empty: for all of it, or nothing is.
    `swept`: in how many of the settings swept it holds, and how many there are.
    `not_met`: what of the comparators' own figures could not be had.
    `not_tried`: why it could not be asked; what was seen stands there without a verdict.
    `apart`: why it is in none of the numbers that are counted.
    """

    number: str
    metric: str
    paper: str
    ours: str
    holds: bool
    wanted: str
    why: Callable[[], str] | str = ""
    against: tuple[str, ...] = ()
    of_scheme: bool = True
    chosen_by_it: str = ""
    other_case: str = ""
    not_met: str = ""
    not_tried: str = ""
    condition: str = ""
    swept: tuple[int, int] = (0, 0)
    apart: str = ""

    def reason(self) -> str:
        """Why it is as it is; empty: there is nothing to say."""
        return self.why if isinstance(self.why, str) else self.why()


# Why a row is counted in no number.
CONSTRUCTED = "by construction"
OTHER_MAPPING = "of a mapping that the paper has not"
CHANGED_AFTER = "its criterion or metric was chosen after results"

Data = Mapping[str, Results]


@dataclass(frozen=True)
class Asked:
    """Rows of one number: the experiments that they are computed from, and how.

    `what` stands for them where one of these experiments has not been run.
    """

    number: str
    what: str
    needs: tuple[str, ...]
    rows: Callable[[spec.Paper, Data], list[Row]]


class _Looked(Mapping[str, Results]):
    """The results, and which of them were looked at."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.at: dict[str, Results] = {}

    def __getitem__(self, name: str) -> Results:
        found = self.data[name]
        self.at[name] = found
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def older(self) -> str:
        """Which figures another engine ran than the page's; empty: none."""
        names = [f"`{name}`" for name, of in self.at.items() if of.others]
        if not names:
            return ""
        which = "" if len(names) == len(self.at) else f": {', '.join(names)}"
        return f" [older engine{which}]"


def asked_rows(asked: Sequence[Asked], paper: spec.Paper, data: Data) -> list[Row]:
    """All rows, in the order of what is asked; each says what of it an older engine ran."""
    found: list[Row] = []
    for one in asked:
        missing = [name for name in one.needs if name not in data]
        if missing:
            why = f"{', '.join(f'`{name}`' for name in missing)}: not run on this engine"
            found.append(Row(one.number, one.what, "", "", False, "", not_tried=why))
        else:
            looked = _Looked(data)
            made = one.rows(paper, looked)
            found += [replace(row, ours=f"{row.ours}{looked.older()}") for row in made]
    return found
