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
    OTHERS,
    QUEUE,
    beyond,
    ftls,
    late_causes,
    of_ftl,
    write_ns,
)
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Results, Value, key, stat

SCHEDULERS = ("anticipatory", "deadline", "flash-aware", "hios-1", "hios-2")


def _listed(causes: list[tuple[str, float]], n: int = 4) -> str:
    return ", ".join(f"{name} {percent:.0f} %" for name, percent in causes[:n])


def behind(data: Results, ftl: str) -> str:
    """What those beyond the deadline waited for under HIOS-2."""
    points = of_ftl(data, ftl)
    late = sum(beyond(data, HIOS, p, DEADLINE_MS) for p in points) / len(points)
    forced = data.level(HIOS, stat("gc_forced_runs"), points).mean
    runs = data.level(HIOS, stat("gc_runs"), points).mean
    if not late:
        return "No request is beyond 30 ms."
    return (
        f"{late:.2f} % are beyond 30 ms; of their time: "
        f"{_listed(late_causes(data, HIOS, points))}. {100 * forced / runs:.0f} % of the "
        "collections ran at the last free block, whole and at once."
    )


def reordering(data: Results, ftl: str, bursts: bool) -> str:
    """Why it may have nothing to reorder."""
    return behind(data, ftl)


def missed(data: Results, point: str, none: bool, others: bool) -> str:
    """3d."""
    return ""


def deadlines(data: Results, points: list[str]) -> str:
    """3e."""
    return ""


def queues(data: Results, points: list[str]) -> str:
    """3f."""
    return ""


def aggregation(data: Results, ftl: str) -> str:
    """3g."""
    return ""


def superpage(data: Results, ftl: str) -> str:
    """3h."""
    return ""


def _percent(data: Results, scheme: str, other: str, value: Value, points: list[str]) -> str:
    return data.change(scheme, other, value, points).text()


def _workloads(paper: spec.Paper, data: Results, ftl: str) -> list[str]:
    body: list[Sequence[str]] = []
    for p in of_ftl(data, ftl):
        printed = paper.published["workloads"][p.split("-")[0]]
        mean, worst = (data.level("noop", key(k), [p]).mean for k in ("io_ns", "io_max_ns"))
        body.append(
            (p.split("-")[0],
             f"{printed['mean_us'] / 1000:.2f}, {mean / 1e6:.2f}",
             f"{printed['worst_us'] / 1000:.0f}, {worst / 1e6:.0f}",
             *(f"{data.level(s, key('io_max_ns'), [p]).mean / 1e6:.1f}" for s in ("hios-1", HIOS)),
             *(data.change(HIOS, "noop", key(k), [p]).text()
               for k in ("io_max_ns", "io_ns", "io_sd_ns")),
             *(f"{beyond(data, s, p, DEADLINE_MS):.2f} %" for s in ("noop", HIOS)))
        )  # fmt: skip
    return table(
        ("workload", "`noop`, mean, ms: paper, here", "worst: paper, here", "HIOS-1, worst",
         "HIOS-2, worst", "HIOS-2 against `noop`: worst", "mean", "deviation",
         "missed: `noop`", "HIOS-2"), body,
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
    return table(("against `noop`", "worst", "mean", "deviation", "segments", "collections at "
                  "the last free block"), body)  # fmt: skip


def _missed_table(data: Results, ftl: str) -> list[str]:
    points = of_ftl(data, ftl)
    return table(
        ("in use", *(s.label for s in data.experiment.schemes)),
        [(f"{int(p.split('-')[-1]) / 10:.0f} %",
          *(f"{beyond(data, s.label, p, DEADLINE_MS):.1f} %" for s in data.experiment.schemes))
         for p in points],
    )  # fmt: skip


def _superpage_table(data: Results) -> list[str]:
    return table(
        ("writes", "throughput", "mean latency", "writes in another's page"),
        [(p,
          *(data.change(HIOS, "noop", v, [p]).text() for v in (key("requests_per_s"), write_ns)),
          f"{data.level(HIOS, stat('aggregated_writes'), [p]).mean:,.0f}")
         for p in data.points],
    )  # fmt: skip


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, scheduler, share in use and threshold."""
    plain, bursts, below = data["workloads"], data["bursts"], data["superpage"]
    lines: list[str] = []
    for ftl in ftls(plain):
        lines += [f"## {FTLS[ftl][0].upper()}{FTLS[ftl][1:]}", "",
                  *_workloads(paper, plain, ftl), "",
                  "All workloads:", "", *_schedulers(plain, ftl), "",
                  "The same requests in bursts of 48:", "", *_schedulers(bursts, ftl), ""]
        for kind in ("mlc", "slc"):
            lines += [f"Requests of 500 KB, missed 30 ms, {kind.upper()}:", "",
                      *_missed_table(data[f"deadlines-{kind}"], ftl), ""]  # fmt: skip
    lines += ["## Below a superpage", "", "HIOS-2 against `noop`.", "", *_superpage_table(below)]
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
    return [*out, ("missed", "figure 15b: deadlines missed by the share in use"),
            ("cliff", "figures 6 and 15a: the worst latency over time, with pauses")]  # fmt: skip


def figures(data: dict[str, Results], folder: Path) -> None:
    """Figures 6, 11, 12, 14a and 15b."""
    from scarplib.reproduce import figures as draw

    plain = data["workloads"]
    for ftl in ftls(plain):
        points = of_ftl(plain, ftl)
        for name, field in (("worst", "io_max_ns"), ("mean", "io_ns"), ("deviation", "io_sd_ns")):
            draw.bars(
                folder / f"hios-{name}-{ftl}.svg", [p.split("-")[0] for p in points],
                "percent of noop",
                {s: [100 + plain.change(s, "noop", key(field), [p]).mean for p in points]
                 for s in SCHEDULERS},
            )  # fmt: skip
    mlc = data["deadlines-mlc"]
    used = [int(p.split("-")[-1]) / 10 for p in of_ftl(mlc, "page")]
    draw.curves(
        folder / "hios-missed.svg", used, "percent of the drive in use", "percent missed",
        {f"{s}, {ftl}": [beyond(mlc, s, p, DEADLINE_MS) for p in of_ftl(mlc, ftl)]
         for ftl in ftls(mlc) for s in ("noop", HIOS)},
    )  # fmt: skip
    cliff = data["cliff"]
    point = cliff.points[0]
    draw.over_time(
        folder / "hios-cliff.svg",
        {s.label: cliff.entry(point, 0, s.label) for s in cliff.experiment.schemes},
    )
