# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/results/PAPER.md, written from the cells: never by hand."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.paths import OUT, RESULTS, ROOT
from scarplib.reproduce import keep, replays, spec
from scarplib.reproduce.judge import JUDGES
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Results
from scarplib.reproduce.verdicts import Judged, count, verdicts

DOCS = RESULTS
TRACED = OUT / "reproduce" / "traces"
QUICKLY = OUT / "reproduce" / "quick"
QUICK = (
    f"A quick run: {spec.QUICK_SEEDS} seeds, and most experiments cut short. It shows directions; "
    "its verdicts are not the paper's page's.",
    "",
)


def source(paper: spec.Paper) -> str:
    """Where the requests came from."""
    points = [p for e in paper.experiments.values() for p in e.points]
    traces = dict.fromkeys(p.trace.split(",")[0] for p in points if p.trace)
    if not traces:
        return "generated stand-ins, not the traces"
    rest = "" if all(p.trace for p in points) else " (the other workloads: generated stand-ins)"
    return (
        f"real traces: {', '.join(traces)}{rest}; at their own pace, addresses folded onto the "
        "drive"
    )


def _columns(labels: Sequence[str]) -> str:
    """Settings of a grid are counted: they have a picture."""
    swept = [label for label in labels if "=" in label]
    named = [label for label in labels if "=" not in label]
    return ", ".join([*named, *([f"{len(swept)} settings that are swept"] if swept else [])])


def runs(data: dict[str, Results]) -> list[str]:
    """What was run, by experiment."""
    body = []
    for name, of in data.items():
        e = of.experiment
        ages = sorted({e.age if p.age < 0 else p.age for p in e.points})
        used = sum(cell.get("cpu_s", 0) for cells in of.cells.values() for cell in cells)
        body.append(
            (
                f"`{name}`", Path(e.device).stem,
                f"{replays.percent(e, 'ftl', 'over_provisioning_permille')} %",
                f"{', '.join(f'{age / 10:g}' for age in ages)} %",
                str(len(e.points)), _columns(of.labels()), str(e.seeds), f"{used / 60:.0f}",
            )
        )  # fmt: skip
    return [
        "## What was run",
        "",
        *table(
            (
                "experiment", "drive", "over-provisioning", "in use", "workloads", "schemes",
                "seeds", "minutes of a core",
            ),
            body,
        ),
        "",
    ]  # fmt: skip


@dataclass(frozen=True)
class Made:
    """What the figures were made with; `commits`: those of older engines."""

    engine: str
    commit: str
    commits: Mapping[str, str] = field(default_factory=dict)


def older(data: Mapping[str, Results], made: Made) -> list[str]:
    """Which experiments another engine ran."""
    by: dict[str, list[str]] = {}
    for name, of in data.items():
        for engine, points in of.others.items():
            by.setdefault(engine, []).append(f"`{name}`{f' ({points})' if points else ''}")
    if not by:
        return []
    said = "; ".join(
        f"engine {engine} of commit {made.commits.get(engine, 'unknown')}"
        f"{', some of whose figures later ones do not give,' if engine in keep.DIFFER else ''}"
        f" ran {', '.join(names)}"
        for engine, names in by.items()
    )
    return [
        f"Not every experiment was run on engine {made.engine}: an older one, with the same "
        f"settings, has the figures of some ({said}). A row that uses them says *older engine*, "
        "and names them where it uses others, too.",
        "",
    ]


def commit() -> str:
    """Of the checkout that runs this; one that is changed elsewhere than in the results says so."""

    def git(*arguments: str) -> str:
        line = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(line, capture_output=True, text=True, check=False).stdout.strip()

    found = git("describe", "--always", "--exclude=*")
    if not found:
        return "no checkout"
    # The pages of the papers before this one, of the same run.
    results = RESULTS.relative_to(ROOT).as_posix()
    changed = git("status", "--porcelain", "--", ".", f":(exclude){results}")
    return f"{found}-dirty" if changed else found


def rows(judged: Sequence[Judged]) -> list[str]:
    """The page's first table."""
    return table(
        ("row", "metric", "paper", "here", "holds when", ""),
        [
            (j.row.number, j.row.metric, j.row.paper, j.row.ours, j.row.wanted, j.text())
            for j in judged
        ],
    )


def text(paper: spec.Paper, data: dict[str, Results], made: Made) -> str:
    """The page of a paper, from the results of its cells."""
    judge = JUDGES[paper.name]
    judged = verdicts(judge, paper, data)
    seeds = max(e.seeds for e in paper.experiments.values())
    lines = [
        f"# {paper.title}",
        "",
        f"Written by `make reproduce PAPER={paper.name}` from {source(paper)}. "
        f"Commit {made.commit}, engine {made.engine}. "
        f"Means over {seeds} seeds, each with its own aged drive, with paired 95 % intervals "
        "(Student's t); an order holds when its interval says so. "
        f"{count(judged) if judged else ''}".rstrip(),
        "",
        *(QUICK if paper.part == "quick" else ()),
        *older(data, made),
    ]
    if judged:
        lines += [*rows(judged), ""]
    notes = [f"- **{j.row.number}**: {j.row.reason()}" for j in judged if j.row.why]
    if notes:
        lines += ["## What the rows do not say", "", *notes, ""]
    lines += ["## Choices", "", f"In `experiments/{paper.name}.toml`, with the rest.", ""]
    lines += [f"- {choice}" for choice in paper.choices]
    lines += ["", *runs(data), *judge.details(paper, data)]
    return "\n".join(lines).rstrip("\n") + "\n"


def write(paper: spec.Paper, data: dict[str, Results], made: Made) -> Path:
    """The page and its figures; the page's path."""
    judge = JUDGES[paper.name]
    # The committed pages are of the stand-ins.
    folder = TRACED if os.environ.get(spec.TRACES) else DOCS
    folder = QUICKLY if paper.part == "quick" else folder
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{paper.name}.md"
    target.write_text(text(paper, data, made))
    judge.figures(paper, data, folder)
    return target
