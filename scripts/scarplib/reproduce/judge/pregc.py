# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows 4a to 4l: PreGC, and GFTL with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.markdown import table
from scarplib.reproduce.replays import device_key
from scarplib.reproduce.results import (
    ASKED_AFTER,
    CHANGED_AFTER,
    SELECTED,
    Asked,
    Data,
    Entry,
    Results,
    Row,
    Value,
    amplification,
    asked_rows,
    key,
    quantile,
)
from scarplib.sweep.intervals import Interval, mean

GFTL, BOTH = "gftl", "pregc+gftl"
AFFECTED = "affected_io"
# Of all requests, since those that waited under the baseline are slow there by their choice.
ALL_TAIL = quantile("io", 0.9999)
# The sweep's other workloads are evidence only.
JUDGED = ("usr0", "wdev0")


SWEPT = ("T100", "T101", "T102", "T110", "T150", "T200")
SUBJECTS = ("pregc", BOTH, *SWEPT)
COMPARATORS = ("baseline",)
CONDITIONS: dict[str, str] = {}
JUDGED_BY = ("drive3d", "sweep", "short")
PRINTED = "pregc-printed"
# Milliseconds of a pause, the longest first.
PAUSES = ("45", "15", "5")


def _each(data: Results, value: Value) -> dict[str, Interval]:
    return {p: data.change("pregc", "baseline", value, [p]) for p in data.points}


def _range(each: dict[str, Interval]) -> str:
    worst = max(each, key=lambda p: each[p].mean)
    best = min(each, key=lambda p: each[p].mean)
    return f"from {each[best].mean:+.1f} % ({best}) to {each[worst].mean:+.1f} % ({worst})"


def migrated_row(data: Results) -> Row:
    """4a: pages that are left to a normal collection."""
    each = _each(data, key("gc_moved"))
    without, left = (data.level(s, key("gc_moved")) for s in ("baseline", "pregc"))
    return Row(
        "4a", "pages migrated in a normal GC",
        "Table 4: 30.6 to 20.0 (-29.5 to -44 %); Table 5: 18.0 to 3.1",
        f"{without.text('', sign=False)} to {left.text('', sign=False)}: "
        f"{data.change('pregc', 'baseline', key('gc_moved')).text()}, {_range(each)}",
        all(i.below(0) for i in each.values()), "falls on every workload with idle time",
    )  # fmt: skip


def tail_rows(data: Results) -> list[Row]:
    """4b: percentiles of the requests that GC may affect."""
    rows = []
    for share, wanted in ((0.99, "falls on every workload with idle time"), (0.95, "")):
        value = quantile(AFFECTED, share)
        each = _each(data, value)
        total = data.change("pregc", "baseline", value)
        rows.append(
            Row("4b", f"{100 * share:.0f}th percentile of requests that GC may affect",
                "-38.2 % (both percentiles)", f"{total.text()}, {_range(each)}",
                all(i.below(0) for i in each.values()) if wanted else total.below(0),
                wanted or "falls (not asked for by workload)")
        )  # fmt: skip
    each = {p: data.change("pregc", "baseline", ALL_TAIL, [p]) for p in data.points}
    rows.append(
        Row("4b", f"99.99th percentile of all requests ({ASKED_AFTER})", "–",
            f"{data.change('pregc', 'baseline', ALL_TAIL).text()}, {_range(each)}",
            all(i.below(0) for i in each.values()), "falls on every workload with idle time",
            SELECTED, apart=CHANGED_AFTER)
    )  # fmt: skip
    return rows


def amplification_row(data: Results) -> Row:
    """4c: pages written more than without pre-migration."""
    total = data.change("pregc", "baseline", amplification)
    return Row(
        "4c", "write amplification added", "< 1 % on average",
        f"{total.text(digits=2)}, {_range(_each(data, amplification))}",
        total.below(3), "< 3 %",
    )  # fmt: skip


def _migration_to_erase(data: Results) -> Value:
    """Of the time of a collection, transfers and waiting for the channel included."""
    erase_ns = device_key(data.experiment.device, "timing", "erase_ns")

    def value(entry: Entry) -> float:
        return float(entry["gc_ns"] / erase_ns - 1)

    return value


def ratio_row(flat: Results, high: Results) -> Row:
    """4d: migration's time beside the erase's, in 2D and 3D flash."""
    two, three = _migration_to_erase(flat), _migration_to_erase(high)

    def apart(point: str, seed: int) -> float:
        return three(high.entry(point, seed, "baseline")) - two(flat.entry(point, seed, "baseline"))

    larger = {p: flat.paired(partial(apart, p)) for p in flat.points}
    each = ", ".join(
        f"{p} {flat.level('baseline', two, [p]).mean:.1f} and "
        f"{high.level('baseline', three, [p]).mean:.1f}"
        for p in flat.points
    )
    return Row(
        "4d", "time of migration : erase, 2D and 3D", "0.1 to 5.2, 2.9 to 11.5", each,
        all(i.above(0) for i in larger.values()), "larger in 3D on every workload",
        of_scheme=False,
    )  # fmt: skip


READING, AHEAD, PAGE = "T", "L", "P"


def _steps(data: Results, kind: str = READING) -> list[str]:
    """T_block as section 4.2 reads, T_block when PreGC looks ahead, or T_page (from 5 %)."""
    labels = [s.label for s in data.experiment.schemes if s.label.startswith(kind)]
    return sorted(
        [*labels, "T110"] if kind == PAGE else labels, key=_t_page if kind == PAGE else _permille
    )


def _permille(label: str) -> int:
    return int(label[1:])


def _t_page(label: str) -> int:
    return 100 if label == "T110" else _permille(label)


def _minimum(data: Results, point: str, value: Value) -> tuple[str, bool, bool]:
    """Where the mean is least; whether it falls to there, and rises from there to the end."""
    steps = _steps(data)
    level = {s: data.level(s, value, [point]).mean for s in steps}
    least = min(steps, key=lambda s: level[s])
    down = data.change(least, steps[0], value, [point]).below(0)
    up = data.change(steps[-1], least, value, [point]).above(0)
    return least, down, up


def alike(data: Results) -> str:
    """From which T_block on every run of the sweep is the same as that with the highest."""
    steps = _steps(data)
    names = ("io_ns", "gc_n", "gc_moved", "affected_io_ns")

    def same(step: str) -> bool:
        return all(
            data.entry(p, seed, step)[n] == data.entry(p, seed, steps[-1])[n]
            for p in data.points
            for seed in data.seeds()
            for n in names
        )

    *_, first = takewhile(same, reversed(steps))
    return f"{_permille(first) / 10:.1f} %"


def _why(data: Results, points: list[str], value: Value) -> str:
    first, last = _steps(data, AHEAD)[0], _steps(data, AHEAD)[-1]
    added, runs = (data.change(last, first, v, points).text() for v in (amplification, key("gc_n")))
    tail = [data.change(s, "baseline", value, points).mean for s in (first, last)]
    left = [data.level(s, key("gc_moved"), points).mean for s in (first, last)]
    return (
        "section 4.2 prepares the greedy victim and stops, and free blocks stay at GC's threshold "
        f"or one above it: from T_block {alike(data)} on every run is the same to the nanosecond, "
        "so nothing can rise. The other reading, in which a prepared block counts as free and "
        "PreGC goes on to the next, makes T_block matter, but gives no rise either: from "
        f"{_permille(first) / 10:.1f} to {_permille(last) / 10:.0f} % it costs {added} write "
        f"amplification and {runs} collections, which is what the paper gives as its reason. All "
        "of that is paid while no request is there; a collection then finds "
        f"{left[1]:.1f} pages instead of {left[0]:.1f}, and the tail goes from {tail[0]:+.0f} to "
        f"{tail[1]:+.0f} %. For the tail to rise, pages that move ahead must hold up requests for "
        "longer than the one page that section 4.2 lets them wait for."
    )


def sweep_row(data: Results) -> Row:
    """4e: the sweep of T_block."""
    value = quantile(AFFECTED, 0.99)
    points = [p for p in data.points if p in JUDGED]
    first, last = _steps(data)[0], _steps(data)[-1]
    found = {p: _minimum(data, p, value) for p in points}
    said = "; ".join(
        f"{p}: {data.change(first, 'baseline', value, [p]).mean:+.0f} % at "
        f"{_permille(first) / 10:.0f} %, least at {_permille(least) / 10:.1f} % "
        f"({data.change(least, 'baseline', value, [p]).mean:+.0f} %), at "
        f"{_permille(last) / 10:.0f} % {data.change(last, 'baseline', value, [p]).mean:+.0f} %"
        for p, (least, _, _) in found.items()
    )
    return Row(
        "4e", "99th percentile of the affected requests against T_block",
        "least near 10.75 to 11 %, worse beyond", said,
        all(down and up and _permille(least) > 100 for least, down, up in found.values()),
        "a single minimum above the GC threshold", partial(_why, data, points, value),
    )  # fmt: skip


def combined_rows(data: Results) -> list[Row]:
    """4f: together with GFTL."""
    rows = []
    for metric, value in (
        ("99th percentile", quantile(AFFECTED, 0.99)),
        (f"99.99th percentile of all requests ({ASKED_AFTER})", ALL_TAIL),
    ):
        first, second = (data.change(BOTH, s, value) for s in ("pregc", GFTL))
        alone = ", ".join(
            f"{s} {data.change(s, 'baseline', value).text()}" for s in ("pregc", GFTL)
        )
        rows.append(
            Row("4f", f"{metric}, PreGC and GFTL together", "works together",
                f"{data.change(BOTH, 'baseline', value).text()} ({alone}); against PreGC "
                f"{first.text()}, against GFTL {second.text()}",
                first.high <= 0 and second.high <= 0, "not worse than the better of the two",
                apart=CHANGED_AFTER if ASKED_AFTER in metric else "")
        )  # fmt: skip
    return rows


def _ahead(entry: Entry) -> float:
    """Pages moved ahead of a collection."""
    return float(entry["stats"]["premigrated_units"] / max(1, entry["gc_n"]))


# T_page from 5 % on, under each reading of section 4.2.
READINGS = {
    "as it was chosen": ("P50", "T110", "P150", "P200"),
    "as it is printed": ("B50", PRINTED, "B150", "B200", "B300"),
}


def page_row(data: Results) -> Row:
    """4g: pages that move ahead against T_page (figure 13)."""
    points = [p for p in data.points if p in JUDGED]
    grows, listed = {}, []
    for said, steps in READINGS.items():
        ends = data.paired(
            lambda seed, steps=steps: mean(  # type: ignore[misc]
                [
                    _ahead(data.entry(p, seed, steps[-1])) - _ahead(data.entry(p, seed, steps[0]))
                    for p in points
                ]
            )
        )
        level = [data.level(s, _ahead, points).mean for s in steps]
        grows[said] = ends.above(0) and level == sorted(level)
        listed.append(f"{said}: {' → '.join(f'{n:.1f}' for n in level)} a collection")
    good = [said for said, yes in grows.items() if yes]
    return Row(
        "4g", "pages moved ahead, T_page from 5 to 20 % (30 % as printed)", "more with T_page",
        "; ".join(listed), all(grows.values()), "grows with T_page", of_scheme=False,
        condition=f"section 4.2 is read {', '.join(good)}" if good else "",
        swept=(len(good), len(grows)),
    )  # fmt: skip


def residue_row(data: Results, long: Results) -> Row:
    """4h: pages left for the normal collection, by the length of the pauses."""
    names = list(dict.fromkeys(p.rsplit("-", 1)[0] for p in data.points))

    def left(of: str) -> dict[str, list[float]]:
        return {n: [data.level(of, key("gc_moved"), [f"{n}-{ms}"]).mean for ms in PAUSES]
                for n in names}  # fmt: skip

    apart = {
        n: data.paired(
            lambda seed, n=n: (  # type: ignore[misc]
                data.entry(f"{n}-{PAUSES[0]}", seed, "pregc")["gc_moved"]
                - data.entry(f"{n}-{PAUSES[-1]}", seed, "pregc")["gc_moved"]
            )
        )
        for n in names
    }
    said = ", ".join(
        f"{n} {' → '.join(f'{v:.1f}' for v in each)}" for n, each in left("pregc").items()
    )
    printed = ", ".join(f"{n} {each[0]:.1f}" for n, each in left(PRINTED).items())
    longest = {p: long.level("pregc", key("gc_moved"), [p]).mean for p in long.points}
    return Row(
        "4h", f"pages left for a normal GC, pauses of {', '.join(PAUSES)} ms",
        "10 to 42 (Table 4), 1.0 to 8.2 (Table 5), by idle time",
        f"{said}; with Table 2's pauses {min(longest.values()):.1f} to "
        f"{max(longest.values()):.1f}; as printed, {PAUSES[0]} ms: {printed}",
        all(i.below(0) for i in apart.values()), "fewer with longer pauses on every workload",
    )  # fmt: skip


HM0 = "hm0"


def cliff_rows(flat: Results, high: Results) -> list[Row]:
    """Figures 3, 4 and 5, which are of hm0 alone."""
    peak, moved = key("io_max_ns"), key("gc_moved")

    def times(value: Value) -> Interval:
        return flat.paired(
            lambda seed: (
                value(high.entry(HM0, seed, "baseline")) / value(flat.entry(HM0, seed, "baseline"))
            )
        )

    peaks, pages = times(peak), times(moved)
    return [
        Row("4i", "the slowest request of hm0, 3D against 2D (figures 3, 4)", "far higher",
            peaks.text(" times", sign=False), peaks.above(1), "higher in 3D", of_scheme=False),
        Row("4j", "pages a collection moves on hm0, 3D against 2D (figure 5)", "a sharp increase",
            pages.text(" times", sign=False), pages.above(1), "more in 3D", of_scheme=False),
    ]  # fmt: skip


def ahead_rows(high: Results) -> list[Row]:
    """Figure 9, which is of hm0 alone, and what moves ahead of collections."""
    moved = key("gc_moved")
    base, gftl = (high.change("pregc", s, ALL_TAIL, [HM0]) for s in ("baseline", GFTL))
    ahead = high.level("pregc", _ahead)
    share = high.paired(
        lambda seed: mean(
            [
                _ahead(high.entry(p, seed, "pregc"))
                / max(1e-9, moved(high.entry(p, seed, "baseline"))
                      - moved(high.entry(p, seed, "pregc")))
                for p in high.points
            ]
        )
    )  # fmt: skip
    return [
        Row("4k", "99.99th percentile of hm0, PreGC against Original, GFTL (figure 9)",
            "the cliff is relieved against both", f"{base.text()}, {gftl.text()}",
            base.below(0) and gftl.below(0), "below both"),
        Row("4l", "pages moved ahead, for each that a collection moves less", "more than 1 (5.2.1)",
            f"{share.text('', sign=False, digits=2)}; {ahead.text('', sign=False)} a collection",
            share.above(1), "above 1", of_scheme=False),
    ]  # fmt: skip


ASKED = (
    Asked("4a", "pages migrated in a normal GC", ("drive3d",),
          lambda _, data: [migrated_row(data["drive3d"])]),
    Asked("4b", "99th percentile of requests that GC may affect", ("drive3d",),
          lambda _, data: tail_rows(data["drive3d"])),
    Asked("4c", "write amplification added", ("drive3d",),
          lambda _, data: [amplification_row(data["drive3d"])]),
    Asked("4d", "time of migration : erase, 2D and 3D", ("drive2d", "drive3d"),
          lambda _, data: [ratio_row(data["drive2d"], data["drive3d"])]),
    Asked("4e", "99th percentile against T_block", ("sweep",),
          lambda _, data: [sweep_row(data["sweep"])]),
    Asked("4f", "PreGC and GFTL together", ("drive3d",),
          lambda _, data: combined_rows(data["drive3d"])),
    Asked("4g", "pages moved ahead against T_page", ("sweep",),
          lambda _, data: [page_row(data["sweep"])]),
    Asked("4h", "pages left for a normal GC by pause", ("short", "drive3d"),
          lambda _, data: [residue_row(data["short"], data["drive3d"])]),
    *(Asked(number, "hm0, 3D against 2D (figures 3 to 5)", ("drive2d-hm0", "drive3d"),
            lambda _, data, i=i: [cliff_rows(data["drive2d-hm0"], data["drive3d"])[i]])  # type: ignore[misc]
      for i, number in enumerate(("4i", "4j"))),
    *(Asked(number, "figure 9, pages moved ahead", ("drive3d",),
            lambda _, data, i=i: [ahead_rows(data["drive3d"])[i]])  # type: ignore[misc]
      for i, number in enumerate(("4k", "4l"))),
)  # fmt: skip


def rows(paper: spec.Paper, data: Data) -> list[Row]:
    """All rows, in the order of their numbers."""
    return asked_rows(ASKED, paper, data)


def _sweep(sweep: Results, name: str, steps: dict[str, str], shares: Sequence[float]) -> list[str]:
    """A line for each step: tails against baseline, and write amplification."""
    tails = ", ".join(f"{100 * q:.0f} %" for q in shares)
    return table(
        (name, *(f"{p}: {tails}, write amplification" for p in sweep.points)),
        [(said,
          *(", ".join(sweep.change(s, "baseline", quantile(AFFECTED, q), [p]).text()
                      for q in shares)
            + f", {sweep.change(s, 'baseline', amplification, [p]).mean:+.1f} %"
            for p in sweep.points))
         for s, said in steps.items()],
    )  # fmt: skip


def _sweeps(sweep: Results) -> list[str]:
    """Figures 12 and 13."""
    blocks = {
        kind: {s: f"{_permille(s) / 10:.1f} %" for s in _steps(sweep, kind)}
        for kind in (READING, AHEAD)
    }
    pages = {s: f"{_t_page(s) / 10:.0f} %" for s in _steps(sweep, PAGE)}
    return [
        "", "## T_block", "", "As section 4.2 reads: one block of a plane is prepared.", "",
        *_sweep(sweep, "T_block", blocks[READING], (0.99,)),
        "", "`look_ahead=1`: a block within T_page counts as free.", "",
        *_sweep(sweep, "T_block", blocks[AHEAD], (0.99,)),
        "", "## T_page", "",
        "T_block is 11 %. Figure 13: \"the 99th tail latency increases as the value of T_page "
        "increases\".", "",
        *_sweep(sweep, "T_page", pages, (0.95, 0.99)), "",
    ]  # fmt: skip


def details(paper: spec.Paper, data: dict[str, Results]) -> list[str]:
    """Tables by workload, by scheme and of T_block."""
    high, flat, sweep = data["drive3d"], data["drive2d"], data["sweep"]
    body: list[Sequence[str]] = []
    for p in high.points:
        printed = paper.published["workloads"].get(p)
        share = mean(
            [
                100 * high.entry(p, s, "baseline")[f"{AFFECTED}_n"]
                / high.entry(p, s, "baseline")["io_n"]
                for s in high.seeds()
            ]
        )  # fmt: skip
        body.append(
            (p, f"{printed['without']}, {printed['with']}" if printed else "–",
             ", ".join(f"{high.level(s, key('gc_moved'), [p]).mean:.1f}"
                       for s in ("baseline", "pregc")),
             f"{share:.1f} %",
             *(high.change("pregc", "baseline", quantile(AFFECTED, q), [p]).text(digits=0)
               for q in (0.95, 0.99)),
             high.change("pregc", "baseline", amplification, [p]).text(digits=2))
        )  # fmt: skip
    lines = ["## By workload", "", "PreGC against baseline, the 3D drive.", ""]
    lines += table(
        ("workload", "pages a GC: paper", "here", "affected", "95 %", "99 %",
         "write amplification"), body,
    )  # fmt: skip
    lines += ["", "## All schemes", ""]
    lines += table(
        ("scheme", "pages a GC", "affected requests, mean", "95 %", "99 %", "write amplification",
         "all requests, mean"),
        [(s.label, high.level(s.label, key("gc_moved")).text("", sign=False),
          *(high.change(s.label, "baseline", v).text()
            for v in (key(f"{AFFECTED}_ns"), quantile(AFFECTED, 0.95), quantile(AFFECTED, 0.99),
                      amplification, key("io_ns"))))
         for s in high.experiment.schemes[1:]],
    )  # fmt: skip
    lines += _sweeps(sweep)
    erase = {
        name: device_key(r.experiment.device, "timing", "erase_ns") / 1e6
        for name, r in (("2D", flat), ("3D", high))
    }
    lines += [
        "",
        f"An erase takes {erase['2D']:.1f} ms (2D) and {erase['3D']:.1f} ms (3D); `usr0-busy` "
        "has pauses of 25 ms (what moves after its last request is in its write amplification).",
        "",
        *(f"![{title}](pregc-{name}.svg)" for name, title in FIGURES),
    ]
    return lines


FIGURES = (
    ("migrated", "Table 4: pages migrated in a normal GC"),
    ("tail", "figure 10: 99th percentile of the requests that GC may affect"),
    ("amplification", "figure 11: write amplification"),
    ("sweep", "figure 12: 99th percentile against T_block, one block of a plane prepared"),
)


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """Table 4 and figures 10 to 12."""
    from scarplib.reproduce import figures as draw

    high, sweep = data["drive3d"], data["sweep"]
    value = quantile(AFFECTED, 0.99)
    draw.bars(
        folder / "pregc-migrated.svg", high.points, "pages in a collection",
        {s: [high.level(s, key("gc_moved"), [p]).mean for p in high.points]
         for s in ("baseline", "pregc")},
    )  # fmt: skip
    draw.bars(
        folder / "pregc-tail.svg", high.points, "99th percentile, % of baseline",
        {s: [100 + high.change(s, "baseline", value, [p]).mean for p in high.points]
         for s in (GFTL, "pregc", BOTH)},
    )  # fmt: skip
    draw.bars(
        folder / "pregc-amplification.svg", high.points, "write amplification",
        {s: [high.level(s, amplification, [p]).mean for p in high.points]
         for s in ("baseline", "pregc")},
    )  # fmt: skip
    steps = _steps(sweep)
    draw.curves(
        folder / "pregc-sweep.svg", [_permille(s) / 10 for s in steps],
        "T_block, % of a plane's blocks",
        "99th percentile, % of baseline",
        {p: [100 + sweep.change(s, "baseline", value, [p]).mean for s in steps]
         for p in sweep.points},
    )  # fmt: skip


def directions(data: dict[str, Results]) -> list[tuple[str, bool]]:
    """What few workloads and seeds can say."""
    high, flat = data["drive3d"], data["drive2d"]
    value = quantile(AFFECTED, 0.99)
    moved = high.change("pregc", "baseline", key("gc_moved"))
    added = high.change("pregc", "baseline", amplification)
    two, three = _migration_to_erase(flat), _migration_to_erase(high)
    return [
        ("4a: PreGC leaves a normal GC fewer pages", moved.mean < -20),
        ("4b: the tail falls", high.change("pregc", "baseline", value).mean < -10),
        ("4c: write amplification hardly rises", added.mean < 3),
        ("4d: migration weighs more in 3D",
         high.level("baseline", three).mean > flat.level("baseline", two).mean),
        ("4f: with GFTL not worse than alone", high.change(BOTH, GFTL, value).mean <= 0),
    ]  # fmt: skip
