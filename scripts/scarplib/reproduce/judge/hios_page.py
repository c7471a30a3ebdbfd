# SPDX-License-Identifier: GPL-2.0-or-later
"""The rest of the HIOS page: reasons, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.judge.hios_values import (
    DEADLINE_MS,
    FTLS,
    HIOS,
    KINDS,
    QUEUE,
    below,
    beyond,
    filled,
    filling,
    ftls,
    late_causes,
    missed_full,
    of_ftl,
    write_ns,
)
from scarplib.reproduce.markdown import table
from scarplib.reproduce.replays import device_key, shape
from scarplib.reproduce.results import Entry, Results, Value, key, stat

SOONER = "What was granted is not taken back when another request comes before it is done."
IDLE = [
    "HIOS's mean is above `noop`'s where requests are rare: `noop` collects between them, after "
    "the program that uses up a block, and few requests meet that. HIOS collects only while "
    'requests are served ("GCs are executed only by the redistribution process").',
    "",
]
SCHEDULERS = ("anticipatory", "deadline", "flash-aware", "hios-1", "hios-2")


def _listed(causes: list[tuple[str, float]], n: int = 4) -> str:
    return ", ".join(f"{name} {percent:.0f} %" for name, percent in causes[:n])


def behind(data: Results, ftl: str) -> str:
    """What those beyond the deadline waited for under HIOS-2."""
    points = of_ftl(data, ftl)
    late = sum(beyond(data, HIOS, p, DEADLINE_MS) for p in points) / len(points)
    if not late:
        return "No request is beyond 30 ms."
    return (
        f"{late:.2f} % are beyond 30 ms; of their time: "
        f"{_listed(late_causes(data, HIOS, points))}. {_forced(data, points)}, but ran at once "
        "to make room: the program of a write would have had none."
    )


def _waits(data: Results, points: list[str]) -> float:
    """Percent of the time of all requests under `noop` that they waited in the host queue."""

    def value(entry: Entry) -> float:
        stats = entry["stats"]
        spent = stats["read_latency_sum_ns"] + stats["write_latency_sum_ns"]
        return float(100 * stats["cause_host_queue_ns"] / spent)

    return data.level("noop", value, points).mean


def reordering(data: Results, ftl: str) -> str:
    """Why there may be nothing to reorder."""
    points = of_ftl(data, ftl)
    return (
        f"HIOS-2 reorders what waits in the queue while no collection has work left. Under `noop` "
        f"{_waits(data, points):.1f} % of the requests' time is spent in the queue. Where nothing "
        "is collected and the queue is full it is row 3h that shows what reordering gives."
    )


def _work_ms(data: Results, scheme: str, point: str) -> float:
    """What a request leaves each die to do on average, copies and erases included."""
    device = data.experiment.device
    timing = {n: device_key(device, "timing", f"{n}_ns") for n in ("read", "program", "erase")}
    geometry = shape(device, ())
    transfer = geometry["page_bytes"] * 1000 / device_key(device, "timing", "channel_mts")

    def value(entry: Entry) -> float:
        stats = entry["stats"]
        reads = stats["host_page_reads"] + stats["gc_page_reads"]
        programs = stats["host_page_programs"] + stats["gc_page_programs"]
        ns = (
            reads * (timing["read"] + transfer)
            + programs * (timing["program"] + transfer)
            + stats["erases"] * timing["erase"]
        )
        return float(ns / geometry["dies"] / (stats["reads"] + stats["writes"]) / 1e6)

    return data.level(scheme, value, [point]).mean


def _unpaced(entry: Entry) -> float:
    stats = entry["stats"]
    return float(100 * stats["gc_forced_runs"] / max(1, stats["gc_runs"]))


def _forced(data: Results, points: list[str]) -> str:
    """What was not redistributed."""
    share_ = data.level(HIOS, _unpaced, points).mean
    return f"{share_:.0f} % of the collections and merges were not paced"


def _carried(data: Results, point: str) -> float:
    """Segments that a request carries on each die."""
    dies = shape(data.experiment.device, ())["dies"]

    def value(entry: Entry) -> float:
        stats = entry["stats"]
        return float(stats["gc_segments"] / (stats["reads"] + stats["writes"]) / dies)

    return data.level(HIOS, value, [point]).mean


def redundant(data: Results, points: list[str]) -> str:
    """3b2: what aggregation does here."""
    joined = data.level(HIOS, stat("aggregated_writes"), points).mean
    return (
        "the paper's gain comes from updates of what waits already, of which only the last is "
        f"written. Aggregation here joins writes of different units of a page ({joined:,.0f} of "
        f"them), and drops none. {_waits(data, points):.1f} % of the requests' time under `noop` "
        "is spent in the queue."
    )


def missed(data: Results, point: str) -> str:
    """3d: how much work there is, and what of it was in requests' slack."""
    return (
        f"each request leaves every die {_work_ms(data, 'noop', point):.0f} ms of work on average "
        "over the whole run, copies and erases included. It carries "
        f"{_carried(data, point):.0f} segments on each die. {_forced(data, [point])}, but ran at "
        "once to make room. Under `noop` part of the work is done between requests, where HIOS "
        "does none."
    )


def deadlines(data: Results, ftl: str) -> str:
    """3e: which part of the collections was paced, by threshold."""
    each = ", ".join(
        f"{data.level('d30', _unpaced, [p]).mean:.0f} % ({p.split('-')[-1]} %)"
        for p in of_ftl(data, ftl)
    )
    return (
        "as row 3d, with the same requests. Collections and merges that were not paced, by "
        f"threshold: {each}. {SOONER}"
    )


def queues(data: Results, ftl: str) -> str:
    """3f: the queue is not what lacks."""
    spread_ = []
    for p in of_ftl(data, ftl):
        missed_ = [missed_full(data, label, p, DEADLINE_MS) for label in QUEUE.values()]
        spread_.append(max(missed_) - min(missed_))
    return (
        "as row 3d. From the shortest queue to the longest, shares differ by at most "
        f"{max(spread_):.1f} points."
    )


def aggregation(data: Results, ftl: str) -> str:
    """3g: which writes shared a page."""
    joined = ", ".join(
        f"{p.split('-')[1]} KiB {data.level(HIOS, stat('aggregated_writes'), [p]).mean:,.0f}"
        for p in of_ftl(data, ftl)
    )
    return f"writes that went in the page of another: {joined}."


def superpage(data: Results, ftl: str) -> str:
    """3h: what there is to reorder."""
    random = [p for p in of_ftl(data, ftl) if p.startswith("random")]
    merges = data.level("noop", stat("gc_runs"), random).mean
    reason = (
        "sequential writes take channels and dies in turn, so there are no conflicts to avoid "
        "as long as no two writes share a page (row 3g)"
    )
    if merges < 1:
        return f"{reason}."
    return (
        f"{reason}. Random writes are merged even on a fresh drive ({merges:,.0f} merges under "
        "`noop`): the time of a request is that of the merges, which no order shortens."
    )


def _percent(data: Results, scheme: str, other: str, value: Value, points: list[str]) -> str:
    return data.change(scheme, other, value, points).text()


def _writes(entry: Entry) -> float:
    stats = entry["stats"]
    return float(100 * stats["writes"] / (stats["reads"] + stats["writes"]))


def _workloads(paper: spec.Paper, data: Results, ftl: str) -> list[str]:
    body: list[Sequence[str]] = []
    for p in of_ftl(data, ftl):
        printed = paper.published["workloads"][p.split("-")[0]]
        mean, worst = (data.level("noop", key(k), [p]).mean for k in ("io_ns", "io_max_ns"))
        body.append(
            (p.split("-")[0],
             f"{printed['write']:g} %, {data.level('noop', _writes, [p]).mean:.1f} %",
             f"{printed['mean_us'] / 1000:.2f}, {mean / 1e6:.2f}",
             f"{printed['worst_us'] / 1000:.0f}, {worst / 1e6:.0f}",
             *(f"{data.level(s, key('io_max_ns'), [p]).mean / 1e6:.1f}" for s in ("hios-1", HIOS)),
             *(data.change(HIOS, "noop", key(k), [p]).text()
               for k in ("io_max_ns", "io_ns", "io_sd_ns")),
             *(f"{beyond(data, s, p, DEADLINE_MS):.2f} %" for s in ("noop", HIOS)))
        )  # fmt: skip
    return table(
        ("workload", "writes: paper, here", "`noop`, mean, ms: paper, here",
         "worst: paper, here", "HIOS-1, worst", "HIOS-2, worst",
         "HIOS-2 against `noop`: worst", "mean", "deviation", "missed: `noop`", "HIOS-2"), body,
    )  # fmt: skip


def _schedulers(data: Results, ftl: str) -> list[str]:
    points = of_ftl(data, ftl)
    body = [
        (s.label,
         *(_percent(data, s.label, "noop", key(k), points)
           for k in ("io_max_ns", "io_ns", "io_sd_ns")),
         f"{data.level(s.label, stat('gc_segments'), points).mean:,.0f}",
         f"{data.level(s.label, stat('gc_forced_runs'), points).mean:,.0f} of "
         f"{data.level(s.label, stat('gc_runs'), points).mean:,.0f}")
        for s in data.experiment.schemes[1:]
    ]  # fmt: skip
    # Engines before the one that counts what moves counted what was granted.
    counted = "segments" if not data.others else "segments granted"
    head = ("against `noop`", "worst", "mean", "deviation", counted, "not paced, run at once")
    return table(head, body)


def _filling_table(data: Results) -> list[str]:
    tenths = [(f"{10 * i} to {10 * i + 10} %", slice(i, i + 1)) for i in range(10)]
    labels = data.labels()
    return table(
        ("in use", *labels),
        [(name, *(f"{data.level(s, filled(part)).mean:.1f} %" for s in labels))
         for name, part in tenths],
    )  # fmt: skip


def _superpage_table(parts: Sequence[Results]) -> list[str]:
    return table(
        ("writes", "throughput", "mean latency", "writes in another's page"),
        [(p,
          *(data.change(HIOS, "noop", v, [p]).text() for v in (key("requests_per_s"), write_ns)),
          f"{data.level(HIOS, stat('aggregated_writes'), [p]).mean:,.0f}")
         for data in parts for p in data.points],
    )  # fmt: skip


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, scheduler, share in use and threshold."""
    plain, bursts = data["workloads"], data["bursts"]
    lines: list[str] = []
    for ftl in ftls(plain):
        lines += [
            f"## {FTLS[ftl][0].upper()}{FTLS[ftl][1:]}",
            "",
            *_workloads(paper, plain, ftl),
            "",
            "All workloads:",
            "",
            *_schedulers(plain, ftl),
            "",
            *(IDLE if ftl == "page" else []),
        ]
        lines += ["The same in bursts of 48:", "", *_schedulers(bursts, ftl), ""]
    for kind in KINDS:
        of = filling(data, kind)
        lines += [f"## Empty to full in one run, {kind}: missed 30 ms", "",
                  f"{', '.join(FTLS[ftl] for ftl in ftls(of))}; {of.experiment.points[0].workload}",
                  "", *_filling_table(of), ""]  # fmt: skip
    lines += [
        "## Below a superpage",
        "",
        "HIOS-2 against `noop`.",
        "",
        *_superpage_table([below(data, ftl) for ftl in ("page", "block")]),
    ]
    lines += ["", *(f"![{title}](hios-{name}.svg)" for name, title in _pictures(data))]
    return lines


def _pictures(data: dict[str, Results]) -> list[tuple[str, str]]:
    out = []
    for ftl in ftls(data["workloads"]):
        out += [
            (f"worst-{ftl}", f"figures 11 and 13a: worst-case latency, {FTLS[ftl]}"),
            (f"mean-{ftl}", f"figures 12 and 13b: mean latency, {FTLS[ftl]}"),
            (f"deviation-{ftl}", f"figure 14a: standard deviation, {FTLS[ftl]}"),
        ]
    out += [(f"missed-{k.lower()}", f"figure 15b: deadlines missed by the share in use, {k}")
            for k in KINDS]  # fmt: skip
    return [*out, ("cliff", "figures 6 and 15a: the worst latency over time, with pauses")]


def figures(data: dict[str, Results], folder: Path) -> None:
    """Figures 6, 11, 12, 14a and 15b."""
    from scarplib.reproduce import figures as draw

    plain = data["workloads"]
    for ftl in ftls(plain):
        points = of_ftl(plain, ftl)
        for name, field, what in (
            ("worst", "io_max_ns", "worst latency"),
            ("mean", "io_ns", "mean latency"),
            ("deviation", "io_sd_ns", "standard deviation"),
        ):
            draw.bars(
                folder / f"hios-{name}-{ftl}.svg", [p.split("-")[0] for p in points],
                f"{what}, % of noop",
                {s: [100 + plain.change(s, "noop", key(field), [p]).mean for p in points]
                 for s in SCHEDULERS},
            )  # fmt: skip
    for kind in KINDS:
        of = filling(data, kind)
        draw.curves(
            folder / f"hios-missed-{kind.lower()}.svg", [5 + 10 * i for i in range(10)],
            "share of the drive in use, %", "requests over 30 ms, %",
            {s: [of.level(s, filled(slice(i, i + 1))).mean for i in range(10)]
             for s in of.labels() if s != "control"},
        )  # fmt: skip
    cliff = data["cliff"]
    point = cliff.points[0]
    draw.over_time(
        folder / "hios-cliff.svg",
        {s.label: cliff.entry(point, 0, s.label) for s in cliff.experiment.schemes},
    )
