# SPDX-License-Identifier: GPL-2.0-or-later
"""ParaGC's open parameters, swept: for which share of the settings a row holds, and a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Results, Value

# A setting's parameters but for lambda: how it is called.
LINES = {
    "start=0": "even spread",
    "start=1": "from the victim's channel",
    "start=2": "random spread",
    "slot=10000": "ring of 0.16 s",
    "slot=1000000": "ring of 16 s",
    "width=2441": "sketch of a tenth",
    "width=244120": "sketch ten times as wide",
    "decay=10000": "decay every 10,000 reads",
    "decay=1000000": "decay every 1,000,000 reads",
}
Metrics = Sequence[tuple[str, str, Value]]


def settings(data: Results) -> list[str]:
    """The labels of what was swept."""
    return [label for label in data.labels() if label.startswith("iterations=")]


def rounds(data: Results) -> list[int]:
    """Every lambda."""
    return sorted({int(s.split(",")[0].split("=")[1]) for s in settings(data)})


def holds(data: Results, label: str, value: Value, band: int) -> bool:
    """As rows 2a to 2c have it."""
    return (
        data.change(label, "baseline", value).high <= -band
        and data.change(label, "gc-z", value).below(0)
    )  # fmt: skip


def share(data: Results, value: Value, band: int) -> tuple[int, int]:
    """In how many of the settings it holds, and how many there are."""
    every = settings(data)
    return sum(holds(data, label, value, band) for label in every), len(every)


def condition(data: Results, value: Value, band: int) -> str:
    """For how many settings, and up to which lambda; empty: for all."""
    every = settings(data)
    good = [label for label in every if holds(data, label, value, band)]
    if len(good) == len(every):
        return ""
    said = f"it holds for {len(good)} of the {len(every)} settings swept"
    for name, text in list(LINES.items())[:3]:
        mine = [n for n in rounds(data) if f"iterations={n},{name}" in good]
        all_ = rounds(data)
        where = (
            "no λ" if not mine else "every λ" if mine == all_
            else f"λ = {mine[0]}" if len(mine) == 1 else f"λ from {mine[0]} to {mine[-1]}"
        )  # fmt: skip
        said += f"; {text}: {where}"
    return said


def details(data: Results, metrics: Metrics) -> list[str]:
    """A table for each metric: percent of Baseline."""
    out: list[str] = []

    def percent(label: str, value: Value) -> str:
        return f"{100 + data.change(label, 'baseline', value).mean:.1f}"

    for _, metric, value in metrics:
        out += [
            f"{metric[0].upper()}{metric[1:]}, percent of Baseline's; "
            f"GC-Z {percent('gc-z', value)}:",
            "",
            *table(
                ("λ", *(str(n) for n in rounds(data))),
                [
                    (text, *(percent(f"iterations={n},{name}", value) for n in rounds(data)))
                    for name, text in LINES.items()
                ],
            ),
            "",
        ]  # fmt: skip
    return out[:-1]


def figure(path: Path, data: Results, metrics: Metrics) -> None:
    """A map for each metric, GC-Z and Baseline as lines of it."""
    from scarplib.reproduce import figures as draw

    all_ = rounds(data)
    maps = []
    for _, metric, value in metrics:
        gc_z = 100 + data.change("gc-z", "baseline", value).mean
        rows = {
            text: [
                100 + data.change(f"iterations={n},{name}", "baseline", value).mean for n in all_
            ]
            for name, text in LINES.items()
        }
        rows["GC-Z"] = [gc_z] * len(all_)
        rows["Baseline"] = [100.0] * len(all_)
        maps.append((metric, rows))
    draw.heat(path, [str(n) for n in all_], "λ, the limit of Algorithm 1's rounds", maps)
