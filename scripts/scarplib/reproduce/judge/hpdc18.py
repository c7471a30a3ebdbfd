# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 1a to 1g: I/O-parallelized GC."""

from __future__ import annotations

from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.intervals import Interval, mean
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Entry, Results, Row, Value, key, quantile, utilisation

SCHEMES = ("gc-par", "gc-vic")
HIGH = ("hm_0", "prxy_0", "mds_0", "src2_0", "stg_0", "ts_0", "wdev_0", "rsrch_0")


def _both(data: Results, value: Value) -> tuple[Interval, Interval]:
    return data.change("gc-par", "baseline", value), data.change("gc-vic", "baseline", value)


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
        "exactly 50 %; GC-PAR ≥ 65 %; GC-VIC within 3 points",
    )  # fmt: skip


def affected_rows(data: Results) -> list[Row]:
    """1b and 1c: response times of the requests that met a collection."""
    par, vic = _both(data, key("sibling_read_ns"))
    apart = data.change("gc-vic", "gc-par", key("sibling_read_ns"))
    rows_of_reads = _control(data, "sibling_read_ns", "reads") + (
        " A read can join only a GC read of its own page offset, one of 512; what else it gains is "
        "that programs of its plane went along with the collection. Requests to the collecting "
        "plane itself cannot join, which caps the direct gain of two planes near -50 %."
    )
    rows = [
        Row("1b", "affected reads to the sibling plane", "-71 %, -83 % (all affected)",
            _pair(par, vic), par.high <= -50, "GC-PAR ≤ -50 %", rows_of_reads),
        Row("1b", "the same, GC-VIC against GC-PAR", "-41 % (of what is left)", apart.text(),
            apart.below(0), "GC-VIC better", _ties(data)),
    ]  # fmt: skip
    par, vic = _both(data, key("affected_read_ns"))
    rows.append(
        Row("1b", "all affected reads", "-71 %, -83 %", _pair(par, vic),
            par.below(0) and vic.below(0), "both improve")
    )  # fmt: skip
    par, vic = _both(data, key("sibling_write_ns"))
    rows.append(
        Row("1c", "affected writes to the sibling plane", "-70 %, -70 % (all affected)",
            _pair(par, vic), par.high <= -50 and vic.high <= -50, "both ≤ -50 %",
            _control(data, "sibling_write_ns", "writes"))
    )  # fmt: skip
    par, vic = _both(data, key("affected_write_ns"))
    rows.append(
        Row("1c", "all affected writes", "-70 %, -70 %", _pair(par, vic),
            par.below(0) and vic.below(0), "both improve")
    )  # fmt: skip
    return rows


def _control(data: Results, name: str, what: str) -> str:
    """How much of a change is that collections come at other times."""
    control = data.change("control", "baseline", key(name))
    against = data.change("gc-par", "control", key(name))
    return (
        "these requests are the ones that met a collection under `baseline`, and under any other "
        "course of events many of them do not: on the same drive aged with another seed, "
        f"`baseline` itself gives {control.text()} for these {what}. GC-PAR against that: "
        f"{against.text()}. If the paper fixed its requests so, this is in its figures too."
    )


def _ties(data: Results) -> str:
    """How often Algorithm 3 had a choice, by what came out: the same run to the nanosecond."""
    same = mean(
        [
            float(data.entry(p, s, "gc-vic")["io_ns"] == data.entry(p, s, "gc-par")["io_ns"])
            for p in data.points
            for s in data.seeds()
        ]
    )
    return (
        "Algorithm 3 chooses among blocks with exactly the fewest valid pages, by the reads that "
        "wait when a collection starts. With 512 pages in a block such ties are rare, and few "
        f"reads wait: in {100 * same:.0f} % of the runs it never chose otherwise than greedy."
    )


def all_rows(data: Results, beside: Results) -> list[Row]:
    """1d: response times of all requests."""
    rows = []
    for kind, name, paper in (
        ("read", "reads", "-36.2 %, -42.6 %"), ("write", "writes", "-50.7 %, -50.7 %"),
        ("io", "requests", "-50.1 %, -50.3 %"),
    ):  # fmt: skip
        par, vic = _both(data, key(f"{kind}_ns"))
        why = ""
        if kind == "read":
            why = _reads(data, beside)
        rows.append(
            Row("1d", f"mean response time of all {name}", paper, _pair(par, vic),
                par.below(0) and vic.below(0), "both improve", why)
        )  # fmt: skip
    return rows


def _reads(data: Results, beside: Results) -> str:
    """Why reads gain less than writes: by what they waited for, and how collections follow."""
    shares = ", ".join(
        f"{cause} {_read_ms(data, 'baseline', cause):.2f} → {_read_ms(data, 'gc-par', cause):.2f}"
        for cause in ("host_queue", "die_host_read", "die_host_program", "die_gc_read",
                      "die_gc_program", "die_gc_held", "die_erase", "channel")
    )  # fmt: skip
    again = [100 * data.level(scheme, key("gc_again")).mean for scheme in ("baseline", "gc-par")]
    return (
        f"what a read waited for, baseline → GC-PAR, ms: {shares}. While a plane collects, its "
        "sibling goes on writing, so it is more often due when the collection ends: "
        f"{again[0]:.1f} % of the collections under baseline begin at once after another of their "
        f"die, {again[1]:.1f} % under GC-PAR. First come, first served (section 3.2), reads stand "
        f"behind blocked writes, and change by {_beside(beside, 'fcfs', 'read_ns')}; with "
        "collections that begin before reads that wait they change by "
        f"{_beside(beside, 'at once', 'read_ns')}. Rows have reads first, as Table 1 says."
    )


def _beside(data: Results, setting: str, name: str) -> str:
    """GC-PAR against baseline, both in another setting."""
    return data.change(f"{setting} gc-par", setting, key(name)).text()


def _read_ms(data: Results, scheme: str, cause: str) -> float:
    """Mean time that a read spent so."""
    return mean(
        [
            data.entry(p, s, scheme)["read_causes_ns"][cause] / 1e6
            for p in data.points
            for s in data.seeds()
        ]
    )


def throughput_row(data: Results) -> Row:
    """1e: a closed loop."""
    rate = key("requests_per_s")
    each = {p: data.change("gc-par", "baseline", rate, [p]) for p in data.points}
    total = data.change("gc-par", "baseline", rate)
    high = [p for p in data.points if p in HIGH]
    low = [p for p in data.points if p not in HIGH]

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
        "1e", "throughput, closed loop", "+14.7 %; +13.4 to 24.2 % (high), +5.1 to 7.7 % (low)",
        f"{total.text()}; high {data.change('gc-par', 'baseline', rate, high).text()}, low "
        f"{data.change('gc-par', 'baseline', rate, low).text()}; least "
        f"{min(i.mean for i in each.values()):+.1f} %",
        all(i.above(0) for i in each.values()) and larger.above(0),
        "> 0 on all, larger for the high-GC group",
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
        exact and par.low > 33, "exactly 25 %; > 33 %",
    )  # fmt: skip


def generator_row(paper: spec.Paper, data: Results) -> Row:
    """Of the requests as generated; the replay rounds them out to pages."""
    from scarplib.reproduce.replays import generated

    ratio = size = 0.0
    for point in data.experiment.points:
        wanted = paper.published["workloads"][point.name]
        made = generated(data.experiment, point)
        ratio = max(ratio, abs(100 * made["writes"] / made["requests"] - wanted["write"]))
        kib = made["write_bytes"] / made["writes"] / 1024
        size = max(size, 100 * abs(kib / wanted["size_kib"] - 1))
    return Row(
        "1g", f"generators against Table 2, {len(data.points)} workloads", "table",
        f"ratio within {ratio:.2f} points, size within {size:.2f} %",
        ratio <= 1 and size <= 3, "1 point, 3 %",
    )  # fmt: skip


def rows(paper: spec.Paper, data: dict[str, Results]) -> list[Row]:
    """All rows, in the order of their numbers."""
    return [
        utilisation_row(data["open"]),
        *affected_rows(data["open"]),
        *all_rows(data["open"], data["beside"]),
        throughput_row(data["closed"]),
        four_planes_row(data["planes4"]),
        generator_row(paper, data["open"]),
    ]


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
        data.level("baseline", lambda e, k=kind: 100 * e[f"affected_{k}_n"] / e["io_n"])  # type: ignore[misc]
        for kind in ("write", "read")
    ]
    return table(
        ("section", "the paper", "here"),
        [
            ("3.1", "without collections 95 % of the writes within 25 ms", f"95 %: {ideal}"),
            ("3.1", "with them writes take up to hundreds of milliseconds", f"95 %: {writes}"),
            ("3.1, 6.4", "affected reads take up to tens of milliseconds", f"mean: {affected}"),
            ("6.4", "a majority of the other reads takes at most hundreds of microseconds",
             f"half: {median}; 95 %: {most}"),
            ("figure 8", "24.9 % of the requests are writes that wait for collections, 1.4 % reads",
             ", ".join(share.text(sign=False) for share in shares)),
            ("6.2", "collections move more pages than writes wait",
             f"{moved:.0f} pages a collection, {waiting:.0f} affected writes"),
            ("6.1", "consecutive collections",
             f"{again[0]} begin at once after another of their die, {again[1]} under GC-PAR"),
        ],
    )  # fmt: skip


SETTINGS = (
    ("as in the rows", "gc-par", "baseline"),
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
             closed.change("gc-par", "baseline", key("requests_per_s"), [p]).text())
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
                (label, f"{data.experiment.seeds}",
                 data.level(label, utilisation).text(sign=False),
                 *(data.change(label, "baseline", key(k)).text()
                   for k in ("affected_read_ns", "affected_write_ns", "read_ns", "write_ns")),
                 data.change(label, "baseline", quantile("read", 0.99)).text())
            )  # fmt: skip
    return table(
        ("scheme", "seeds", "utilisation", "affected reads", "affected writes", "reads", "writes",
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


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, by scheme and of the closed loop."""
    main, beside, closed = data["open"], data["beside"], data["closed"]
    return [
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
        "## Comparators",
        "",
        *_comparators(main, beside),
        "",
        "`control` is baseline on the same drive aged with another seed; `ideal` collects in no "
        "time. TTFlash's parity is more than the drive keeps up with at these arrivals (tried: its "
        "queue grows without end), so it is in the closed loop. `fcfs`: first come, first served "
        "at the dies; `at once`: due collections begin before reads that wait. HIOS chooses among "
        "what waits for one of 16 slots, and paces collections itself; `16 slots` is baseline with "
        "as many. Requests are those that collections affected under `baseline`.",
        "",
        "GC-PAR against the baseline of the same setting:",
        "",
        *_settings(beside),
        "",
        "## Closed loop",
        "",
        *_closed_loop(closed),
        "",
        *(f"![{title}](hpdc18-{name}.svg)" for name, title in FIGURES),
    ]


def directions(data: dict[str, Results]) -> list[tuple[str, bool]]:
    """What one or two workloads and three seeds can say."""
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


FIGURES = (
    ("affected", "figure 9: response times of the affected requests"),
    ("utilisation", "figure 10: plane utilisation"),
    ("cdf", "figure 11: response times, cumulative"),
    ("all", "figure 12: response times of all requests"),
    ("throughput", "figure 13: throughput"),
)


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """Figures 9 to 13."""
    from scarplib.reproduce import figures as draw

    main, closed = data["open"], data["closed"]
    draw.bars(
        folder / "hpdc18-affected.svg", main.points, "percent of baseline",
        {f"{s}, {kind}": [100 + main.change(s, "baseline", key(f"affected_{kind}_ns"), [p]).mean
                          for p in main.points]
         for kind in ("read", "write") for s in SCHEMES},
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-utilisation.svg", main.points, "planes in use during GC, percent",
        {s: [main.level(s, utilisation, [p]).mean for p in main.points]
         for s in ("baseline", *SCHEMES)},
    )  # fmt: skip
    draw.cumulative(
        folder / "hpdc18-cdf.svg", main, ("mds_0", "proj_0"),
        ("baseline", "gc-par", "gc-vic", "ideal"),
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-all.svg", main.points, "percent of baseline",
        {f"gc-par, {kind}": [100 + main.change("gc-par", "baseline", key(f"{kind}_ns"), [p]).mean
                             for p in main.points]
         for kind in ("read", "write", "io")},
    )  # fmt: skip
    draw.bars(
        folder / "hpdc18-throughput.svg", closed.points, "percent of baseline",
        {s: [100 + closed.change(s, "baseline", key("requests_per_s"), [p]).mean
             for p in closed.points] for s in SCHEMES},
    )  # fmt: skip
