# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep's report: for each drive a table and a picture, with intervals over the seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scarplib.results import host_rows, html_page
from scarplib.results.html_page import Picture
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import latency_axis, style
from scarplib.results.table import columns
from scarplib.results.units import human_ns
from scarplib.sweep.intervals import interval

# By seed, what `scarp compare` or `scarp replay` has summed up.
Seeds = dict[int, dict[str, Any]]
Scheme = dict[str, Any]
_LATENCIES = ("mean", "p50", "p99", "p99.9", "max")
_DRAWN = ("p50", "p99", "p99.9")
# Rows of the picture, a kind of work each.
_MOST_DRAWN = 8
Value = Callable[[Scheme], float | None]


def _latency(unit: str, of: str, key: str) -> Callable[[Scheme], float | None]:
    """`unit`: a group of the job's, or "" for all of it together."""
    return lambda scheme: (host_rows.units(scheme).get(unit, {}).get(of) or {}).get(key)


def _operation(name: str, key: str) -> Callable[[Scheme], float | None]:
    def value(scheme: Scheme) -> float | None:
        found: float | None = scheme["script"]["operations"].get(name, {}).get(key)
        return found

    return value


def metrics(schemes: list[Scheme]) -> Iterator[tuple[str, str, Callable[[Scheme], float | None]]]:
    """(what, which, value of it) that at least one of the schemes has; of latencies ns."""
    for unit, of in host_rows.populations(schemes):
        label = host_rows.label(schemes, unit, of)
        for name in _LATENCIES:
            value = _latency(unit, of, f"{name}_ns")
            if any(value(scheme) is not None for scheme in schemes):
                yield label, name, value
    names = {n for s in schemes for n in s.get("script", {}).get("operations", {})}
    for operation in sorted(names):
        for name in _LATENCIES:
            yield f"{operation} (the script's)", name, _operation(operation, f"{name}_ns")
    yield "drive", "write amplification", lambda scheme: scheme["write_amplification"]
    yield "drive", "GC runs", lambda scheme: scheme["gc_runs"]


def _values(seeds: Seeds, name: str, value: Callable[[Scheme], float | None]) -> list[float | None]:
    return [value(s["schemes"][name]) if name in s["schemes"] else None for s in seeds.values()]


def _text(value: float, what: str) -> str:
    if what == "write amplification":
        return f"{value:.3f}"
    return f"{value:,.0f}" if what == "GC runs" else human_ns(value)


def _said(values: list[float], what: str) -> str:
    """The mean and its interval; of an interval that goes below nothing, the seeds' range."""
    found = interval(values)
    if found.n < 2:
        return _text(found.mean, what)
    half = (found.high - found.low) / 2
    if half > found.mean:
        return f"{_text(min(values), what)} to {_text(max(values), what)}"
    return f"{_text(found.mean, what)} ± {_text(half, what)}"


def _change(values: list[float | None], first: list[float | None]) -> str:
    """Percent, paired by seed."""
    pairs = [(v, f) for v, f in zip(values, first, strict=True) if v is not None and f]
    if not pairs:
        return "–"
    changes = [100 * (v / f - 1) for v, f in pairs]
    found = interval(changes)
    if found.n < 2:
        return f"{found.mean:+.1f} %"
    # Wider than the whole of what is compared with: an interval that says nothing.
    if found.high - found.low > 200:
        return f"{min(changes):+.0f} to {max(changes):+.0f} %"
    return found.text()


def names_of(seeds: Seeds) -> list[str]:
    """The columns, in the order in which they were asked for."""
    return list(dict.fromkeys(name for summary in seeds.values() for name in summary["schemes"]))


def rows(seeds: Seeds) -> list[tuple[str, list[str]]]:
    """A drive's: the mean over the seeds, its interval, and the change against the first column."""
    names = names_of(seeds)
    out: list[tuple[str, list[str]]] = []
    last = ""
    every = [scheme for summary in seeds.values() for scheme in summary["schemes"].values()]
    for label, what, value in metrics(every):
        if label != last:
            out.append((label, []))
            last = label
        found = {name: _values(seeds, name, value) for name in names}
        cells = []
        for name in names:
            there = [v for v in found[name] if v is not None]
            cells.append(_said(there, what) if there else "–")
        out.append((f"  {what}", cells))
        if len(names) > 1 and what != "GC runs":
            first = found[names[0]]
            changes = [_change(found[name], first) for name in names[1:]]
            out.append((f"    against {names[0]}", ["", *changes]))
    return out


def _draw(axes: Axes, seeds: Seeds, names: list[str], value: Value) -> None:
    """Each seed a point, and the mean's interval beside them, a place for each column."""
    look = looks(names)
    for column, name in enumerate(names):
        values = [v for v in _values(seeds, name, value) if v is not None]
        if not values:
            continue
        colour = look[name].colour
        axes.plot([column] * len(values), values, "o", color=colour, alpha=0.35, markersize=5)
        if len(values) > 1:
            found = interval(values)
            low = max(0.0, found.low)
            axes.plot([column + 0.2] * 2, [low, found.high], color=colour, linewidth=2)
            axes.plot([column + 0.2], [found.mean], "_", color=colour, markersize=12)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_xlim(-0.5, len(names) - 0.3)
    axes.set_ylim(bottom=0)
    latency_axis(axes.yaxis)


def figure(seeds: Seeds) -> Figure | None:
    """A row for each kind of work that there was: reads, writes, fsyncs; by group, if they took
    turns."""
    names = names_of(seeds)
    every = [scheme for summary in seeds.values() for scheme in summary["schemes"].values()]
    drawn = []
    for unit, of in host_rows.populations(every)[:_MOST_DRAWN]:
        points = [
            p for p in _DRAWN if any(_latency(unit, of, f"{p}_ns")(s) is not None for s in every)
        ]
        if points:
            drawn.append((unit, of, points))
    if not drawn:
        return None
    size = (4.2 * len(_DRAWN), 3.6 * len(drawn))
    made, rows = plt.subplots(
        len(drawn), len(_DRAWN), figsize=size, squeeze=False, layout="constrained"
    )
    for all_axes, (unit, of, points) in zip(rows, drawn, strict=True):
        for axes, percentile in zip(all_axes, _DRAWN, strict=True):
            if percentile not in points:
                axes.set_visible(False)
                continue
            _draw(axes, seeds, names, _latency(unit, of, f"{percentile}_ns"))
            axes.set_title(f"{host_rows.label(every, unit, of)}: {percentile}", fontsize=10)
    return made


def matrix(seeds: Seeds) -> tuple[list[str], list[tuple[str, list[str]]]] | None:
    """The 99.9th percentiles again, schemes as columns and a row for each file system; None with
    only one.  `best` is the scheme whose mean over the seeds is the least."""
    at: dict[tuple[str, str], str] = {}
    for summary in seeds.values():
        for column, scheme in summary["schemes"].items():
            if of := scheme.get("file_system"):
                at[of["name"], column.removeprefix(f"{of['name']}-")] = column
    systems, schemes = (list(dict.fromkeys(key[n] for key in at)) for n in (0, 1))
    if len(systems) < 2:
        return None
    every = [scheme for summary in seeds.values() for scheme in summary["schemes"].values()]
    out: list[tuple[str, list[str]]] = []
    for unit, of in host_rows.populations(every):
        value = _latency(unit, of, "p99.9_ns")
        out.append((f"{host_rows.label(every, unit, of)}: p99.9", []))
        for system in systems:
            cells, means = [], {}
            for scheme in schemes:
                column = at.get((system, scheme))
                found = _values(seeds, column, value) if column else []
                there = [v for v in found if v is not None]
                cells.append(_said(there, "p99.9") if there else "–")
                if there:
                    means[scheme] = interval(there).mean
            best = min(means, key=means.__getitem__) if len(set(means.values())) > 1 else "–"
            out.append((f"  {system}", [*cells, best]))
    return [*schemes, "best"], out


def _csv(there: dict[str, Seeds]) -> str:
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")
    out.writerow(("device", "seed", "column", "of", "metric", "value"))
    for device, seeds in there.items():
        for seed, summary in seeds.items():
            for name, scheme in summary["schemes"].items():
                for label, what, value in metrics([scheme]):
                    if (number := value(scheme)) is not None:
                        out.writerow((device, seed, name, label, what, number))
    return stream.getvalue()


@dataclass(frozen=True)
class _Drive:
    """What the page has of one: its name, its table, its picture, file systems by schemes."""

    words: str
    numbers: tuple[list[str], list[tuple[str, list[str]]]]
    picture: Picture | None
    matrix: tuple[list[str], list[tuple[str, list[str]]]] | None


def _picture(out: Path, device: str, seeds: Seeds) -> Picture | None:
    made = figure(seeds)
    if not made:
        return None
    path = out / f"{Path(device).stem}.png"
    made.savefig(path)
    plt.close(made)
    text = "A point is a seed; beside the points is their mean's 95 % interval."
    return f"{Path(device).name}, in a picture", text, path.read_bytes()


def write(out: Path, there: dict[str, Seeds]) -> str:
    """report.html, sweep.csv and a picture for each drive; returns the tables as text."""
    style()
    (out / "sweep.csv").write_text(_csv(there))
    first = next(iter(next(iter(there.values())).values()))
    lead = (
        f"{first['job']}, each seed another drive and ageing. Means over the seeds with 95 % "
        "intervals (Student's t); changes are paired by seed."
    )
    drives, texts = [], []
    for device, seeds in there.items():
        words = f"{Path(device).name}: {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
        texts.append(f"{words}\n{columns(names_of(seeds), rows(seeds))}")
        both = matrix(seeds)
        if both:
            texts.append(columns(*both))
        drives.append(
            _Drive(words, (names_of(seeds), rows(seeds)), _picture(out, device, seeds), both)
        )
    page = html_page.render("sweep.html", title="Scarp: a sweep", lead=lead, drives=drives)
    (out / "report.html").write_text(page)
    return "\n\n".join(texts)
