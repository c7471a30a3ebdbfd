# SPDX-License-Identifier: GPL-2.0-or-later
"""Every scheme and mapping on one drive: who dominates whom, and how far that holds.

No paper says what comes out, so there are no rows that hold or do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.markdown import table
from scarplib.reproduce.results import Asked, Entry, Results, Value, amplification, key
from scarplib.sweep.intervals import Interval

SUBJECTS: tuple[str, ...] = ()
COMPARATORS: tuple[str, ...] = ()
CONDITIONS: dict[str, str] = {}
JUDGED_BY: tuple[str, ...] = ()
# Neither competes: one collects in no time, the other is the baseline again.
BESIDE = ("ideal", "control")
SETTINGS = (
    "base",
    "spare-15",
    "spare-30",
    "depth-1",
    "depth-64",
    "writes-20",
    "writes-80",
    "pauses",
)
CALLED = {
    "base": "20 % spare, 16 outstanding, 50 % writes",
    "spare-15": "15 % spare",
    "spare-30": "30 % spare",
    "depth-1": "1 outstanding",
    "depth-64": "64 outstanding",
    "writes-20": "20 % writes",
    "writes-80": "80 % writes",
    "pauses": "bursts of 16, 200 ms apart",
}
# A difference that counts, percent.
SOME = 1.0


def latency(op: str, name: str) -> Value:
    """ns."""
    return lambda entry: float(max(1, entry["stats"][f"{op}_latency"][name]))


def copied(entry: Entry) -> float:
    """Pages that a scheme programs for each of the host's, parity and map included."""
    return amplification(entry) - 1


def space(entry: Entry) -> float:
    """Percent of the flash that the host can use."""
    return float(100 * entry["stats"]["logical_bytes"] / entry["stats"]["raw_bytes"])


def erases(entry: Entry) -> float:
    """Of blocks, for each thousand pages of the host's."""
    stats = entry["stats"]
    return float(1000 * stats["erases"] / max(1, stats["host_page_programs"]))


READS, WRITES = latency("read", "p99_9_ns"), latency("write", "p99_9_ns")
RATE = key("requests_per_s")
# What is compared, and whether less of it is better.
GOALS: tuple[tuple[str, Value, bool], ...] = (
    ("reads' p99.9", READS, True),
    ("writes' p99.9", WRITES, True),
    ("requests a second", RATE, False),
    ("write amplification", amplification, True),
)


def at(data: dict[str, Results], setting: str) -> Results:
    """The results of one setting, as if they were an experiment."""
    if setting in data:
        return data[setting]
    main = data["main"]
    point = f"half-{setting}"
    return replace(main, cells={point: main.cells[point]})


def competing(data: Results) -> list[str]:
    """All that may dominate, or be dominated."""
    return [label for label in data.labels() if label not in BESIDE]


def _gains(data: Results, one: str, other: str) -> list[Interval]:
    """Percent by which one is better in each goal; negative: worse."""
    out = []
    for _, value, less in GOALS:
        found = data.change(one, other, value)
        out.append(Interval(-found.mean, -found.high, -found.low, found.n) if less else found)
    return out


def dominates(data: Results, one: str, other: str) -> bool:
    """Worse in none of the four, and better in one by more than a percent."""
    gains = _gains(data, one, other)
    return not any(g.below(0) for g in gains) and any(g.above(SOME) for g in gains)


def front(data: Results) -> list[str]:
    """Those that nobody dominates."""
    names = competing(data)
    return [n for n in names if not any(dominates(data, other, n) for other in names if other != n)]


def ranks(data: Results, value: Value) -> dict[str, int]:
    """1: the best."""
    ordered = sorted(competing(data), key=lambda label: data.level(label, value).mean)
    return {label: number for number, label in enumerate(ordered, 1)}


def agreement(one: dict[str, int], other: dict[str, int]) -> float:
    """Kendall's tau of two orders: 1: the same, -1: turned round."""
    names = list(one)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    same = sum((one[a] < one[b]) == (other[a] < other[b]) for a, b in pairs)
    return 2 * same / len(pairs) - 1 if pairs else 1.0


# No paper has claimed anything of this.
ASKED: tuple[Asked, ...] = ()


def _ms(data: Results, label: str, op: str) -> str:
    names = ("p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns")
    return ", ".join(f"{data.level(label, latency(op, n)).mean / 1e6:.2f}" for n in names)


def _measured(data: Results) -> list[str]:
    mine = front(data)
    return table(
        ("scheme", "reads: p50, p99, p99.9, p99.99, ms", "writes", "requests a second",
         "write amplification", "its own programs a page", "erases a thousand pages",
         "flash that is the host's", ""),
        [
            (f"`{label}`", _ms(data, label, "read"), _ms(data, label, "write"),
             data.level(label, RATE).text("", sign=False, digits=0),
             data.level(label, amplification).text("", sign=False, digits=2),
             f"{data.level(label, copied).mean:.2f}", f"{data.level(label, erases).mean:.1f}",
             f"{data.level(label, space).mean:.1f} %",
             "nobody dominates it" if label in mine else "" if label not in BESIDE else "beside")
            for label in data.labels()
        ],
    )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _dominated(data: Results) -> list[str]:
    names = competing(data)
    body = []
    for label in names:
        by = [other for other in names if other != label and dominates(data, other, label)]
        over = [other for other in names if other != label and dominates(data, label, other)]
        body.append((f"`{label}`", _listed(over), _listed(by)))
    return table(("scheme", "dominates", "is dominated by"), body)


def unmoved(data: Results) -> list[str]:
    """Those under which every request takes as long as under the baseline, in every seed."""

    def same(label: str) -> bool:
        return all(
            data.entry(point, seed, label)["stats"][f"{op}_latency"]
            == data.entry(point, seed, "baseline")["stats"][f"{op}_latency"]
            for point in data.points
            for seed in data.seeds()
            for op in ("read", "write")
        )

    return [label for label in competing(data) if label != "baseline" and same(label)]


def _settings(data: dict[str, Results]) -> list[str]:
    body: list[Sequence[str]] = []
    base = {name: ranks(at(data, "base"), value) for name, value, _ in GOALS[:2]}
    for setting in SETTINGS:
        of = at(data, setting)
        order = [f"{agreement(base[name], ranks(of, value)):+.2f}" for name, value, _ in GOALS[:2]]
        body.append((CALLED[setting], _listed(front(of)), *order))
    head = ("setting", "whom nobody dominates", "order by reads' p99.9", "by writes' p99.9")
    return table(head, body)


def details(_: spec.Paper, data: dict[str, Results]) -> list[str]:
    """What was measured, who dominates whom, and how that changes."""
    base = at(data, "base")
    return [
        f"## {CALLED['base']}", "", *_measured(base), "",
        f"Every latency is that of `baseline`, in every seed: {_listed(unmoved(base))}. A host "
        "queue can only reorder what waits in it, and a closed loop leaves no idle time. What is "
        "moved in idle time after the last request is in the write amplification.", "",
        "## Who dominates whom", "",
        "Worse in none of reads' p99.9, writes' p99.9, requests a second and write amplification, "
        f"and better in one by more than {SOME:.0f} %, by paired 95 % intervals.", "",
        *_dominated(base), "",
        "## With other drives and loads", "",
        "The two last columns are Kendall's tau between the order there and in the first line: 1 "
        "is the same order, 0 none in common, -1 the reverse.", "",
        *_settings(data), "",
        *(f"![{title}](all-together-{name}.svg)" for name, title in FIGURES),
    ]  # fmt: skip


FIGURES = (
    ("front", "reads' p99.9 by requests a second; a ring: nobody dominates it"),
    ("order", "reads' p99.9 in each setting, percent of baseline's"),
)


def figures(_: spec.Paper, data: dict[str, Results], folder: Path) -> None:
    """The front, and how the order changes."""
    from scarplib.reproduce import figures as draw

    base = at(data, "base")
    draw.front(
        folder / "all-together-front.svg",
        {s: (base.level(s, RATE).mean, base.level(s, READS).mean / 1e6) for s in base.labels()},
        front(base), "requests a second", "reads' 99.9th percentile, ms",
    )  # fmt: skip
    changing = [s for s in competing(base) if s != "baseline"]
    draw.changes(
        folder / "all-together-order.svg", [CALLED[setting] for setting in SETTINGS],
        {s: [100 + at(data, setting).change(s, "baseline", READS).mean for setting in SETTINGS]
         for s in changing},
        "reads' 99.9th percentile, % of baseline's with the same drive and load",
    )  # fmt: skip


def directions(_: dict[str, Results]) -> list[tuple[str, bool]]:
    """Nothing is claimed."""
    return []
