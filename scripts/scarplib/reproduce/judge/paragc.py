# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 2a to 2h: relocation across channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from scarplib.device_logs import command_log
from scarplib.reproduce import spec
from scarplib.reproduce.judge import paragc_open
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import (
    Asked,
    Data,
    Entry,
    Results,
    Row,
    Value,
    asked_rows,
    quantile,
)
from scarplib.sweep.intervals import Interval, mean

SUBJECTS = ("paragc",)
COMPARATORS = ("baseline", "gc-z")
# What is open is swept, in the experiment `open`.
CONDITIONS: dict[str, str] = {}
JUDGED_BY = ("main", "threshold", "channels", "dynamic", "threshold-dynamic")
ERASE_NS = 10_000_000
READ_NS = 66_000 + 409_600  # senses a page, and brings it over the channel
SCHEMES = ("baseline", "gc-z", "paragc")
GAIN = "stg_1"
THRESHOLDS = ("10", "15", "20", "25", "30")
CHANNELS = ("4", "8", "12", "16")
FLAT = 5  # percent


def read_ns(entry: Entry) -> float:
    """Mean latency of a read, ns."""
    return float(entry["stats"]["read_latency_sum_ns"] / entry["stats"]["reads"])


def write_ns(entry: Entry) -> float:
    """Mean latency of a write, ns."""
    return float(entry["stats"]["write_latency_sum_ns"] / entry["stats"]["writes"])


def gc_ns(entry: Entry) -> float:
    """From a collection's first command to the end of its erase."""
    return float(entry["stats"]["gc_busy_ns"] / entry["stats"]["gc_runs"])


def relocation_share(entry: Mapping[str, Any]) -> float:
    """Percent of a collection that is not its erase."""
    stats = entry["stats"]
    return float(100 * (1 - ERASE_NS * stats["gc_runs"] / stats["gc_busy_ns"]))


def moved(entry: Entry) -> float:
    """Units relocated by a collection, mean."""
    return float(entry["stats"]["gc_moved_units"] / entry["stats"]["gc_runs"])


METRICS: tuple[tuple[str, str, Value], ...] = (
    ("read", "mean read latency", read_ns),
    ("write", "mean write latency", write_ns),
    ("gc", "GC latency", gc_ns),
)


def _latency_row(
    data: Results,
    number: str,
    metric: str,
    value: Value,
    paper: str,
    band: int,
    open_: Results | None,
    choices: Results | None = None,
    why: Callable[[], str] | str = "",
) -> Row:
    base, other = (data.change("paragc", s, value) for s in ("baseline", "gc-z"))
    each = [data.change("paragc", "baseline", value, [p]).mean for p in data.points]
    said = f"{base.text()}, {other.text()}; by workload {min(each):+.0f} to {max(each):+.0f} %"
    if choices:
        wide = choices.change("paragc", "in-channel", value).text()
        printed = choices.change("printed", "baseline", value).text()
        said += (
            f"; on {len(choices.points)} workloads against copies inside a channel {wide}, "
            f"Algorithm 1's printed stop {printed}"
        )
    return Row(
        number, f"{metric}: ParaGC against Baseline, GC-Z", paper, said,
        base.high <= -band and other.below(0), f"better than both; ≥ {band} % against Baseline",
        why, against=("gc-z",),
        condition=paragc_open.condition(open_, value, band) if open_ else "",
        swept=paragc_open.share(open_, value, band) if open_ else (0, 0),
    )  # fmt: skip


def _floor(data: Results) -> str:
    """What of a collection no placement shortens."""
    pages, whole = data.level("paragc", moved).mean, data.level("paragc", gc_ns).mean / 1e6
    return (
        f"nearer to GC-Z than in the paper: of ParaGC's {whole:.0f} ms, reading {pages:.0f} pages "
        f"over the victim's channel takes {pages * READ_NS / 1e6:.0f} and the erase "
        f"{ERASE_NS / 1e6:.0f}, wherever they go; the paper's t_i = v_i T counts programs alone. "
        "Without the search of Algorithm 1 (`even`) GC latency would be "
        f"{data.change('even', 'baseline', gc_ns).text()} against Baseline, reads "
        f"{data.change('even', 'baseline', read_ns).text()}."
    )


FIGURES_ABC = {
    "2a": ("-41.3 %, -25.3 %", 20),
    "2b": ("-38.8 %, -24.3 %", 20),
    "2c": ("-73.8 %, -51.1 %", 50),
}


def latency_row(data: Results, open_: Results, choices: Results, number: str) -> Row:
    """2a to 2c: latencies of reads, writes and collections."""
    paper, band = FIGURES_ABC[number]
    _, metric, value = METRICS[list(FIGURES_ABC).index(number)]
    why = partial(_floor, data) if band == 50 else ""
    return _latency_row(data, number, metric, value, paper, band, open_, choices, why)


def dynamic_rows(data: Results) -> list[Row]:
    """2g: the same with writes that go to channels without collections (III-A)."""
    return [
        _latency_row(data, "2g", f"writes to channels without GC, {metric}", value, *figures, None)
        for figures, (_, metric, value) in zip(FIGURES_ABC.values(), METRICS, strict=True)
    ]


def spike_row(data: Results) -> Row:
    """2h: the tail of reads to one channel, blocks of 768 and of 128 pages (its figure 2a)."""
    worst = quantile("read", 0.9999)

    def ratio(seed: int) -> float:
        high, flat = (worst(data.entry(f"channel-{n}", seed, "baseline")) for n in (768, 128))
        return high / flat

    found = data.paired(ratio)
    return Row(
        "2h", "slowest reads of one channel, 3D against planar blocks", "3.3 times",
        f"{found.text(' times', sign=False)}", found.above(1), "taller", of_scheme=False,
    )  # fmt: skip


def share_row(data: Results, planar: Results) -> Row:
    """2d: what of a collection is relocation."""
    big, small = (of.level("baseline", relocation_share) for of in (data, planar))
    each = [data.level("baseline", relocation_share, [p]) for p in data.points]
    return Row(
        "2d", "relocation's share of GC latency, 3D block", "94.4 %",
        f"{big.text(sign=False)}; least of a workload {min(i.mean for i in each):.1f} %; blocks of "
        f"128 pages {small.text(sign=False)}",
        big.low >= 85 and all(i.low >= 85 for i in each), "≥ 85 %, on every workload",
        "the mean is what the share of the drive in use was chosen by, so only the spread, and the "
        "difference to small blocks, are found here.",
        of_scheme=False, chosen_by_it="the share of the drive in use was chosen by it",
    )  # fmt: skip


# ---- Sweeps ---------------------------------------------------------------


def _names(data: Results) -> list[str]:
    """The workloads of points that are called WORKLOAD-VALUE."""
    return list(dict.fromkeys(p.rsplit("-", 1)[0] for p in data.points))


def swept(data: Results, scheme: str, value: Value, at: str, base: str) -> Interval:
    """Percent from one value of what is swept to another, mean of the workloads."""
    return data.paired(
        lambda seed: mean(
            [
                100
                * (
                    value(data.entry(f"{name}-{at}", seed, scheme))
                    / value(data.entry(f"{name}-{base}", seed, scheme))
                    - 1
                )
                for name in _names(data)
            ]
        )
    )


def gain(data: Results, at: str, seed: int, value: Value = write_ns) -> float:
    """Percent that ParaGC takes from Baseline's on the workload that the paper names."""
    point = f"{GAIN}-{at}"
    paragc, base = (value(data.entry(point, seed, s)) for s in ("paragc", "baseline"))
    return 100 * (1 - paragc / base)


def threshold_rows(data: Results, dynamic: Results) -> list[Row]:
    """2e: the sweep of the GC threshold; `dynamic`: 2g's, at one threshold."""
    wrong = [
        f"{metric} of {scheme} from {low} to {high} %: {step.text()}"
        for _, metric, value in METRICS
        for scheme in ("baseline", "paragc")
        for low, high in pairwise(THRESHOLDS)
        if not (step := swept(data, scheme, value, high, low)).above(0)
    ]
    ends = ", ".join(
        f"{kind} {swept(data, 'baseline', value, THRESHOLDS[-1], THRESHOLDS[0]).text(digits=0)}"
        for kind, _, value in METRICS
    )
    gains = [data.paired(partial(gain, data, at)) for at in THRESHOLDS]

    def grown(low: str, high: str, seed: int) -> float:
        return gain(data, high, seed) - gain(data, low, seed)

    grows = all(data.paired(partial(grown, *step)).above(0) for step in pairwise(THRESHOLDS))
    free = dynamic.change("paragc", "baseline", write_ns)
    condition = (
        ""
        if free.below(0)
        else f"writes keep to their channel; where they go to those without GC (2g) {free.text()}"
    )
    return [
        Row("2e", "GC threshold 10 to 30 %: latencies", "all grow",
            f"30 % against 10 %, baseline: {ends}; "
            f"{24 - len(wrong)} of 24 steps grow",
            not wrong, "all latencies monotone",
            "not among them: " + "; ".join(wrong) if wrong else ""),
        Row("2e", "write gain on stg_1, 10 to 30 %", "16 % → 64.8 %",
            " → ".join(f"{g.mean:.1f}" for g in gains) + " %",
            grows, "grows at every step", condition=condition),
    ]  # fmt: skip


def dynamic_gain_row(data: Results) -> Row:
    """2e: the write gain where writes go to channels without collections."""
    gains = [data.paired(partial(gain, data, at)) for at in THRESHOLDS]

    def grown(low: str, high: str, seed: int) -> float:
        return gain(data, high, seed) - gain(data, low, seed)

    return Row(
        "2e", "write gain on stg_1, 10 to 30 %, writes to channels without GC", "16 % → 64.8 %",
        " → ".join(f"{g.mean:.1f}" for g in gains) + " %",
        all(data.paired(partial(grown, *step)).above(0) for step in pairwise(THRESHOLDS)),
        "grows at every step",
    )  # fmt: skip


def channel_row(data: Results) -> Row:
    """2f: the sweep of the number of channels."""
    base = swept(data, "baseline", gc_ns, CHANNELS[-1], CHANNELS[0])
    steps = [swept(data, "paragc", gc_ns, high, low) for low, high in pairwise(CHANNELS)]
    against = data.change("paragc", "baseline", gc_ns)
    return Row(
        "2f", "channels 4 to 16: GC latency", "Baseline flat; ParaGC falls, -75.8 % against it",
        f"Baseline {base.text()} (16 against 4); ParaGC by step "
        f"{', '.join(s.text() for s in steps)}; against Baseline {against.text()}",
        base.low > -FLAT and base.high < FLAT and all(s.below(0) for s in steps),
        f"Baseline within {FLAT} %; ParaGC falls at every step",
    )  # fmt: skip


ASKED = (
    *(Asked(number, f"{metric}: ParaGC against Baseline, GC-Z", ("main", "open", "choices"),
            lambda _, data, number=number: [  # type: ignore[misc]
                latency_row(data["main"], data["open"], data["choices"], number)])
      for number, (_, metric, _) in zip(FIGURES_ABC, METRICS, strict=True)),
    Asked("2d", "relocation's share of GC latency", ("main", "planar"),
          lambda _, data: [share_row(data["main"], data["planar"])]),
    Asked("2e", "GC threshold 10 to 30 %", ("threshold", "dynamic"),
          lambda _, data: threshold_rows(data["threshold"], data["dynamic"])),
    Asked("2e", "write gain on stg_1, 10 to 30 %, writes to channels without GC",
          ("threshold-dynamic",), lambda _, data: [dynamic_gain_row(data["threshold-dynamic"])]),
    Asked("2f", "channels 4 to 16: GC latency", ("channels",),
          lambda _, data: [channel_row(data["channels"])]),
    Asked("2g", "2a to 2c with writes to channels without GC", ("dynamic",),
          lambda _, data: dynamic_rows(data["dynamic"])),
    Asked("2h", "slowest reads of one channel, 3D against planar", ("spike",),
          lambda _, data: [spike_row(data["spike"])]),
)  # fmt: skip


def rows(paper: spec.Paper, data: Data) -> list[Row]:
    """All rows, in the order of their numbers."""
    return asked_rows(ASKED, paper, data)


# ---- The rest of the page ---------------------------------------------------


def _cause_ms(data: Results, scheme: str, cause: str) -> float:
    """Mean of a request, of all workloads."""
    return mean(
        [
            stats[f"cause_{cause}_ns"] / stats["cmds_completed"] / 1e6
            for p in data.points
            for s in data.seeds()
            for stats in [data.entry(p, s, scheme)["stats"]]
        ]
    )


def _ms(data: Results, scheme: str, value: Value, points: list[str]) -> str:
    return f"{data.level(scheme, value, points).mean / 1e6:.2f}"


def _workloads(data: Results) -> list[str]:
    body = []
    for p in data.points:
        runs = mean([data.entry(p, s, "baseline")["stats"]["gc_runs"] for s in data.seeds()])
        body.append(
            (p, f"{runs:.0f}", f"{data.level('baseline', moved, [p]).mean:.0f}",
             f"{data.level('baseline', relocation_share, [p]).mean:.1f} %",
             *(", ".join(_ms(data, s, value, [p]) for s in SCHEMES) for _, _, value in METRICS),
             *(data.change("paragc", "baseline", value, [p]).text(digits=0)
               for _, _, value in METRICS))
        )  # fmt: skip
    return table(
        ("workload", "collections", "pages moved", "relocation", "reads, ms", "writes, ms",
         "GC, ms", "reads", "writes", "GC"),
        body,
    )  # fmt: skip


def _schemes(data: Results) -> list[str]:
    return table(
        ("scheme", "reads", "writes", "GC latency", "placed elsewhere"),
        [
            (s.label,
             *(data.change(s.label, "baseline", value).text() if s.label != "ideal" or kind != "gc"
               else "-" for kind, _, value in METRICS),
             f"{_elsewhere(data, s.label):.2f} %")
            for s in data.experiment.schemes[1:]
        ],
    )  # fmt: skip


def _elsewhere(data: Results, scheme: str) -> float:
    """Percent of the relocated pages that found no room where the scheme wanted them."""
    return mean(
        [
            100 * stats["gc_fallback_units"] / max(1, stats["gc_moved_units"])
            for p in data.points
            for s in data.seeds()
            for stats in [data.entry(p, s, scheme)["stats"]]
        ]
    )


def _sweep(data: Results, values: tuple[str, ...], what: str) -> list[str]:
    names = _names(data)
    return table(
        (what, *(f"{kind}, ms: baseline, gc-z, paragc" for kind, _, _ in METRICS),
         *(f"{kind}: paragc" for kind, _, _ in METRICS)),
        [
            (at,
             *(", ".join(_ms(data, s, value, [f"{n}-{at}" for n in names]) for s in SCHEMES)
               for _, _, value in METRICS),
             *(data.change("paragc", "baseline", value, [f"{n}-{at}" for n in names]).text()
               for _, _, value in METRICS))
            for at in values
        ],
    )  # fmt: skip


def details(_: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, scheme, cause, threshold and channels."""
    main = data["main"]
    labels = [s.label for s in main.experiment.schemes]
    causes = [c for c in command_log.CAUSES if _cause_ms(main, "baseline", c) >= 0.005]
    return [
        "## By workload", "", *_workloads(main), "",
        "Milliseconds are of Baseline, GC-Z, ParaGC; the last three columns are ParaGC against "
        "Baseline.", "",
        "## Schemes against Baseline", "", *_schemes(main), "",
        "`even` is ParaGC without the search of Algorithm 1, `few` with 8 rounds of it, `searched` "
        "with one that goes on "
        "until nothing lowers D; `ideal` collects in no time. The last column: pages that found no "
        "room where the scheme wanted them.", "",
        "## What a request waited for, ms", "",
        *table(("cause", *labels),
               [(c, *(f"{_cause_ms(main, s, c):.3f}" for s in labels)) for c in causes]), "",
        "Mean of all requests of all workloads.", "",
        "## What the paper leaves open", "",
        *paragc_open.details(data["open"], METRICS), "",
        "## Threshold", "", *_sweep(data["threshold"], THRESHOLDS, "percent"), "",
        "## Channels", "", *_sweep(data["channels"], CHANNELS, "channels"), "",
        *(f"![{title}](paragc-{name}.svg)" for name, title in FIGURES),
    ]  # fmt: skip


def directions(data: dict[str, Results]) -> list[tuple[str, bool]]:
    """What few workloads and seeds can say."""
    main, threshold, channels = data["main"], data["threshold"], data["channels"]
    grown = [swept(threshold, "baseline", v, "30", "10").mean for _, _, v in METRICS]
    gains = [mean([gain(threshold, at, s) for s in threshold.seeds()]) for at in ("10", "30")]
    flat = swept(channels, "baseline", gc_ns, "16", "4").mean
    out = [
        (f"{number}: {name}'s {metric} is below {against}'s",
         main.change(scheme, against, value).mean < 0)
        for number, (_, metric, value) in zip(("2a", "2b", "2c"), METRICS, strict=True)
        # Below GC-Z's only with a small limit.
        for scheme, name, against in (
            ("paragc", "ParaGC", "baseline"), ("few", "ParaGC with λ = 8", "gc-z"),
        )
    ]  # fmt: skip
    return [
        *out,
        ("2d: relocation is most of a collection",
         main.level("baseline", relocation_share).mean >= 85),
        ("2e: latencies grow with the threshold", min(grown) > 0),
        ("2e: so does the gain", gains[1] > gains[0]),
        ("2f: Baseline's GC latency is flat over the channels", abs(flat) < FLAT),
        ("2f: ParaGC's falls", swept(channels, "paragc", gc_ns, "16", "4").mean < 0),
    ]  # fmt: skip


FIGURES = (
    ("open", "λ and its companions: percent of Baseline, beside GC-Z"),
    ("share", "figure 2b: relocation's share of a collection"),
    ("read", "figure 7: read latency"),
    ("write", "figure 8: write latency"),
    ("gc", "figure 9: GC latency"),
    *((f"threshold-{kind}", f"figure 10: {metric} by GC threshold") for kind, metric, _ in METRICS),
    *((f"channels-{kind}", f"figure 11: {metric} by channels") for kind, metric, _ in METRICS),
)


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """Figures 2b and 7 to 11."""
    from scarplib.reproduce import figures as draw

    main = data["main"]
    paragc_open.figure(folder / "paragc-open.svg", data["open"], METRICS)
    draw.bars(
        folder / "paragc-share.svg", main.points, "relocation, % of a collection",
        {label: [mean([relocation_share(of.entry(p, s, "baseline")) for s in of.seeds()])
                 for p in main.points]
         for label, of in (("768 pages a block", main), ("128", data["planar"]))},
    )  # fmt: skip
    for kind, title, value in METRICS:
        draw.bars(
            folder / f"paragc-{kind}.svg", main.points, f"{title}, % of Baseline",
            {s: [100 + main.change(s, "baseline", value, [p]).mean for p in main.points]
             for s in SCHEMES},
        )  # fmt: skip
        for name, values in (("threshold", THRESHOLDS), ("channels", CHANNELS)):
            of = data[name]
            draw.curves(
                folder / f"paragc-{name}-{kind}.svg", [float(v) for v in values],
                "clean pages at which GC begins, %" if name == "threshold" else name,
                f"{title}, ms",
                {s: [of.level(s, value, [f"{n}-{v}" for n in _names(of)]).mean / 1e6
                     for v in values] for s in SCHEMES},
            )  # fmt: skip
