# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and values of the HIOS experiments."""

from __future__ import annotations

from scarplib.reproduce.results import Entry, Results, Value

# The paper's names of what ftl.mapping calls so.
FTLS = {
    "page": "page mapping (not in the paper)",
    "block": "B-FTL",
    "superblock": "H-FTL",
}
HIOS = "hios-2"
OTHERS = ("noop", "anticipatory", "deadline", "flash-aware")
DEADLINE_MS = 30
# Permille of the drive in use that is called full.
FULL = 900
# Queue entries: the scheme's label.
QUEUE = {2: "q2", 8: "q8", 32: "d30", 64: "q64"}
SETTINGS = ("random", "sequential")


def of_ftl(data: Results, ftl: str) -> list[str]:
    """The points that ran on this mapping."""
    return [p for p in data.points if ftl in p.split("-")]


def ftls(data: Results) -> list[str]:
    """The mappings that were run."""
    return [ftl for ftl in FTLS if of_ftl(data, ftl)]


def below(data: dict[str, Results], ftl: str) -> Results:
    """Writes below a superpage on this mapping."""
    return data["superpage" if ftl == "page" else "superpage-merging"]


def share(ms: int) -> Value:
    """Percent of the requests that took longer."""
    return lambda entry: 100 * float(entry["beyond"][str(ms)]) / entry["io_n"]


def beyond(data: Results, scheme: str, point: str, ms: int) -> float:
    """The same, mean over the seeds."""
    return data.level(scheme, share(ms), [point]).mean


def most(data: Results, scheme: str, point: str, ms: int) -> int:
    """The most of any seed."""
    return max(int(data.entry(point, seed, scheme)["beyond"][str(ms)]) for seed in data.seeds())


def write_ns(entry: Entry) -> float:
    """Mean latency of the writes, also where no log was kept."""
    stats = entry["stats"]
    return float(stats["write_latency_sum_ns"] / stats["writes"])


def late_causes(data: Results, scheme: str, points: list[str]) -> list[tuple[str, float]]:
    """Percent of the time of those beyond 30 ms, the largest first."""
    total: dict[str, int] = {}
    for point in points:
        for seed in data.seeds():
            for name, ns in data.entry(point, seed, scheme)["late_causes_ns"].items():
                total[name] = total.get(name, 0) + ns
    all_ns = sum(total.values())
    found = [(name, 100 * ns / all_ns) for name, ns in total.items() if ns]
    return sorted(found, key=lambda pair: -pair[1])
