# SPDX-License-Identifier: GPL-2.0-or-later
"""hpdc18: the rest of the page, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.judge.hpdc18_why import SCHEMES, level, waiting
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Entry, Results, Row, key, quantile, utilisation
from scarplib.sweep.intervals import mean


def _programs(entry: Entry) -> float:
    """What the flash programs, GC's and parity with it, for each page of the host's."""
    stats = entry["stats"]
    host = stats["host_page_programs"]
    return float((host + stats["gc_page_programs"] + stats["parity_page_programs"]) / host)


def _said(data: Results) -> list[str]:
    """What the paper says of its baseline in passing: nothing is calibrated by these."""
    ms = [
        data.level("ideal", lambda e: quantile("write", 0.95)(e) / 1e6),
        data.level("baseline", lambda e: quantile("write", 0.95)(e) / 1e6),
        data.level("baseline", lambda e: e["affected_read_ns"] / 1e6),
        data.level("baseline", lambda e: quantile("unaffected_read", 0.5)(e) / 1e6),
        data.level("baseline", lambda e: quantile("unaffected_read", 0.95)(e) / 1e6),
    ]
    ideal, writes, affected, median, most = (m.text(" ms", sign=False, digits=2) for m in ms)
    again = [
        data.level(s, lambda e: 100 * e["gc_again"]).text(sign=False)
        for s in ("baseline", "gc-par")
    ]
    moved = data.level("baseline", lambda e: e["gc_moved"]).mean
    waiting = data.level("baseline", lambda e: e["affected_write_n"] / e["gc_n"]).mean
    shares = [
        data.level("baseline", lambda e, k=kind: 100 * e[f"affected_{k}_n"] / e[f"{k}_n"])  # type: ignore[misc]
        for kind in ("write", "read")
    ]
    kept = sum(
        all(quantile("write", 0.95)(data.entry(p, s, "ideal")) <= 25e6 for s in data.seeds())
        for p in data.points
    )
    return table(
        ("section", "the paper", "here"),
        [
            ("3.1", "without collections 95 % of the writes within 25 ms",
             f"95 %: {ideal}; in every seed on {kept} of {len(data.points)} workloads"),
            ("3.1", "with them writes take up to hundreds of milliseconds", f"95 %: {writes}"),
            ("3.1, 6.4", "affected reads take up to tens of milliseconds", f"mean: {affected}"),
            ("6.4", "a majority of the other reads takes at most hundreds of microseconds",
             f"half: {median}; 95 %: {most}"),
            ("5", "24.9 % of all writes wait for collections, 1.4 % of all reads",
             ", ".join(share.text(sign=False) for share in shares)),
            ("6.2", "collections move more pages than writes wait",
             f"{moved:.0f} pages a collection, {waiting:.0f} affected writes"),
            ("6.1", "consecutive collections",
             f"{again[0]} begin at once after another of their die, {again[1]} under GC-PAR"),
        ],
    )  # fmt: skip


SETTINGS = (
    ("reads before a due collection", "gc-par", "baseline"),
    ("first come, first served", "fcfs gc-par", "fcfs"),
    ("collections at once", "at once gc-par", "at once"),
    ("GC-PAR with HIOS-2, against 16 slots", "hios-2+gc-par", "16 slots"),
    ("HIOS-2 alone, against 16 slots", "hios-2", "16 slots"),
)


def _by_workload(paper: spec.Paper, main: Results, closed: Results) -> list[str]:
    body = []
    for p in main.points:
        base = [main.entry(p, s, "baseline") for s in main.seeds()]
        share = mean([100 * e["affected_io_n"] / e["io_n"] for e in base])
        reads = mean([100 * e["affected_read_n"] / e["io_n"] for e in base])
        wanted = paper.published["workloads"][p]["affected"]
        body.append(
            (p, f"{wanted} %, {share:.1f} %", f"{reads:.1f} %",
             main.level("gc-par", utilisation, [p]).text(sign=False),
             *(main.change("gc-par", "baseline", key(k), [p]).text(digits=0)
               for k in ("sibling_read_ns", "affected_read_ns", "affected_write_ns", "read_ns",
                         "write_ns")),
             closed.change("gc-par", "baseline", key("requests_per_s"), [p]).text()
             if p in closed.points else "–")
        )  # fmt: skip
    return table(
        ("workload", "affected: paper, here", "of all: affected reads", "utilisation",
         "sibling reads", "affected reads", "affected writes", "reads", "writes", "closed loop"),
        body,
    )  # fmt: skip


def _comparators(*parts: Results) -> list[str]:
    """Every scheme once, against the baseline of its own experiment."""
    seen = {"baseline"}
    body = []
    for data in parts:
        for label in (s.label for s in data.experiment.schemes if s.label not in seen):
            seen.add(label)
            body.append(
                (label, f"{len(data.points)}, {data.experiment.seeds}",
                 data.level(label, utilisation).text(sign=False),
                 *(data.change(label, "baseline", key(k)).text()
                   for k in ("affected_read_ns", "affected_write_ns", "read_ns", "write_ns")),
                 data.change(label, "baseline", quantile("read", 0.99)).text())
            )  # fmt: skip
    return table(
        ("scheme", "workloads, seeds", "utilisation", "affected reads", "affected writes", "reads",
         "writes",
         "reads, 99 %"),
        body,
    )  # fmt: skip


def _settings(beside: Results) -> list[str]:
    """GC-PAR in other settings, each against a baseline in the same one."""
    body = [
        (said, beside.level(par, utilisation).text(sign=False),
         *(beside.change(par, base, key(k)).text() for k in ("read_ns", "write_ns", "io_ns")))
        for said, par, base in SETTINGS
    ]  # fmt: skip
    return table(("setting", "utilisation", "reads", "writes", "all"), body)


def _density(density: Results) -> list[str]:
    """One workload at several densities; `-4`: on four planes a die."""
    body = []
    for point in density.experiment.points:
        p = [point.name]
        if point.name.endswith("-4"):
            continue
        four = [f"{point.name}-4"]

        def share(entry: Entry) -> float:
            return float(100 * entry["affected_io_n"] / entry["io_n"])

        body.append(
            (f"0.{point.name.split('-')[1]}", f"{point.age / 10:.1f} %",
             density.level("baseline", share, p).text(sign=False),
             f"{level(density, 'baseline', key('gc_moved'), p):.0f}", f"{waiting(density, p):.2f}",
             *(density.level("gc-par", utilisation, at).text(sign=False) for at in (p, four)),
             *(density.change("gc-par", "baseline", key(k), p).text()
               for k in ("sibling_read_ns", "read_ns", "write_ns")))
        )  # fmt: skip
    return table(
        ("density", "in use", "affected", "pages a collection", "affected writes a page",
         "utilisation", "four planes", "sibling reads", "reads", "writes"),
        body,
    )  # fmt: skip


TAILS = (0.95, 0.99, 0.999, 0.9999)


def _tails(data: Results) -> list[str]:
    """All requests, of which none was chosen by what it met under the baseline."""
    names = [f"{100 * share:g} %" for share in TAILS]
    return table(
        ("scheme", *(f"{op}s, {name}" for op in ("read", "write") for name in names)),
        [
            (label, *(data.change(label, "baseline", quantile(op, share)).text()
                      for op in ("read", "write") for share in TAILS))
            for label in data.labels() if label != "baseline"
        ],
    )  # fmt: skip


def _closed_loop(closed: Results) -> list[str]:
    def capacity(entry: Entry) -> float:
        return float(entry["stats"]["logical_bytes"])

    return table(
        ("scheme", "throughput", "pages programmed per page written", "logical capacity"),
        [
            (
                s.label,
                closed.change(s.label, "baseline", key("requests_per_s")).text(),
                f"{closed.level(s.label, _programs).mean:.2f}",
                closed.change(s.label, "baseline", capacity).text().split(" ±")[0],
            )
            for s in closed.experiment.schemes
        ],
    )


def _beside_rows(found: Sequence[Row]) -> list[str]:
    return table(
        ("row", "metric", "here", "as the row wants it"),
        [(r.number, r.metric, r.ours, "yes" if r.holds else "no") for r in found],
    )


def details(paper: spec.Paper, data: dict[str, Results], first: Sequence[Row]) -> list[str]:
    """Tables by workload, by scheme and of the closed loop; `first`: rows with reads first."""
    main, beside, closed = data["open-once"], data["beside"], data["closed-once"]
    return [
        "## The rows where reads go before a due collection",
        "",
        "`gc.after_reads=1`, on the same drives; the rows above are judged with collections that "
        "begin at once. None of these is counted.",
        "",
        *_beside_rows(first),
        "",
        "## What the paper says of its baseline",
        "",
        *_said(main),
        "",
        "## By workload",
        "",
        *_by_workload(paper, main, closed),
        "",
        "GC-PAR against baseline.",
        "",
        "## The tail of all requests",
        "",
        "The paper gives means. Percentiles of all requests against baseline, the mean over the "
        "workloads:",
        "",
        *_tails(main),
        "",
        "## Density",
        "",
        "`stg_0` (Table 2: 45.9 % affected) with bursts of other densities, each with the largest "
        "share in use at which the channel carries the burst, and last one that it does not carry; "
        "GC-PAR against baseline, "
        f"{data['density'].experiment.seeds} seeds.",
        "",
        *_density(data["density"]),
        "",
        "## Comparators",
        "",
        *_comparators(data["open"], beside),
        "",
        "`control` is baseline on the same drive aged with another seed; `ideal` collects in no "
        "time. TTFlash's parity is more than the drive keeps up with at these arrivals (tried: its "
        "queue grows without end), so it is in the closed loop. `fcfs`: first come, first served "
        "at the dies; `at once`: due collections begin before reads that wait. HIOS chooses among "
        "what waits for one of 16 slots, and paces collections itself; `16 slots` is baseline with "
        "as many. Requests are those that collections affected under `baseline`.",
        "",
        "GC-PAR against the baseline of the same setting, on "
        f"{', '.join(f'`{p}`' for p in beside.points)}:",
        "",
        *_settings(beside),
        "",
        "## Closed loop",
        "",
        *_closed_loop(closed),
        "",
        *(f"![{title}](hpdc18-{name}.svg)" for name, title in FIGURES),
    ]


FIGURES = (
    ("affected", "figure 9: response times of the affected requests"),
    ("utilisation", "figure 10: plane utilisation"),
    ("cdf", "figure 11: response times, cumulative"),
    ("all", "figure 12: response times of all requests"),
    ("throughput", "figure 13: throughput"),
)


def figures(data: dict[str, Results], folder: Path) -> None:
    """Figures 9 to 13."""
    from scarplib.reproduce import figures as draw

    main, closed = data["open-once"], data["closed-once"]
    draw.bars(
        folder / "hpdc18-affected.svg", main.points, "mean response time, % of baseline",
        {f"{s}, {kind}": [100 + main.change(s, "baseline", key(f"affected_{kind}_ns"), [p]).mean
                          for p in main.points]
         for kind in ("read", "write") for s in SCHEMES},
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-utilisation.svg", main.points, "planes in use during GC, %",
        {s: [main.level(s, utilisation, [p]).mean for p in main.points]
         for s in ("baseline", *SCHEMES)},
    )  # fmt: skip
    draw.cumulative(
        folder / "hpdc18-cdf.svg", main, ("mds_0", "stg_0"),
        ("baseline", "gc-par", "gc-vic", "ideal"),
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-all.svg", main.points, "mean response time, % of baseline",
        {f"gc-par, {kind}": [100 + main.change("gc-par", "baseline", key(f"{kind}_ns"), [p]).mean
                             for p in main.points]
         for kind in ("read", "write", "io")},
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-throughput.svg", closed.points, "requests a second, % of baseline",
        {s: [100 + closed.change(s, "baseline", key("requests_per_s"), [p]).mean
             for p in closed.points] for s in SCHEMES},
    )  # fmt: skip
