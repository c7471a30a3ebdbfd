# SPDX-License-Identifier: GPL-2.0-or-later
"""experiments/PAPER.toml: what is run.  A wrong key or value is named, never ignored.

An experiment runs its schemes (each together with what `with` names) on each of its points (a
workload, perhaps with keys of the drive
changed) for each seed.  A cell is one point and seed with all schemes: they are compared request by
request, so they belong together.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.paths import OUT, ROOT

PAPERS = ("hpdc18", "paragc", "pregc", "mappings", "hios")
# Counts up when cells are made otherwise from the same settings.
LAYOUT = 4
SETS = ("full", "small", "quick")
# Of a quick run: seeds, and the length of an experiment that does not say another, in permille.
QUICK_SEEDS, QUICK_LENGTH = 3, 250
CELLS = OUT / "reproduce"
# A folder of real traces, for this process and those that it starts.
TRACES = "SCARP_TRACES"
# Keys to change, for the same processes: GROUP.KEY=VALUE or SCHEME.PARAMETER=VALUE, by spaces.
CHANGES = "SCARP_CHANGES"


@dataclass(frozen=True)
class Scheme:
    """A column of the tables: a scheme of the engine, with what it needs set."""

    label: str
    scheme: str
    params: str = ""
    set: tuple[str, ...] = ()
    age_seed: int = 0  # added to the drive's: the same drive, aged otherwise
    age_as: str = "baseline"  # aged under this scheme: another if its drives are of another layout


@dataclass(frozen=True)
class Point:
    """A workload on a drive."""

    name: str
    workload: str
    set: tuple[str, ...] = ()
    age: int = -1  # permille of the logical space; -1: the experiment's
    requests: int = 0  # 0: the experiment's, and so its warm-up
    warmup: int = 0
    length: int = 1000  # permille of both: a drive of other size needs as much more
    trace: str = ""  # which file it is, if workload is one

    @property
    def stands_for(self) -> str:
        """The name of the trace that the generator is named after."""
        return self.workload.split(",")[0].removeprefix("gen:").split("-")[-1]


@dataclass(frozen=True)
class Experiment:
    """Schemes on points on a drive; counts are requests, `age` is permille."""

    paper: str
    name: str
    device: str
    schemes: tuple[Scheme, ...]
    points: tuple[Point, ...]
    set: tuple[str, ...] = ()
    seeds: int = 10
    mode: str = "open"
    depth: int = 1
    requests: int = 100_000
    warmup: int = 0
    align: int = 0
    age: int = 0
    overwrite: int = -1  # permille of the drive that ageing overwrites; -1: the replayer's own
    workload: str = ""  # keys for the generator, after the point's
    logs: bool = True  # whether requests are compared one by one

    def key(self) -> str:
        """Changes with all that decides the results, except the program."""
        fields = asdict(self)
        if self.overwrite < 0:
            # The key of an experiment that leaves it to the replayer has no such field.
            del fields["overwrite"]
        text = json.dumps(fields, sort_keys=True)
        text += f"{LAYOUT}" + (ROOT / self.device).read_text()
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Paper:
    """A file; `published`: what the paper says of its workloads."""

    name: str
    title: str
    choices: tuple[str, ...]
    experiments: dict[str, Experiment]
    published: dict[str, Any]
    part: str = "full"


def _fields(
    kind: type[Scheme | Point | Experiment], table: dict[str, Any], where: str
) -> dict[str, Any]:
    """The table as arguments of the class; a wrong key or type is named."""
    allowed = kind.__dataclass_fields__
    for key, value in table.items():
        if key not in allowed:
            raise UserError(f"{where}: unknown key '{key}'; allowed: {', '.join(sorted(allowed))}")
        wanted = allowed[key].type
        plain = {"int": int, "str": str, "bool": bool}.get(str(wanted), list)
        if not isinstance(value, plain) or (plain is int and isinstance(value, bool)):
            raise UserError(f"{where}: {key}: must be of type {plain.__name__}")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


def _traced(point: Point) -> Point:
    """The trace that the point's generator stands in for, if the user has it."""
    folder = os.environ.get(TRACES, "")
    name = point.stands_for
    for suffix in (".csv", ".csv.gz", ".csv.zst") if folder else ():
        path = Path(folder) / f"{name}{suffix}"
        if path.is_file():
            state = path.stat()
            return replace(
                point, workload=str(path), trace=f"{name}, {state.st_size}, {state.st_mtime_ns}"
            )
    return point


def _points(table: dict[str, Any], workloads: dict[str, Any], where: str) -> tuple[Point, ...]:
    """Every workload that is named, at every value of what is varied."""
    names = table.pop("workloads", list(workloads))
    varied = table.pop("vary", [{"name": ""}])
    points = []
    for name in names:
        if name not in workloads:
            raise UserError(f"{where}: workload '{name}' is not in [workloads]")
        base = Point(**_fields(Point, {"name": name, **workloads[name]}, f"{where}: {name}"))
        for value in varied:
            extra = _fields(Point, value, f"{where}: vary")
            # Keys of the generator, after the workload's own.
            keys = f",{extra['workload']}" if "workload" in extra else ""
            points.append(
                replace(
                    _traced(replace(base, workload=base.workload + keys)),
                    name=f"{name}-{value['name']}" if value["name"] else name,
                    set=base.set + extra.get("set", ()),
                    age=extra.get("age", base.age),
                    length=extra.get("length", base.length),
                )
            )
    return tuple(points)


def _grid(tables: list[dict[str, Any]], where: str) -> list[Scheme]:
    """A scheme with every combination of parameters' values; the label is the parameters."""
    found: dict[str, Scheme] = {}
    for table in tables:
        values = dict(table)
        scheme = values.pop("scheme", "")
        if not scheme or not all(isinstance(v, list) and v for v in values.values()):
            raise UserError(f"{where}: grid: must have a scheme, and a list for each parameter")
        for each in itertools.product(*values.values()):
            params = ",".join(f"{k}={v}" for k, v in zip(values, each, strict=True))
            found[params] = Scheme(params, scheme, params)
    return list(found.values())


def _together(scheme: Scheme, other: str) -> Scheme:
    """The scheme with another choice beside it, under its own label."""
    if not other:
        return scheme
    name = other if scheme.scheme == "baseline" else f"{scheme.scheme}+{other}"
    return replace(scheme, scheme=name)


def _other_params(scheme: Scheme, name: str, value: str) -> Scheme:
    given = dict(pair.split("=", 1) for pair in scheme.params.split(",") if pair)
    return replace(scheme, params=",".join(f"{k}={v}" for k, v in {**given, name: value}.items()))


def changed(e: Experiment, changes: Sequence[str]) -> Experiment:
    """Under other keys of the drive, or parameters of a scheme that is named by its label.

    What is set to what it is anyway leaves the experiment's key as it is.
    """
    for change in changes:
        key, _, value = change.partition("=")
        label, _, name = key.rpartition(".")
        if any(scheme.label == label for scheme in e.schemes):
            schemes = [_other_params(s, name, value) if s.label == label else s for s in e.schemes]
            e = replace(e, schemes=tuple(schemes))
        elif any(text.startswith(f"{key}=") for text in e.set):
            e = replace(e, set=tuple(change if s.startswith(f"{key}=") else s for s in e.set))
        else:
            e = replace(e, set=(*e.set, change))
    return e


def _quick(e: Experiment, permille: int) -> Experiment:
    """The whole experiment with few seeds and short runs: directions, no magnitudes."""
    points = tuple(
        replace(p, requests=p.requests * permille // 1000, warmup=p.warmup * permille // 1000)
        for p in e.points
    )
    return replace(
        e,
        points=points,
        seeds=min(QUICK_SEEDS, e.seeds),
        requests=e.requests * permille // 1000,
        warmup=e.warmup * permille // 1000,
    )


def exists(paper: str) -> bool:
    """Is there a file for the paper?"""
    return (ROOT / "experiments" / f"{paper}.toml").is_file()


def load(paper: str, part: str = "full") -> Paper:
    """Read the file; `part`: full, small for few workloads and seeds, or quick."""
    path = ROOT / "experiments" / f"{paper}.toml"
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path.name}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path.name}: {error}") from error
    schemes = {}
    for label, table in data.get("schemes", {}).items():
        where = f"{path.name}: schemes.{label}"
        schemes[label] = Scheme(**_fields(Scheme, {"label": label, **table}, where))
    experiments = {}
    for name, table in data["experiments"].items():
        where = f"{path.name}: experiments.{name}"
        small = table.pop("small", None)
        quick = table.pop("quick", QUICK_LENGTH)
        if part == "small":
            if small is None:
                continue
            table.update(small)
        chosen = [schemes.get(s, Scheme(s, s)) for s in table.pop("schemes")]
        chosen += _grid(table.pop("grid", []), where)
        chosen = [_together(s, table.get("with", "")) for s in chosen]
        table.pop("with", None)
        points = _points(table, data["workloads"], where)
        rest = _fields(Experiment, table, where)
        made = Experiment(
            **{**rest, "paper": paper, "name": name, "schemes": tuple(chosen), "points": points}
        )
        made = changed(made, os.environ.get(CHANGES, "").split())
        experiments[name] = _quick(made, quick) if part == "quick" else made
    return Paper(
        paper, data["title"], tuple(data["choices"]), experiments, data.get("published", {}), part
    )


def cell_path(experiment: Experiment, point: str, seed: int, program: str) -> Path:
    """Results of other sources or other settings lie elsewhere, and are never taken for these."""
    folder = CELLS / experiment.paper
    return folder / f"{experiment.name}-{experiment.key()}-{program}" / point / f"{seed}.json"


def cells(paper: Paper, program: str) -> list[tuple[Experiment, str, int, Path]]:
    """(experiment, point, seed, path of its results) of all cells."""
    return [
        (experiment, point.name, seed, cell_path(experiment, point.name, seed, program))
        for experiment in paper.experiments.values()
        for seed in range(1, experiment.seeds + 1)
        for point in experiment.points
    ]
