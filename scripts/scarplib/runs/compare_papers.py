# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp compare --paper`: each paper's own pairs on its drive, under a real kernel.

The page, docs/results/compare.md, is written from the runs' summaries: equal results, equal text.
A paper's section is replaced when it is run again; the others stay.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.paths import RESULTS, ROOT
from scarplib.results.causes import tail_text
from scarplib.results.fio import load_fio
from scarplib.results.fio_figures import share_later
from scarplib.results.table import table_text
from scarplib.results.units import human_ns
from scarplib.runs import folder as folders
from scarplib.runs import run

PAGE = "compare.md"


@dataclass(frozen=True)
class Pairs:
    """What one picture of the page shows."""

    paper: str
    key: str
    title: str
    device: str
    job: str
    schemes: tuple[str, ...]
    age: int
    # What was made smaller than the paper's, and what the figures then can say.
    scaled: str
    # The paper's order, best first, of those that it ranks.
    order: tuple[str, ...]
    overrides: str | None = None
    # The share of I/Os that took longer is said, too.
    target_ns: int | None = None


PAIRS = (
    Pairs(
        "hpdc18",
        "hpdc18",
        "I/O-parallelized GC (HPDC 2018)",
        "hpdc18-small.ini",
        "mixed-read-tail.fio",
        ("baseline", "pgc", "gc-par", "gc-vic", "ideal"),
        900,
        "One of its four channels and 32 of its 1024 blocks a plane (8 GiB raw): a guest makes "
        "tens of thousands of writes in a minute, and on 128 planes these would be two collections "
        "a plane at most. Timing, planes a die, pages and blocks are the paper's.",
        ("gc-vic", "gc-par", "baseline"),
        "geometry.channels=1",
    ),
    Pairs(
        "paragc",
        "paragc",
        "ParaGC",
        "paragc-small.ini",
        "mixed-read-tail.fio",
        ("baseline", "gc-z", "paragc", "ideal"),
        900,
        "100 of its 1536 blocks a plane (18.75 GiB raw). The threshold of 20 % is kept, and so are "
        "channels, dies, timing, pages and blocks.",
        ("paragc", "gc-z", "baseline"),
    ),
    Pairs(
        "pregc",
        "pregc-3d",
        "PreGC, 3D flash",
        "pregc-3d-small.ini",
        "bursty.fio",
        ("baseline", "gftl", "pregc", "pregc+gftl", "ideal"),
        525,
        "128 of its 512 blocks a plane (4 GiB raw). As in `experiments/pregc.toml` 52.5 % of the "
        "logical space is in use: GFTL's buffer of 16 % lies in what no request touches, and all "
        "schemes can start from one image.",
        ("pregc+gftl", "pregc", "baseline"),
    ),
    Pairs(
        "pregc",
        "pregc-2d",
        "PreGC, 2D flash",
        "pregc-2d-small.ini",
        "bursty.fio",
        ("baseline", "gftl", "pregc", "pregc+gftl", "ideal"),
        525,
        "1024 of its 4096 blocks a plane (4 GiB raw); otherwise as above.",
        ("pregc+gftl", "pregc", "baseline"),
    ),
    Pairs(
        "hios",
        "hios",
        "HIOS (ISCA 2014)",
        "hios-mlc.ini",
        "deadlines.fio",
        ("baseline", "anticipatory", "deadline", "flash-aware", "hios-1", "hios-2", "ideal"),
        900,
        "256 of its 4096 blocks a package (2 GiB raw), with page mapping. The queue of 32, the "
        "threshold of 1 % and the deadline of 30 ms are the paper's. `baseline` is its `noop`.",
        ("hios-2", "hios-1", "baseline"),
        target_ns=30_000_000,
    ),
)
INTRODUCTION = (
    "# The papers' pairs under a real kernel\n"
    "\n"
    "Written by `scarp compare --paper all`: Linux boots once for each scheme, every time from the "
    "same aged drive, and fio measures on virtual time. Reads and writes are of one mapping unit; "
    "latencies are fio's in the guest, the causes are the device's. Same programs, same figures, "
    "on any host.\n"
    "\n"
    "The papers replay traces, fio here keeps a queue filled or sends bursts: the order of the "
    "schemes is to be compared, not the size of their gains (`make reproduce` does that). One "
    "job, one seed.\n"
)


def _cell(scheme: dict[str, Any], direction: str, key: str) -> str:
    values = scheme["fio"][direction]
    return human_ns(values.get(key)) if values else "–"


def order_text(pairs: Pairs, schemes: dict[str, dict[str, Any]]) -> str:
    """Whether the schemes come in the paper's order, by the reads' mean and percentiles."""
    names = [name for name in pairs.order if name in schemes]
    said = []
    for label, key in (("mean", "mean_ns"), ("p99", "p99_ns"), ("p99.9", "p99.9_ns")):
        found = sorted(names, key=lambda name: schemes[name]["fio"]["read"][key])
        values = [schemes[name]["fio"]["read"][key] for name in names]
        ours = ", ".join(f"`{name}`" for name in found)
        said.append(f"{label}: {'the same' if values == sorted(values) else f'**{ours}**'}")
    order = ", ".join(f"`{name}`" for name in names)
    return f"The paper's order, best first: {order}. Here, by the reads' {'; '.join(said)}."


def _same_course(schemes: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each scheme that never did anything else than one before it."""
    lines: list[str] = []
    seen: dict[str, str] = {}
    for name, scheme in schemes.items():
        course = json.dumps([scheme["fio"], scheme["device"], scheme["stats"]], sort_keys=True)
        first = seen.setdefault(course, name)
        if first != name:
            lines += ["", f"`{name}` took the same course as `{first}`, I/O for I/O."]
    return lines


def later_text(folder: Path, names: Iterable[str], target_ns: int) -> str:
    """Of each scheme: which share of fio's reads and writes took longer than that."""
    said = []
    for name in names:
        fio = load_fio(folder / name / "fio.json")
        shares = [
            "no" if share is None else f"{100 * share:.2f} % of"
            for share in (share_later(fio, direction, target_ns) for direction in ("read", "write"))
        ]
        said.append(f"`{name}` {shares[0]} reads, {shares[1]} writes")
    return f"Longer than {human_ns(target_ns)}, by fio's histogram: {'; '.join(said)}."


def section(
    pairs: Pairs, schemes: dict[str, dict[str, Any]], made: dict[str, Any], later: str = ""
) -> str:
    """A paper's part of the page; `made`: the manifest; `later`: of `later_text()`."""
    lines = [
        f"## {pairs.title}",
        "",
        f"`devices/{pairs.device}`"
        + (f" with `{pairs.overrides}`" if pairs.overrides else "")
        + f", {pairs.age / 10:g} % full, `fio-jobs/{pairs.job}`. {pairs.scaled}",
        "",
        "| scheme | read p50 | p99 | p99.9 | max | write p99.9 | IOPS (reads, writes) | WA "
        "| GC runs | the slowest 0.1 % of reads |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, scheme in schemes.items():
        tail = scheme["tail_causes"]["read"]
        amplification = scheme["write_amplification"]
        rates = [
            f"{scheme['fio'][d]['iops']:,.0f}" if scheme["fio"][d] else "–"
            for d in ("read", "write")
        ]
        cells = [
            f"`{name}`",
            *(_cell(scheme, "read", key) for key in ("p50_ns", "p99_ns", "p99.9_ns", "max_ns")),
            _cell(scheme, "write", "p99.9_ns"),
            ", ".join(rates),
            "–" if amplification is None else f"{amplification:.3f}",
            f"{scheme['gc_runs']:,}",
            f"{human_ns(tail['mean_ns'])}: {tail_text(tail)}" if tail else "–",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", order_text(pairs, schemes)]
    if later:
        lines += ["", later]
    lines += _same_course(schemes)
    guest = made["guest"]
    said = f"QEMU {made['qemu']['version']}, {guest['kernel_package']}, fio {guest['fio_version']}."
    lines += ["", f"![{pairs.title}: each scheme's tail](compare-{pairs.key}.png)", "", said]
    return "\n".join(lines) + "\n"


def replaced(page: str, pairs: Pairs, text: str) -> str:
    """The page with this section in its place, in the order of PAIRS."""
    known = {p.title: p.key for p in PAIRS}
    parts: dict[str, str] = {}
    for part in re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]:
        title = part.split("\n", 1)[0].removeprefix("## ")
        if title in known:
            parts[known[title]] = part.rstrip("\n") + "\n"
    parts[pairs.key] = text
    return "\n".join([INTRODUCTION, *(parts[p.key] for p in PAIRS if p.key in parts)])


def _one(pairs: Pairs, parallel: int) -> run.Outcome:
    outcome = run.compare(
        run.Settings(
            job=ROOT / "fio-jobs" / pairs.job,
            device=ROOT / "devices" / pairs.device,
            schemes=pairs.schemes,
            age=pairs.age,
            seed=1,
            smp=1,
            overrides=pairs.overrides,
            parallel=parallel,
            cpu_limit=1800,
            kind=f"compare-{pairs.key}",
        )
    )
    if outcome.schemes:
        print(table_text(outcome.schemes))
        folders.draw(outcome.folder)
    return outcome


def papers(wanted: str, parallel: int, results: Path = RESULTS) -> int:
    """Run what belongs to the paper (or to all); a drive whose guests failed keeps its section."""
    failures: list[str] = []
    for pairs in (p for p in PAIRS if wanted in (p.paper, "all")):
        outcome = _one(pairs, parallel)
        if outcome.interrupted:
            run.report_end(outcome, 0)
            return 130
        if outcome.failures or outcome.changed:
            failures += [*outcome.failures.values(), *filter(None, [outcome.changed])]
            continue
        results.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(outcome.folder / "tail-read.png", results / f"compare-{pairs.key}.png")
        page = results / PAGE
        old = page.read_text() if page.is_file() else ""
        later = (
            later_text(outcome.folder, pairs.schemes, pairs.target_ns) if pairs.target_ns else ""
        )
        text = section(pairs, outcome.schemes, outcome.manifest, later)
        page.write_text(replaced(old, pairs, text))
        print(f"{page}: {pairs.title}")
    if failures:
        raise UserError("\n".join(failures))
    return 0
