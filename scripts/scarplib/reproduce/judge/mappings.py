# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows M1 to M6: what the literature says of the mappings, on one drive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from scarplib.reproduce import spec
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import (
    Asked,
    Data,
    Entry,
    Results,
    Row,
    Value,
    amplification,
    stat,
)
from scarplib.sweep.intervals import Interval

# What is said here is said of mappings, which are no schemes: each is compared by itself.
SUBJECTS: tuple[str, ...] = ()
COMPARATORS: tuple[str, ...] = ()
CONDITIONS: dict[str, str] = {}
JUDGED_BY = ("mappings",)
MAPPINGS = ("page", "demand", "demand-10", "block", "superblock", "fast")
MERGED = ("block", "superblock", "fast")
SEQUENTIAL = "sequential"
# Small writes, far apart: what a log of blocks is worst at.
RANDOM = ("uniform", "zipf", "hot-cold")


def _latency(op: str, name: str) -> Value:
    return lambda entry: float(entry["stats"][f"{op}_latency"][name])


def copied(entry: Entry) -> float:
    """Pages that collections and merges programmed, for each page of the host's."""
    stats = entry["stats"]
    return float(stats["gc_page_programs"] / max(1, stats["host_page_programs"]))


def erases(entry: Entry) -> float:
    """Blocks erased for each thousand pages of the host's."""
    stats = entry["stats"]
    return float(1000 * stats["erases"] / max(1, stats["host_page_programs"]))


def hits(entry: Entry) -> float:
    """Percent of the entries looked up that were in RAM."""
    stats = entry["stats"]
    return float(100 * stats["map_hits"] / max(1, stats["map_hits"] + stats["map_misses"]))


def _random(data: Results) -> list[str]:
    return [p for p in data.points if p in RANDOM]


def _less(data: Results, one: str, other: str, value: Value) -> dict[str, Interval]:
    return {p: data.change(one, other, value, [p]) for p in _random(data)}


def _range(each: dict[str, Interval]) -> str:
    return ", ".join(f"{point} {change.text()}" for point, change in each.items())


def _ram(data: Results) -> dict[str, float]:
    return {m: data.level(m, stat("map_ram_bytes")).mean for m in MAPPINGS}


def _by_size(data: Results) -> str:
    """Why M3 fails under `hot-cold`, with its write amplification by the size of a superblock."""
    labels = [label for label in data.labels() if label != "fast"]
    sizes = _and([label.rsplit("-", 1)[1] for label in labels])
    seen = _and([f"{data.level(label, amplification).mean:.1f}" for label in labels])
    return (
        "Kang et al. replay traces of file systems. Under `hot-cold` a fifth of the drive is "
        "written at random, so most superblocks have an update block that is partly filled, where "
        f"FAST lets all share its log. With `ftl.superblock_blocks` of {sizes} the write "
        f"amplification is {seen}; that of FAST is {data.level('fast', amplification).mean:.1f}."
    )


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def rows(_: spec.Paper, results: Data) -> list[Row]:
    """Each claim, and whether it is seen here."""
    data = results["mappings"]
    in_order = {m: data.level(m, amplification, [SEQUENTIAL]) for m in MAPPINGS}
    fewer = _less(data, "fast", "block", erases)
    beside = {m: _less(data, "superblock", m, copied) for m in ("block", "fast")}
    faster = _less(data, "demand", "fast", _latency("write", "mean_ns"))
    traffic = _less(data, "demand", "page", amplification)
    closer = _less(data, "demand-10", "demand", amplification)
    ram = _ram(data)
    order = ("block", "fast", "demand", "page")
    return [
        Row("M1", "write amplification of sequential writes, block", "switch merges copy nothing",
            in_order["block"].text("", sign=False), in_order["block"].mean < 1.15,
            "below 1.15"),
        Row("M2", "blocks erased, fast against block, random writes", "far fewer",
            _range(fewer), all(i.below(0) for i in fewer.values()), "falls on each workload"),
        Row("M3", "pages copied, superblock against block and fast", "up to 40 % less work",
            "; ".join(f"{m}: {_range(each)}" for m, each in beside.items()),
            all(i.below(0) for each in beside.values() for i in each.values()),
            "falls against both on each workload",
            partial(_by_size, results["beside"])),
        Row("M4", "mean write latency, demand against fast, random writes", "shorter (-78 %)",
            _range(faster), all(i.below(0) for i in faster.values()), "falls on each workload"),
        Row("M5", "write amplification, demand against page", "the translation pages' writes",
            _range(traffic) + f"; with one entry in 10 in RAM against one in 200: {_range(closer)}",
            all(i.above(0) for i in traffic.values()) and closer["zipf"].below(0),
            "above page, and less so with more RAM where writes are skewed (zipf)"),
        Row("M6", "RAM of the mapping", "block maps need least, page maps most",
            ", ".join(f"{m} {ram[m] / 1024:.0f} KiB" for m in order),
            all(ram[a] < ram[b] for a, b in pairwise(order)),
            "block < fast < demand < page"),
    ]  # fmt: skip


ASKED = (Asked("M", "what the literature says of mappings", ("mappings", "beside"), rows),)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _block(data: Results, title: str, value: Value, points: list[str]) -> list[str]:
    return [
        f"### {title}",
        "",
        *table(
            ("workload", *MAPPINGS),
            [(p, *(_figure(data.level(m, value, [p]).mean) for m in MAPPINGS)) for p in points],
        ),
        "",
    ]


def _ms(value: Value) -> Value:
    return lambda entry: value(entry) / 1e6


def details(_: spec.Paper, results: dict[str, Results]) -> list[str]:
    """All of the figures beside each other."""
    data = results["mappings"]
    points = list(data.points)
    reading = [p for p in points if p in ("zipf", "ts_0")]
    ram = _ram(data)
    kinds = ("switch", "partial", "full")
    return [
        "## All figures",
        "",
        *_block(data, "Write amplification", amplification, points),
        *_block(data, "Mean write latency, ms", _ms(_latency("write", "mean_ns")), points),
        *_block(data, "Writes, 99.9th percentile, ms", _ms(_latency("write", "p99_9_ns")), points),
        *_block(data, "Reads, 99th percentile, ms", _ms(_latency("read", "p99_ns")), reading),
        *_block(data, "Blocks erased for a thousand pages of the host's", erases, points),
        "### Merges",
        "",
        *table(
            ("workload", *(f"{m}: switch, partial, full" for m in MERGED)),
            [
                (
                    p,
                    *(
                        ", ".join(
                            f"{data.level(m, stat(f'{k}_merges'), [p]).mean:,.0f}" for k in kinds
                        )
                        for m in MERGED
                    ),
                )
                for p in points
            ],
        ),
        "",
        "### RAM, and entries found there",
        "",
        *table(
            ("mapping", "RAM of the controller", "of the entries looked up, in RAM"),
            [
                (
                    m,
                    f"{ram[m] / 1024:.1f} KiB",
                    f"{data.level(m, hits).mean:.0f} %" if m.startswith("demand") else "all",
                )
                for m in MAPPINGS
            ],
        ),
        "",
        "![write amplification](mappings-amplification.svg)",
        "",
        "![mean write latency](mappings-latency.svg)",
    ]


def figures(_: spec.Paper, results: dict[str, Results], folder: Path) -> None:
    """Bars by workload."""
    from scarplib.reproduce import figures as draw

    data = results["mappings"]
    pictures: dict[str, tuple[str, Any]] = {
        "amplification": ("write amplification", amplification),
        "latency": ("mean write latency, ms", _ms(_latency("write", "mean_ns"))),
    }
    for name, (label, value) in pictures.items():
        draw.bars(
            folder / f"mappings-{name}.svg", data.points, label,
            {m: [data.level(m, value, [p]).mean for p in data.points] for m in MAPPINGS},
            log=True,
        )  # fmt: skip


def directions(results: dict[str, Results]) -> list[tuple[str, bool]]:
    """What few workloads and seeds can say."""
    data = results["mappings"]
    points = _random(data)
    ram = _ram(data)
    return [
        ("M1: sequential writes cost a block mapping nothing",
         data.level("block", amplification, [SEQUENTIAL]).mean < 1.15),
        ("M2: FAST erases less than block mapping",
         data.change("fast", "block", erases, points).mean < 0),
        ("M4: demand writes faster than FAST",
         data.change("demand", "fast", _latency("write", "mean_ns"), points).mean < 0),
        ("M5: demand writes more than page",
         data.change("demand", "page", amplification, points).mean > 0),
        ("M6: a block map needs least RAM, a page map most",
         ram["block"] < ram["fast"] < ram["page"] and ram["demand"] < ram["page"]),
    ]  # fmt: skip
