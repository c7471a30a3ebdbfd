# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 3a to 3k: HIOS against host queues that do not know of collections, on three mappings.

A point is named WORKLOAD-FTL, or WORKLOAD-FTL-SETTING.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.judge import hios_page as page
from scarplib.reproduce.judge.hios_values import (
    DEADLINE_MS,
    DEPTHS,
    EARLY,
    FTLS,
    FULL,
    HIOS,
    HPC,
    KINDS,
    OTHERS,
    QUEUE,
    SETTINGS,
    below,
    filled,
    ftls,
    loads,
    missed_full,
    nearest_load,
    not_met,
    of_ftl,
    write_ns,
)
from scarplib.reproduce.replays import shape
from scarplib.reproduce.results import (
    OTHER_MAPPING,
    Asked,
    Data,
    Results,
    Row,
    Value,
    asked_rows,
    key,
)
from scarplib.sweep.intervals import Interval

SUBJECTS = (
    "hios-1", HIOS, *(f"d{ms}" for ms in (10, 20, 30, 40, 50)), *QUEUE.values(),
)  # fmt: skip
COMPARATORS = ("noop",)
CONDITIONS: dict[str, str] = {}
CLOSED = tuple(f"closed-{kind.lower()}-{depth}" for kind in KINDS for depth in DEPTHS)
JUDGED_BY = (
    "workloads", "bursts", "fresh", "filling-mlc", "filling-slc", *CLOSED, "thresholds",
    "superpage", "superpage-merging", "aggregation",
)  # fmt: skip
WORST, MEAN, DEVIATION = key("io_max_ns"), key("io_ns"), key("io_sd_ns")
ALIKE = 10.0
SOME = 1.0
GC_RAN = "the row is about a workload that has no collections, and here `gc_runs` is not 0"
PLAIN = "hios-2-plain"


def _each(data: Results, ftl: str, value: Value, one: str, other: str) -> dict[str, Interval]:
    return {p: data.change(one, other, value, [p]) for p in of_ftl(data, ftl)}


def _range(each: dict[str, Interval]) -> str:
    worst = max(each, key=lambda p: each[p].mean)
    best = min(each, key=lambda p: each[p].mean)
    return (
        f"from {each[best].mean:+.1f} % ({best.split('-')[0]}) "
        f"to {each[worst].mean:+.1f} % ({worst.split('-')[0]})"
    )


def worst_row(data: Results, ftl: str) -> Row:
    """3a: the slowest request."""
    each = _each(data, ftl, WORST, HIOS, "noop")
    rising = [p.split("-")[0] for p, i in each.items() if not i.below(0)]
    return Row(
        "3a", f"worst-case latency against noop, {FTLS[ftl]}",
        "-41.1 to -92.3 %; HPC -86.6 %",
        f"{data.change(HIOS, 'noop', WORST, of_ftl(data, ftl)).text()}, {_range(each)}",
        not rising, "improves on every workload",
        (lambda: f"not on {', '.join(rising)}. {page.behind(data, ftl)}") if rising else "",
    )  # fmt: skip


def _bursts(data: Results, ftl: str, hpc: bool) -> list[str]:
    return [p for p in of_ftl(data, ftl) if (p.split("-")[0] in HPC) == hpc]


def _collections(data: Results, points: Sequence[str]) -> int:
    """Of HIOS-1 and HIOS-2, all points and seeds; a merge counts as one."""
    return sum(
        data.entry(p, seed, s)["stats"]["gc_runs"]
        for p in points
        for seed in data.seeds()
        for s in ("hios-1", HIOS)
    )


def reordering_row(data: Results, bursts: Results, ftl: str) -> Row:
    """3b1: what empty channels first add where nothing is collected; beside, where it is.

    Where `gc_runs` counts a collection or a merge of either scheme, the row says nothing.
    """
    points = of_ftl(data, ftl)
    change = data.change(HIOS, "hios-1", MEAN, points)
    each = {p: data.change(HIOS, "hios-1", MEAN, [p]) for p in points}
    beside = bursts.change(HIOS, "hios-1", MEAN, _bursts(bursts, ftl, hpc=False))
    runs = _collections(data, points)
    return Row(
        "3b1", f"mean latency, HIOS-2 against HIOS-1, a drive never overwritten, {FTLS[ftl]}",
        "-13.2 %",
        f"{change.text(digits=2)}, {_range(each)}; {runs:,} collections or merges; on the aged "
        f"drive {beside.text(digits=2)}",
        change.below(-SOME), f"HIOS-2 < HIOS-1 by more than {SOME:.0f} %, `gc_runs` 0",
        "" if runs or change.below(-SOME) else partial(page.reordering, data, ftl),
        other_case=GC_RAN if runs else "",
    )  # fmt: skip


def _figure_12(data: Results, ftl: str) -> list[str]:
    return [p for p in of_ftl(data, ftl) if p.split("-")[0] not in HPC]


def every_mean_row(data: Results, ftl: str) -> Row:
    """3j: HIOS-2 outperforms all other schedulers on all the workloads (6.1)."""
    points = _figure_12(data, ftl)
    others = (*OTHERS, "hios-1")
    worse = {}
    for p in points:
        found = {s: data.change(HIOS, s, MEAN, [p]) for s in others}
        if not all(i.below(0) for i in found.values()):
            worse[p.split("-")[0]] = max(i.mean for i in found.values())
    listed = ", ".join(f"{p} {most:+.0f} %" for p, most in worse.items())
    return Row(
        "3j", f"mean latency, HIOS-2 against every other scheduler, by workload, {FTLS[ftl]}",
        "better on all", f"below each on {len(points) - len(worse)} of {len(points)} workloads"
        f"{f'; against the best of them {listed}' if worse else ''}",
        not worse, "below each on each workload",
    )  # fmt: skip


def deadline_kept_row(data: Results, ftl: str) -> Row:
    """3k: the worst case does not exceed the deadline (section 8)."""
    points = of_ftl(data, ftl)
    worst = {
        p: max(WORST(data.entry(p, seed, HIOS)) for seed in data.seeds()) / 1e6 for p in points
    }
    late = {p.split("-")[0]: ms for p, ms in worst.items() if ms > DEADLINE_MS}
    listed = ", ".join(f"{p} {ms:.0f}" for p, ms in late.items())
    return Row(
        "3k", f"worst case against the deadline of {DEADLINE_MS} ms, by workload, {FTLS[ftl]}",
        "does not exceed it", f"kept on {len(points) - len(late)} of {len(points)} workloads"
        f"{f'; ms: {listed}' if late else ''}",
        not late, "no command later than its deadline",
        (lambda: page.behind(data, ftl)) if late else "",
    )  # fmt: skip


def hpc_row(data: Results, ftl: str) -> Row:
    """3b2: HPC, by aggregation of redundant updates."""
    points = _bursts(data, ftl, hpc=True)
    found = {s: data.change(HIOS, s, MEAN, points) for s in OTHERS}
    good = all(i.below(0) for i in found.values())
    return Row(
        "3b2", f"mean latency, HPC in bursts, HIOS-2 (superseded writes in the queue are not "
        f"dropped: not built) against {', '.join(OTHERS)}, {FTLS[ftl]}",
        "about -30 %", ", ".join(i.text() for i in found.values()), good, "below each",
        "" if good else partial(page.redundant, data, points),
    )  # fmt: skip


def deviation_row(data: Results, ftl: str) -> Row:
    """3c: against all four."""
    points = of_ftl(data, ftl)
    found = {s: data.change(HIOS, s, DEVIATION, points) for s in OTHERS}
    return Row(
        "3c", f"standard deviation against {', '.join(OTHERS)}, {FTLS[ftl]}",
        "-53.1, -58.2, -53.9, -51.4 %", ", ".join(i.text() for i in found.values()),
        all(i.below(0) for i in found.values()), "improves on all four",
    )  # fmt: skip


def missed_row(all_: Data, ftl: str, kind: str) -> Row:
    """3d: deadlines missed while a drive fills up, under the load nearest to the paper's."""
    load = nearest_load(all_)
    data = loads(all_, kind)[load]
    [point] = of_ftl(data, ftl)
    found = {s: data.level(s, filled(FULL)) for s in (HIOS, *OTHERS)}
    early = {s: data.level(s, filled(EARLY)).mean for s in (HIOS, *OTHERS)}
    none = max(data.entry(point, seed, HIOS)["use_late"][-1] for seed in data.seeds()) == 0
    listed = ", ".join(f"{s} {found[s].text(sign=False)}" for s in OTHERS)
    each = ", ".join(
        f"{said} {of.level(HIOS, filled(FULL)).mean:.1f} %"
        for said, of in loads(all_, kind).items()
    )
    return Row(
        "3d", f"missed 30 ms, empty to full in one run, {kind}, {FTLS[ftl]}",
        f"below 40 % in use just below 4 %; full: HIOS 0 %, others up to "
        f"{'72.3' if kind == 'MLC' else '22.5'} %",
        f"{load}: below 40 %: {min(early.values()):.1f} to {max(early.values()):.1f} %; "
        f"full: HIOS {found[HIOS].text(sign=False)}; {listed}. HIOS by load: {each}", none,
        "the load gives the others the paper's figures; HIOS none when full",
        "" if none else partial(page.missed, data, point), not_met=not_met(all_),
    )  # fmt: skip


def _by_threshold(
    data: Results, ftl: str, settings: dict[int, tuple[str, int]]
) -> tuple[list[dict[int, float]], str]:
    """Percent missed by each setting, a scheme's label and a deadline in ms, at each threshold."""
    missed = {
        point: {n: missed_full(data, label, point, ms) for n, (label, ms) in settings.items()}
        for point in of_ftl(data, ftl)
    }
    listed = "; ".join(
        f"{point.split('-')[-1]} %: " + ", ".join(f"{percent:.1f}" for percent in found.values())
        for point, found in missed.items()
    )
    return list(missed.values()), listed


def _in_closed_loop(all_: Data, ftl: str, settings: dict[int, tuple[str, int]]) -> str:
    if "closed-thresholds" not in all_:
        return ""
    closed = all_["closed-thresholds"]
    return f". {closed.experiment.depth} outstanding: {_by_threshold(closed, ftl, settings)[1]}"


def deadline_row(all_: Data, ftl: str) -> Row:
    """3e: shorter deadlines, larger thresholds."""
    data = all_["thresholds"]
    deadlines = {ms: (f"d{ms}", ms) for ms in (10, 20, 30, 40, 50)}
    missed, listed = _by_threshold(data, ftl, deadlines)
    listed += _in_closed_loop(all_, ftl, deadlines)
    good = all(m[ms] == 0 if ms >= DEADLINE_MS else m[10] > 0 for m in missed for ms in m)
    return Row(
        "3e", "percent missed when full, deadlines of 10, 20, 30, 40, 50 ms by threshold, "
        f"{FTLS[ftl]}",
        "misses appear only below 30 ms", listed, good, "some at 10 ms, none from 30 ms on",
        "" if good else partial(page.deadlines, data, ftl), not_met=not_met(all_),
    )  # fmt: skip


def queue_row(all_: Data, ftl: str) -> Row:
    """3f: as few entries of the queue as let nothing be missed."""
    data = all_["thresholds"]
    queues = {n: (label, DEADLINE_MS) for n, label in QUEUE.items()}
    missed, listed = _by_threshold(data, ftl, queues)
    listed += _in_closed_loop(all_, ftl, queues)
    good = all(m[32] == 0 for m in missed)
    return Row(
        "3f", f"percent missed when full, queue of {', '.join(map(str, QUEUE))} by threshold, "
        f"{FTLS[ftl]}",
        "32 suffice", listed, good, "none with 32, at each threshold",
        "" if good else partial(page.queues, data, ftl), not_met=not_met(all_),
    )  # fmt: skip


def aggregation_row(data: Results, ftl: str) -> Row:
    """3g: HIOS-2 with its aggregation against HIOS-2 without."""
    page_kib = shape(data.experiment.device, data.experiment.set)["page_bytes"] // 1024
    each = {
        int(p.split("-")[1]): data.change(HIOS, PLAIN, key("requests_per_s"), [p])
        for p in of_ftl(data, ftl)
    }
    good = all(i.above(0) if kib < page_kib else not i.below(0) for kib, i in each.items())
    return Row(
        "3g", f"throughput of sequential writes, HIOS-2 with against without aggregation, pages of "
        f"{page_kib} KiB, {FTLS[ftl]}",
        "up from 1 to 16 KiB",
        ", ".join(f"{kib} KiB {i.text()}" for kib, i in each.items()), good,
        "up at each size below a page, not lower elsewhere",
        "" if good else partial(page.aggregation, data, ftl),
    )  # fmt: skip


def superpage_row(data: Results, ftl: str) -> Row:
    """3h: writes that leave channels free."""
    found = {
        kind: data.change(HIOS, "noop", write_ns,
                          [p for p in of_ftl(data, ftl) if p.startswith(kind)])
        for kind in ("random", "sequential")
    }  # fmt: skip
    good = all(i.below(0) for i in found.values())
    return Row(
        "3h", f"mean latency of writes below a superpage, HIOS-2 against noop, {FTLS[ftl]}",
        "-17.5 % random, -29.2 % sequential",
        ", ".join(f"{kind} {i.text()}" for kind, i in found.items()), good, "both improve",
        "" if good else partial(page.superpage, data, ftl),
    )  # fmt: skip


def alike_row(data: Results, ftl: str) -> Row:
    """3i: it is the redistribution that bounds the worst case."""
    change = data.change(HIOS, "hios-1", WORST, of_ftl(data, ftl))
    return Row(
        "3i", f"worst-case latency, HIOS-2 against HIOS-1, {FTLS[ftl]}", "alike",
        f"{change.text()}, {_range(_each(data, ftl, WORST, HIOS, 'hios-1'))}",
        change.above(-ALIKE) and change.below(ALIKE), "within 10 %",
    )  # fmt: skip


def _named(row: Row, name: str) -> str:
    return f"{name}: {row.reason()}"


def _each_ftl(
    part: str, row: Callable[[Data, str], Row]
) -> Callable[[spec.Paper, Data], list[Row]]:
    """The row for each mapping that the experiment has; one that the paper has not counts apart."""

    def rows_(_: spec.Paper, data: Data) -> list[Row]:
        found = []
        for ftl in ftls(data[part]):
            made = row(data, ftl)
            why = partial(_named, made, FTLS[ftl]) if made.why else ""
            apart = OTHER_MAPPING if ftl == "page" else ""
            found.append(replace(made, why=why, apart=apart))
        return found

    return rows_


FILLED = ("filling-mlc", "filling-slc")
ASKED = (
    Asked("3a", "worst-case latency against noop", ("workloads",),
          _each_ftl("workloads", lambda d, ftl: worst_row(d["workloads"], ftl))),
    Asked("3b1", "mean latency, HIOS-2 against HIOS-1", ("fresh", "bursts"),
          _each_ftl("fresh", lambda d, ftl: reordering_row(d["fresh"], d["bursts"], ftl))),
    Asked("3b2", "mean latency, HPC in bursts", ("bursts",),
          _each_ftl("bursts", lambda d, ftl: hpc_row(d["bursts"], ftl))),
    Asked("3c", "standard deviation", ("workloads",),
          _each_ftl("workloads", lambda d, ftl: deviation_row(d["workloads"], ftl))),
    *(Asked("3d", f"missed 30 ms, empty to full in one run, {kind}", FILLED,
            _each_ftl(f"filling-{kind.lower()}",
                      lambda d, ftl, kind=kind: missed_row(d, ftl, kind)))  # type: ignore[misc]
      for kind in KINDS),
    Asked("3e", "percent missed when full, by deadline and threshold", ("thresholds", *FILLED),
          _each_ftl("thresholds", deadline_row)),
    Asked("3f", "percent missed when full, by queue and threshold", ("thresholds", *FILLED),
          _each_ftl("thresholds", queue_row)),
    Asked("3g", "throughput with against without aggregation", ("aggregation",),
          _each_ftl("aggregation", lambda d, ftl: aggregation_row(d["aggregation"], ftl))),
    Asked("3h", "mean latency of writes below a superpage",
          ("workloads", "superpage", "superpage-merging"),
          _each_ftl("workloads", lambda d, ftl: superpage_row(below(d, ftl), ftl))),
    Asked("3i", "worst-case latency, HIOS-2 against HIOS-1", ("workloads",),
          _each_ftl("workloads", lambda d, ftl: alike_row(d["workloads"], ftl))),
    Asked("3j", "mean latency, HIOS-2 against every other scheduler", ("workloads",),
          _each_ftl("workloads", lambda d, ftl: every_mean_row(d["workloads"], ftl))),
    Asked("3k", "worst case against the deadline", ("workloads",),
          _each_ftl("workloads", lambda d, ftl: deadline_kept_row(d["workloads"], ftl))),
)  # fmt: skip


def rows(paper: spec.Paper, data: Data) -> list[Row]:
    """All rows, in the order of their numbers, each for every FTL."""
    return asked_rows(ASKED, paper, data)


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, scheduler, share in use and threshold."""
    return page.details(paper, data)


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """Figures 6, 11, 12, 14a and 15b."""
    page.figures(data, folder)


def directions(data: dict[str, Results]) -> list[tuple[str, bool]]:
    """What few workloads and seeds can say."""
    out = []
    plain, small = data["workloads"], data["superpage"]
    for ftl in ftls(plain):
        points = of_ftl(plain, ftl)
        out += [
            (f"3a: HIOS-2 shortens the worst case, {FTLS[ftl]}",
             plain.change(HIOS, "noop", WORST, points).mean < 0),
            (f"3c: HIOS-2's latencies deviate less, {FTLS[ftl]}",
             plain.change(HIOS, "noop", DEVIATION, points).mean < 0),
            (f"3i: HIOS-1's worst case is like HIOS-2's, {FTLS[ftl]}",
             abs(plain.change(HIOS, "hios-1", WORST, points).mean) < ALIKE),
        ]  # fmt: skip
    for kind in SETTINGS:
        points = [p for p in small.points if p.startswith(kind)]
        out.append((f"3h: {kind} writes below a superpage are faster",
                    small.change(HIOS, "noop", write_ns, points).mean < 0))  # fmt: skip
    return out
