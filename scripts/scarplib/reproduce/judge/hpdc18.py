# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 1a to 1h: I/O-parallelized GC.

They are judged where collections begin at once and block the host: where reads go before a due
collection GC-VIC has no reads to choose by.  Both are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.judge import hpdc18_page as page
from scarplib.reproduce.judge.hpdc18_why import (
    HIGH,
    SCHEMES,
    SETTINGS,
    control,
    reads,
    sharing,
    ties,
)
from scarplib.reproduce.results import (
    CONSTRUCTED,
    Asked,
    Data,
    Results,
    Row,
    Value,
    asked_rows,
    key,
    utilisation,
)
from scarplib.sweep.intervals import Interval, mean

# In whose place others are put, what they are compared with, and by which experiments.
SUBJECTS = SCHEMES
COMPARATORS = ("baseline",)
CONDITIONS: dict[str, str] = {}
JUDGED_BY = ("open-once", "closed-once", "planes4-once")
# Percent that a collection may be longer under GC-PAR.
LONGER = 1


def _both(
    data: Results, value: Value, points: Sequence[str] | None = None
) -> tuple[Interval, Interval]:
    return (
        data.change("gc-par", "baseline", value, points),
        data.change("gc-vic", "baseline", value, points),
    )


def _pair(par: Interval, vic: Interval) -> str:
    return f"{par.text()}, {vic.text()}"


def utilisation_row(data: Results) -> Row:
    """1a: planes in use while their die collects."""
    exact = all(
        utilisation(data.entry(p, s, "baseline")) == 50 for p in data.points for s in data.seeds()
    )
    par, vic = (data.level(s, utilisation) for s in SCHEMES)
    apart = data.paired(
        lambda s: mean(
            [
                utilisation(data.entry(p, s, "gc-vic")) - utilisation(data.entry(p, s, "gc-par"))
                for p in data.points
            ]
        )
    )
    return Row(
        "1a", "plane utilisation during GC: baseline, GC-PAR, GC-VIC", "50 %, 74.4 %, the same",
        f"{'exactly ' if exact else 'not exactly '}50 %, {_pair(par, vic).replace('+', '')}",
        exact and par.low >= 65 and apart.low > -3 and apart.high < 3,
        "exactly 50 %; GC-PAR ≥ 65 %; GC-VIC within 3 points", partial(sharing, data),
    )  # fmt: skip


def read_rows(data: Results, choices: Callable[[], str]) -> list[Row]:
    """1b: response times of the reads that met a collection."""
    par, vic = _both(data, key("sibling_read_ns"))
    apart = data.change("gc-vic", "gc-par", key("sibling_read_ns"))

    def rows_of_reads() -> str:
        return control(data, "sibling_read_ns", "reads") + (
            " A read can join only a GC read of its own page offset, one of 512; what else it "
            "gains is that programs of its plane went along with the collection. Requests to the "
            "collecting plane itself cannot join, which caps the direct gain of two planes near "
            "-50 %."
        )

    rows = [
        Row("1b", "affected reads to the sibling plane", "-71 %, -83 % (all affected)",
            _pair(par, vic), par.high <= -50, "GC-PAR ≤ -50 %", rows_of_reads),
        Row("1b", "the same, GC-VIC against GC-PAR", "-41 % (of what is left)", apart.text(),
            apart.below(0), "GC-VIC better", choices),
    ]  # fmt: skip
    par, vic = _both(data, key("affected_read_ns"))
    rows.append(
        Row("1b", "all affected reads", "-71 %, -83 %", _pair(par, vic),
            par.below(0) and vic.below(0), "both improve")
    )  # fmt: skip
    return rows


def write_rows(data: Results) -> list[Row]:
    """1c: response times of the writes that met a collection."""
    name = "sibling_write_ns"
    par, vic = _both(data, key(name))
    against = data.change("gc-par", "control", key(name))
    # On a drive aged otherwise the requests that were chosen meet fewer collections.
    condition = (
        ""
        if against.high <= -50
        else f"the drive is the one that the requests were chosen on; against `control` "
        f"{against.text()}, short of -50 %"
    )
    rows = [
        Row("1c", "affected writes to the sibling plane", "-70 %, -70 % (all affected)",
            f"{_pair(par, vic)}; GC-PAR against `control` {against.text()}",
            par.high <= -50 and vic.high <= -50, "both ≤ -50 %",
            partial(control, data, name, "writes"), condition=condition)
    ]  # fmt: skip
    par, vic = _both(data, key("affected_write_ns"))
    rows.append(
        Row("1c", "all affected writes", "-70 %, -70 %", _pair(par, vic),
            par.below(0) and vic.below(0), "both improve")
    )  # fmt: skip
    return rows


def all_rows(data: Results, first: Results, fcfs: Results) -> list[Row]:
    """1d: response times of all requests; the other two settings stand beside."""
    rows = []
    same = [p for p in first.points if p in data.points]
    served = f"first come, first served on {len(fcfs.points)} workloads"
    settings = (("reads first", first, same), (served, fcfs, fcfs.points))
    for kind, name, paper in (
        ("read", "reads", "-36.2 %, -42.6 %"), ("write", "writes", "-50.7 %, -50.7 %"),
        ("io", "requests", "-50.1 %, -50.3 %"),
    ):  # fmt: skip
        par, vic = _both(data, key(f"{kind}_ns"))
        why = partial(reads, data, first, fcfs) if kind == "read" else ""
        others = ", ".join(
            f"{said} {_pair(*_both(of, key(f'{kind}_ns'), points))}"
            for said, of, points in settings
        )
        rows.append(
            Row("1d", f"mean response time of all {name}", paper,
                f"{_pair(par, vic)} ({others})",
                par.below(0) and vic.below(0), "both improve", why)
        )  # fmt: skip
    return rows


def throughput_row(data: Results) -> Row:
    """1e: a closed loop."""
    rate = key("requests_per_s")
    each = {p: data.change("gc-par", "baseline", rate, [p]) for p in data.points}
    total = data.change("gc-par", "baseline", rate)
    high = [p for p in data.points if p in HIGH]
    low = [p for p in data.points if p not in HIGH]
    paper = "+14.7 %; +13.4 to 24.2 % (high), +5.1 to 7.7 % (low)"
    wanted = "> 0 on all, larger for the high-GC group"
    if not low:
        return Row(
            "1e", "throughput, closed loop", paper,
            f"{total.text()} on {len(high)} workloads, all of the high-GC group; least "
            f"{min(i.mean for i in each.values()):+.1f} %",
            False, wanted,
            not_tried="the low-GC group was not run with collections at once, so that the two "
            "cannot be compared",
        )  # fmt: skip

    def apart(seed: int) -> float:
        def gain(points: list[str]) -> float:
            return mean(
                [
                    100
                    * rate(data.entry(p, seed, "gc-par"))
                    / rate(data.entry(p, seed, "baseline"))
                    for p in points
                ]
            )  # fmt: skip

        return gain(high) - gain(low)

    larger = data.paired(apart)
    return Row(
        "1e", "throughput, closed loop", paper,
        f"{total.text()}; high {data.change('gc-par', 'baseline', rate, high).text()}, low "
        f"{data.change('gc-par', 'baseline', rate, low).text()}; least "
        f"{min(i.mean for i in each.values()):+.1f} %",
        all(i.above(0) for i in each.values()) and larger.above(0),
        wanted,
    )  # fmt: skip


def four_planes_row(data: Results) -> Row:
    """1f: as 1a, with four planes a die."""
    exact = all(
        utilisation(data.entry(p, s, "baseline")) == 25 for p in data.points for s in data.seeds()
    )
    par = data.level("gc-par", utilisation)
    return Row(
        "1f", "plane utilisation, 4 planes: baseline, GC-PAR", "25 %, 38.1 %",
        f"{'exactly ' if exact else 'not exactly '}25 %, {par.text(sign=False)}",
        exact and par.low > 33, "exactly 25 %; > 33 %", partial(sharing, data),
    )  # fmt: skip


def length_row(data: Results) -> Row:
    """1h: what mates cost a collection, which loads a page of theirs in the same command."""
    par, vic = _both(data, key("gc_ns"))
    return Row(
        "1h", "time of a collection: GC-PAR, GC-VIC against baseline", "not hurt (4.1)",
        _pair(par, vic), par.high <= LONGER, f"GC-PAR at most +{LONGER} %", of_scheme=False,
    )  # fmt: skip


def generator_row(paper: spec.Paper, experiment: spec.Experiment) -> Row:
    """Of the requests as generated, anew; the replay rounds them out to pages."""
    from scarplib.reproduce.replays import generated

    ratio = size = 0.0
    for point in experiment.points:
        wanted = paper.published["workloads"][point.name]
        made = generated(experiment, point)
        ratio = max(ratio, abs(100 * made["writes"] / made["requests"] - wanted["write"]))
        kib = made["write_bytes"] / made["writes"] / 1024
        size = max(size, 100 * abs(kib / wanted["size_kib"] - 1))
    return Row(
        "1g", f"generators against Table 2, {len(experiment.points)} workloads", "table",
        f"ratio within {ratio:.2f} points, size within {size:.2f} %",
        ratio <= 1 and size <= 3, "1 point, 3 %", of_scheme=False, apart=CONSTRUCTED,
    )  # fmt: skip


def _choices(data: Data) -> Callable[[], str]:
    """Why GC-VIC is as GC-PAR, or better."""
    return lambda: ties(data["open-once"], {n: data[n] for n in SETTINGS if n in data})


def _of_part(rows_: list[Row], paper: spec.Paper, data: Results) -> list[Row]:
    """The rows; on fewer workloads than the paper's they hold for those alone."""
    every = len(paper.published["workloads"])
    if len(data.points) == every:
        return rows_
    group = ", all of the high-GC group" if all(p in HIGH for p in data.points) else ""
    said = f"judged on {len(data.points)} of the {every} workloads{group}"
    return [replace(row, condition="; ".join(filter(None, (said, row.condition)))) for row in rows_]


def _asked(
    number: str, what: str, part: str, rows_: Callable[[Data], list[Row]], *others: str
) -> Asked:
    """Rows that are judged by the experiment `part`."""
    return Asked(
        number, what, (part, *others), lambda paper, data: _of_part(rows_(data), paper, data[part])
    )


ASKED = (
    _asked("1a", "plane utilisation during GC", "open-once",
           lambda data: [utilisation_row(data["open-once"])]),
    _asked("1b", "affected reads", "open-once",
           lambda data: read_rows(data["open-once"], _choices(data))),
    _asked("1c", "affected writes", "open-once", lambda data: write_rows(data["open-once"])),
    _asked("1d", "mean response time of all requests", "open-once",
           lambda data: all_rows(data["open-once"], data["open"], data["open-fcfs"]),
           "open", "open-fcfs"),
    _asked("1e", "throughput, closed loop", "closed-once",
           lambda data: [throughput_row(data["closed-once"])]),
    _asked("1f", "plane utilisation, 4 planes", "planes4-once",
           lambda data: [four_planes_row(data["planes4-once"])]),
    Asked("1g", "generators against Table 2", (),
          lambda paper, _: [generator_row(paper, paper.experiments["open"])]),
    _asked("1h", "time of a collection", "open-once",
           lambda data: [length_row(data["open-once"])]),
)  # fmt: skip


def rows(paper: spec.Paper, data: Data) -> list[Row]:
    """All rows, in the order of their numbers."""
    return asked_rows(ASKED, paper, data)


def reads_first(data: Data) -> list[Row]:
    """The same where reads go before a due collection."""
    main = data["open"]
    return [
        utilisation_row(main), *read_rows(main, lambda: ""), *write_rows(main),
        throughput_row(data["closed"]), four_planes_row(data["planes4"]), length_row(main),
    ]  # fmt: skip


def directions(data: dict[str, Results]) -> list[tuple[str, bool]]:
    """What few workloads and seeds can say."""
    main, closed, four = data["open"], data["closed"], data["planes4"]

    def change(name: str) -> Interval:
        return main.change("gc-par", "baseline", key(name))

    faster = closed.change("gc-par", "baseline", key("requests_per_s"))
    half, more = main.level("baseline", utilisation), main.level("gc-par", utilisation)
    quarter, four_more = four.level("baseline", utilisation), four.level("gc-par", utilisation)
    return [
        ("1a: baseline uses exactly half of the planes", half.mean == 50),
        ("1a: GC-PAR uses more", more.mean > 60),
        ("1b: affected reads improve", change("affected_read_ns").mean < 0),
        ("1c: affected writes improve", change("affected_write_ns").mean < -30),
        ("1d: writes improve", change("write_ns").mean < 0),
        ("1e: throughput rises", faster.mean > 0),
        ("1f: baseline uses exactly a quarter", quarter.mean == 25),
        ("1f: GC-PAR uses more", four_more.mean > 28),
    ]


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, by scheme and of the closed loop."""
    return page.details(paper, data, reads_first(data))


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """Figures 9 to 13."""
    page.figures(data, folder)
