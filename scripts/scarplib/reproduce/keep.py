# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/results/raw/PAPER.jsonl.xz: the figures of finished cells, kept in the repository.

The first line says of which engine and commit they are; which experiments, or which of an
experiment's points, are of an older one (`others`: EXPERIMENT or EXPERIMENT/POINT, and its engine);
and of which commits the older ones are (`commits`).
Each further line is a cell with its experiment's key.
A run takes from it what is of its engine and settings.  The table of all papers is computed from
it, whichever engine that was.  What nothing on a paper's page is computed from is left out of it.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from scarplib.paths import RESULTS
from scarplib.reproduce import spec
from scarplib.reproduce.results import Results

RAW = RESULTS / "raw"
# Percentiles of chosen requests that a page has; of all requests they are always kept.
CHOSEN = {"pregc": ("affected_io_q",), "hpdc18": ("unaffected_read_q",)}
# What is drawn over time.
OVER_TIME = ("cliff",)
# Engines some of whose kept figures later ones do not give: what they ran must be run again.
DIFFER = ("a8bb9701d5a8",)
# Cells of one experiment by point and seed.
Cells = dict[tuple[str, int], dict[str, Any]]


def path_of(paper: spec.Paper, folder: Path = RAW) -> Path:
    """Of a paper's figures; those of a quick run are never taken for the others."""
    return folder / f"{paper.name}{'-quick' if paper.part == 'quick' else ''}.jsonl.xz"


def lean(paper: str, experiment: str, cell: dict[str, Any]) -> dict[str, Any]:
    """The cell without what would be most of the file, and is on no page."""

    def left_out(key: str) -> bool:
        if key.startswith("slot_"):
            return experiment not in OVER_TIME
        chosen = key.startswith(("affected_", "unaffected_", "sibling_"))
        return chosen and key.endswith("_q") and key not in CHOSEN.get(paper, ())

    def of_entry(entry: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in entry.items() if not left_out(key)}
        if "io_q" in entry:
            # The same percentiles again, by the drive's own buckets.
            of_drive = ("read_latency", "write_latency")
            kept["stats"] = {k: v for k, v in entry["stats"].items() if k not in of_drive}
        return kept

    schemes = {label: of_entry(entry) for label, entry in cell["schemes"].items()}
    return {**cell, "schemes": schemes}


def write(paper: spec.Paper, engine: str, made: str, folder: Path = RAW) -> Path:
    """All cells of the paper that there are; `made`: the commit."""
    lines: list[dict[str, Any]] = [
        {"paper": paper.name, "part": paper.part, "engine": engine, "commit": made}
    ]
    for experiment, point, seed, path in spec.cells(paper, engine):
        if path.is_file():
            cell = json.loads(path.read_text(encoding="utf-8"))
            cell = lean(paper.name, experiment.name, cell)
            lines.append(
                {"experiment": experiment.name, "key": experiment.key(), "point": point,
                 "seed": seed, "cell": cell}
            )  # fmt: skip
    target = path_of(paper, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    target.write_bytes(lzma.compress(text.encode(), preset=9))
    return target


def read(paper: spec.Paper, folder: Path = RAW) -> tuple[dict[str, Any], dict[str, Cells]]:
    """The head, and the cells by experiment, of those whose settings are still the same."""
    path = path_of(paper, folder)
    if not path.is_file():
        return {}, {}
    head, *rest = map(json.loads, lzma.decompress(path.read_bytes()).decode().splitlines())
    keys = {e.name: e.key() for e in paper.experiments.values()}
    found: dict[str, Cells] = {}
    for line in rest:
        if keys.get(line["experiment"]) == line["key"]:
            cells = found.setdefault(line["experiment"], {})
            cells[line["point"], line["seed"]] = line["cell"]
    return head, found


def engine_of(head: dict[str, Any], experiment: str, point: str) -> str:
    """The engine of a point's cells; empty where none are kept."""
    others = head.get("others", {})
    found: str = others.get(f"{experiment}/{point}", others.get(experiment, head.get("engine", "")))
    return found


def restore(paper: spec.Paper, engine: str, folder: Path = RAW) -> int:
    """Cells of this engine that are not there yet are put where a run looks; how many."""
    head, found = read(paper, folder)
    number = 0
    for experiment, point, seed, path in spec.cells(paper, engine):
        if engine_of(head, experiment.name, point) != engine:
            continue
        cell = found.get(experiment.name, {}).get((point, seed))
        if cell and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # As a run's own: a name appears only with the whole result behind it.
            part = path.with_suffix(".part")
            part.write_text(json.dumps(cell), encoding="utf-8")
            part.rename(path)
            number += 1
    return number


def _others(head: dict[str, Any], e: spec.Experiment) -> dict[str, str]:
    """Which older engines ran the experiment, and which of its points; empty text: all of them."""
    found: dict[str, list[str]] = {}
    for point in e.points:
        engine = engine_of(head, e.name, point.name)
        if engine != head["engine"]:
            found.setdefault(engine, []).append(point.name)
    return {
        engine: ", ".join(points) if len(points) < len(e.points) else ""
        for engine, points in found.items()
    }


def load(paper: spec.Paper, folder: Path = RAW) -> tuple[dict[str, Any], dict[str, Results]]:
    """The head, and the results of each experiment of which no cell is missing."""
    head, found = read(paper, folder)
    data = {}
    for e in paper.experiments.values():
        cells = found.get(e.name, {})
        wanted = [(p.name, seed) for p in e.points for seed in range(1, e.seeds + 1)]
        if any(each not in cells for each in wanted):
            continue
        data[e.name] = Results(
            e,
            {p.name: [cells[p.name, s] for s in range(1, e.seeds + 1)] for p in e.points},
            others=_others(head, e),
        )
    return head, data
