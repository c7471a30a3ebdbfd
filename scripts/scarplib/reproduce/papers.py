# SPDX-License-Identifier: GPL-2.0-or-later
"""`make reproduce PAPER=…`: runs what is missing of a paper's experiments, and writes its page.

Snakemake runs the cells, on all cores or on a cluster; what was run before is kept below out/.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from scarplib.errors import UserError
from scarplib.paths import OUT, ROOT
from scarplib.reproduce import estimate, keep, overview, page, replays, results, spec
from scarplib.sweep.cells import run_missing

_SNAKEFILE = ROOT / "experiments" / "Snakefile"


def run_cells(papers: list[spec.Paper], part: str, cores: int, only: Sequence[str] = ()) -> None:
    """Run what is missing of the papers' cells; `part`: full or small; `only`: experiments."""
    program = replays.program()
    paths = [path for paper in papers for *_, path in spec.cells(paper, program)]
    config = [f"papers={','.join(p.name for p in papers)}", f"set={part}"]
    config += [f"only={','.join(only)}"] if only else []
    if failed := run_missing(_SNAKEFILE, paths, OUT / "reproduce", cores, config):
        raise UserError(failed)


def _use_traces(folder: str) -> None:
    path = Path(folder).resolve()
    if not path.is_dir():
        raise UserError(f"--traces={folder}: must be a folder with NAME.csv or NAME.csv.gz in it")
    os.environ[spec.TRACES] = str(path)


def _named(name: str) -> list[str]:
    return [n for n in spec.PAPERS if spec.exists(n)] if name == "all" else [name]


def main(name: str, cores: int = 0, part: str = "full", only_estimate: bool = False) -> int:
    """Run, judge and write the page of a paper or of all."""
    papers = [spec.load(n, part) for n in _named(name)]
    points = [p for paper in papers for e in paper.experiments.values() for p in e.points]
    traced = bool(os.environ.get(spec.TRACES))
    if traced and not any(p.trace for p in points):
        wanted = ", ".join(f"{n}.csv" for n in sorted({p.stands_for for p in points}))
        raise UserError(f"--traces: none of its files is one of {wanted}, plain, .gz or .zst")
    if not traced and (kept := sum(keep.restore(p, replays.program()) for p in papers)):
        print(f"{kept} cells of this engine were kept in docs/results/raw", file=sys.stderr)
    if only_estimate or part == "full":
        print(estimate.text(papers, cores or os.cpu_count() or 1), file=sys.stderr, flush=True)
    if only_estimate:
        return 0
    begun = time.monotonic()
    run_cells(papers, part, cores)
    print(f"experiments: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    for paper in papers:
        made = page.Made(replays.program(), page.commit())
        print(page.write(paper, results.load(paper), made))
        if not traced:
            folder = keep.RAW if part == "full" else page.QUICKLY
            print(keep.write(paper, made.engine, made.commit, folder))
    if part == "full" and not traced:
        print(overview.write())
    replays.drop_images(papers)
    return 0


def judge_kept(names: list[str]) -> int:
    """Write the pages and the table of all papers from docs/results/raw: no cell is run."""
    for name in names:
        paper = spec.load(name)
        head, data = keep.load(paper)
        if not data:
            raise UserError(f"{name}: {keep.path_of(paper)} has no figures of its settings")
        made = page.Made(head["engine"], head["commit"], head.get("commits", {}))
        print(page.write(paper, data, made))
    print(overview.write())
    return 0


def reproduce(name: str, cores: int, how: str, traces: str) -> int:
    """`scarp reproduce`, in a Python that has the packages.

    `how`: quick, estimate, kept, or empty.
    """
    os.environ.pop(spec.TRACES, None)
    if name == "small":
        from scarplib.reproduce import small_set as small

        if traces or how:
            option = f"--{how}" if how else "--traces"
            raise UserError(f"{option}: not with small, which is a part of `make test`")
        return small.main(cores)
    if name == "safs":
        from scarplib.reproduce import safs

        if traces:
            raise UserError("--traces: the array's workloads are generated: uniform and Zipf")
        if how:
            raise UserError(f"--{how}: not with safs, whose points are commands of scarp-array")
        return safs.main(cores)
    if how == "kept":
        return judge_kept(_named(name))
    if traces:
        _use_traces(traces)
    return main(name, cores, "quick" if how == "quick" else "full", how == "estimate")
