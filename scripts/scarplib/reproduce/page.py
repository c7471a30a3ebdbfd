# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/results/PAPER.md, written from the cells: never by hand."""

from __future__ import annotations

import os
from pathlib import Path

from scarplib.paths import OUT, RESULTS
from scarplib.reproduce import results, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Row

DOCS = RESULTS
TRACED = OUT / "reproduce" / "traces"


def verdict(row: Row) -> str:
    """In words."""
    return "holds" if row.holds else "**does not hold**"


def source(paper: spec.Paper) -> str:
    """Where the requests came from."""
    points = [p for e in paper.experiments.values() for p in e.points]
    traces = dict.fromkeys(p.trace.split(",")[0] for p in points if p.trace)
    if not traces:
        return "generated stand-ins, not the traces"
    rest = "" if all(p.trace for p in points) else " (the other workloads: generated stand-ins)"
    return (
        f"real traces: {', '.join(traces)}{rest}; at their own pace, addresses folded onto the "
        "drive, and each seed ages it otherwise"
    )


def text(paper: spec.Paper) -> str:
    """The page of a paper, from the results of its cells."""
    data = results.load(paper)
    judge = JUDGES[paper.name]
    rows = judge.rows(paper, data)
    seeds = max(e.seeds for e in paper.experiments.values())
    lines = [
        f"# {paper.title}",
        "",
        f"Written by `make reproduce PAPER={paper.name}` from {source(paper)}. "
        f"Means over {seeds} seeds with paired 95 % intervals (Student's t); an order "
        "holds when its interval says so. "
        f"{sum(r.holds for r in rows)} of {len(rows)} rows hold.",
        "",
        *table(
            ("row", "metric", "paper", "here", "holds when", ""),
            [(r.number, r.metric, r.paper, r.ours, r.wanted, verdict(r)) for r in rows],
        ),
        "",
    ]
    notes = [f"- **{r.number}**: {r.why}" for r in rows if r.why]
    if notes:
        lines += ["## What the rows do not say", "", *notes, ""]
    lines += ["## Choices", "", f"In `experiments/{paper.name}.toml`, with the rest.", ""]
    lines += [f"- {choice}" for choice in paper.choices]
    lines += ["", *judge.details(paper, data)]
    return "\n".join(lines).rstrip("\n") + "\n"


def write(paper: spec.Paper) -> Path:
    """The page and its figures; the page's path."""
    data = results.load(paper)
    judge = JUDGES[paper.name]
    # The committed pages are of the stand-ins.
    folder = TRACED if os.environ.get(spec.TRACES) else DOCS
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{paper.name}.md"
    target.write_text(text(paper))
    judge.figures(paper, data, folder)
    return target
