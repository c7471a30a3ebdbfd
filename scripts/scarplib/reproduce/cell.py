# SPDX-License-Identifier: GPL-2.0-or-later
"""One cell: a point and a seed under every scheme, reduced to numbers.

The first scheme is the one that the others are compared with: the requests that waited for garbage
collection under it are followed under all of them.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scarplib.device_logs import command_log, gc_log, log_file
from scarplib.device_logs.command_log import CAUSES, READ, WRITE
from scarplib.errors import UserError
from scarplib.reproduce import replays, spec
from scarplib.reproduce.replays import run
from scarplib.reproduce.spread import by_use, spread

# A log's rows.
Rows = np.ndarray[Any, np.dtype[Any]]
GC_CAUSES = [
    CAUSES.index(name)
    for name in ("die_gc_read", "die_gc_program", "die_erase", "die_gc_held", "no_space")
]
AT_ONCE_NS = 100_000
QUANTILES = [0.05 * i for i in range(1, 20)] + [0.975, 0.99, 0.995, 0.999, 0.9999]


def _table(path: Path, layout: log_file.Layout) -> Rows:
    """A log as an array with a field for each of its columns; `cause`: all causes."""
    log_file.check(path, layout)
    columns: list[Any] = [(name, f"<{code}") for name, code in layout.columns]
    if layout.causes:
        columns.append(("cause", "<q", layout.causes))
    return np.fromfile(path, dtype=np.dtype(columns), offset=log_file.HEADER.size)


def commands(path: Path) -> Rows:
    """In the order of submission, which is the same under every scheme of an open loop."""
    rows = _table(path, command_log.LAYOUT)
    return rows[np.argsort(rows["order"] & command_log.ORDER_SEQ)]


def _mean(values: Rows) -> float | None:
    return float(values.mean()) if len(values) else None


def siblings(rows: Rows, gc: Rows, shape: dict[str, int]) -> Rows:
    """Affected requests that met collections in sibling planes of theirs, and none in their own.

    Static allocation in the order CWDP: a page's plane follows from its address.
    """
    page = rows["offset"] // shape["page_bytes"]
    last = (rows["offset"] + rows["length"] - 1) // shape["page_bytes"]
    chips, per_chip = shape["chips_per_channel"], shape["dies_per_chip"]
    own = np.zeros(len(rows), bool)
    other = np.zeros(len(rows), bool)
    order = np.argsort(gc["end"], kind="stable")
    by_die = {d: gc[order][gc["die"][order] == d] for d in range(shape["dies"])}
    planes = shape["planes_per_die"]
    for step in range(int((last - page).max()) + 1 if len(rows) else 0):
        at = page + step
        channel = at % shape["channels"]
        chip = at // shape["channels"] % chips
        die = (channel * chips + chip) * per_chip + at // shape["channels"] // chips % per_chip
        plane = die * planes + at // shape["dies"] % planes
        for index, runs in by_die.items():
            mine = np.flatnonzero((die == index) & (at <= last))
            if not len(runs) or not len(mine):
                continue
            # Planes of a die collect one after the other: what overlaps a request are neighbours.
            first = np.searchsorted(runs["end"], rows["submit"][mine], side="right")
            for ahead in range(4):
                number = np.minimum(first + ahead, len(runs) - 1)
                met = (first + ahead < len(runs)) & (runs["begin"][number] < rows["complete"][mine])
                same = runs["plane"][number] == plane[mine]
                own[mine] |= met & same
                other[mine] |= met & ~same
    return other & ~own


def _latencies(rows: Rows, masks: dict[str, Rows]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    latency = rows["complete"] - rows["submit"]
    read, write = rows["op"] == READ, rows["op"] == WRITE
    for name, mask in masks.items():
        for kind, of in (("read", read), ("write", write), ("io", read | write)):
            part = latency[of & mask]
            key = f"{name}_{kind}" if name else kind
            out[f"{key}_n"] = len(part)
            out[f"{key}_ns"] = _mean(part)
            if len(part):
                out[f"{key}_q"] = [int(q) for q in np.quantile(part, QUANTILES)]
    means = rows["cause"][read].mean(axis=0) if read.any() else np.zeros(len(CAUSES))
    out["read_causes_ns"] = dict(zip(CAUSES, (float(c) for c in means), strict=True))
    causes = rows["cause"][masks["affected"]].sum(axis=0)
    out["affected_causes_ns"] = dict(zip(CAUSES, (int(c) for c in causes), strict=True))
    return out


def _gc(gc: Rows, begin: int) -> dict[str, Any]:
    runs = gc[gc["begin"] >= begin]
    runs = runs[np.lexsort((runs["begin"], runs["die"]))]
    # Of one die, one after the other with no time for even a read between.
    again = (runs["die"][1:] == runs["die"][:-1]) & (
        runs["begin"][1:] - runs["end"][:-1] < AT_ONCE_NS
    )
    return {
        "gc_again": float(again.sum() / max(1, len(runs))),
        "gc_n": len(runs),
        "gc_ns": _mean(runs["end"] - runs["begin"]),
        "gc_moved": _mean(runs["moved"]),
    }


def cell(experiment: spec.Experiment, point: spec.Point, seed: int) -> dict[str, Any]:
    """Run it: statistics, latencies (ns) and collections of every scheme."""
    requests, warmup = (
        (point.requests, point.warmup)
        if point.requests
        else (experiment.requests, experiment.warmup)
    )
    experiment = replace(
        experiment,
        requests=requests * point.length // 1000,
        warmup=warmup * point.length // 1000,
    )
    out: dict[str, Any] = {"point": point.name, "seed": seed, "schemes": {}}
    # Which requests waited for GC under the first scheme, and which of them by a sibling plane's.
    chosen: dict[str, Rows] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for scheme in experiment.schemes:
            result = run(experiment, point, scheme, seed, folder)
            entry: dict[str, Any] = {
                "stats": result["stats"],
                "requests_per_s": result["requests_per_s"],
            }
            if experiment.logs:
                logged = commands(folder / "cmd.bin")
                rows = logged[experiment.warmup :]
                gc = _table(folder / "gc.bin", gc_log.LAYOUT)
                if not chosen:
                    affected = rows["cause"][:, GC_CAUSES].sum(axis=1) > 0
                    sibling = affected & siblings(rows, gc, result["shape"])
                    chosen = {
                        "affected": affected,
                        "sibling": sibling,
                        "unaffected": ~affected,
                    }
                    out["trace"] = result["trace"]
                entry.update(_latencies(rows, {"": np.ones(len(rows), bool), **chosen}))
                entry.update(spread(rows, logged))
                if (experiment.age if point.age < 0 else point.age) == 0:
                    entry.update(by_use(logged, result["stats"]["logical_bytes"]))
                entry.update(_gc(gc, int(rows["submit"][0])))
            out["schemes"][scheme.label] = entry
    return out


def _named(paper: str, part: str, name: str, point: str, seed: int, path: Path) -> spec.Experiment:
    """The experiment, if the file's name says what would be run here and now."""
    found = spec.load(paper, part).experiments.get(name)
    if not found or spec.cell_path(found, point, seed, replays.program()) != path:
        raise UserError(
            f"{paper} {name}, {point}, seed {seed}: the engine, the drive or the experiment has "
            "changed since this began"
        )
    return found


def _make(paper: str, part: str, name: str, point: str, seed: int, path: Path) -> None:
    of = (paper, part, name, point, seed, path)
    experiment = _named(*of)
    result = cell(experiment, next(p for p in experiment.points if p.name == point), seed)
    _named(*of)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result["cpu_s"] = round(used.ru_utime + used.ru_stime, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name appears only with the whole result behind it.
    part_path = path.with_suffix(".part")
    part_path.write_text(json.dumps(result))
    part_path.rename(path)


def main(arguments: list[str]) -> int:
    """As Snakemake calls it: PAPER SET EXPERIMENT POINT SEED TARGET."""
    paper, part, name, point, seed, target = arguments
    try:
        _make(paper, part, name, point, int(seed), Path(target))
    except UserError as error:
        print(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
