# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and values of the HIOS experiments."""

from __future__ import annotations

from scarplib.reproduce.results import Data, Entry, Results, Value

# The paper's names of what ftl.mapping calls so.
FTLS = {
    "page": "page mapping (not in the paper)",
    "block": "B-FTL",
    "superblock": "H-FTL",
}
HIOS = "hios-2"
OTHERS = ("noop", "anticipatory", "deadline", "flash-aware")
DEADLINE_MS = 30
# Tenths of the drive in use: below 40 %, and full.
EARLY, FULL = slice(0, 4), slice(9, 10)
# What of the conventional schedulers is printed: percent missed below 40 % in use, and full.
EARLY_BAND = (1.0, 4.0)
FULL_BAND = {"MLC": (65.0, 80.0), "SLC": (15.0, 30.0)}
KINDS = tuple(FULL_BAND)
# Requests outstanding in the closed loops.
DEPTHS = (1, 2, 4, 8)
HPC = ("hpio2", "hpio4", "hpio8", "ior")
# Queue entries: the scheme's label.
QUEUE = {2: "q2", 8: "q8", 32: "d30", 64: "q64"}
SETTINGS = ("random", "sequential")


def of_ftl(data: Results, ftl: str) -> list[str]:
    """The points that ran on this mapping."""
    return [p for p in data.points if ftl in p.split("-")]


def ftls(data: Results) -> list[str]:
    """The mappings that were run."""
    return [ftl for ftl in FTLS if of_ftl(data, ftl)]


def below(data: Data, ftl: str) -> Results:
    """Writes below a superpage on this mapping."""
    return data["superpage" if ftl == "page" else "superpage-merging"]


def share(ms: int) -> Value:
    """Percent of the requests that took longer."""
    return lambda entry: 100 * float(entry["beyond"][str(ms)]) / entry["io_n"]


def beyond(data: Results, scheme: str, point: str, ms: int) -> float:
    """The same, mean over the seeds."""
    return data.level(scheme, share(ms), [point]).mean


def filled(part: slice) -> Value:
    """Percent of the requests in these tenths of the drive in use that missed 30 ms."""
    return lambda entry: 100 * sum(entry["use_late"][part]) / max(1, sum(entry["use_n"][part]))


def when_full(ms: int) -> Value:
    """Percent of the requests on the full drive that took longer."""
    return lambda entry: 100 * float(entry["full_beyond"][str(ms)]) / max(1, entry["use_n"][-1])


def missed_full(data: Results, scheme: str, point: str, ms: int) -> float:
    """The same, mean over the seeds."""
    return data.level(scheme, when_full(ms), [point]).mean


def filling(data: Data, kind: str) -> Results:
    """The run from an empty drive to a full one."""
    return data[f"filling-{kind.lower()}"]


def conventional(data: Results, part: slice) -> float:
    """Of the schedulers that know of no collection, the worst one's percent missed."""
    return max(data.level(s, filled(part)).mean for s in OTHERS)


def loads(data: Data, kind: str) -> dict[str, Results]:
    """The ways in which the drive was filled, by what they are called."""
    of = {"open loop": f"filling-{kind.lower()}"}
    of |= {f"{depth} outstanding": f"closed-{kind.lower()}-{depth}" for depth in DEPTHS}
    return {said: data[name] for said, name in of.items() if name in data}


def _outside(value: float, band: tuple[float, float]) -> float:
    return max(band[0] - value, value - band[1], 0)


def distance(data: Data, load: str) -> float:
    """Points by which the conventional schedulers miss what is printed of them, on both drives."""
    total = 0.0
    for kind, band in FULL_BAND.items():
        of = loads(data, kind)[load]
        total += _outside(conventional(of, EARLY), EARLY_BAND)
        total += _outside(conventional(of, FULL), band)
    return total


def nearest_load(data: Data) -> str:
    """The load, the same on both drives, that comes nearest to the paper's comparators."""
    return min(loads(data, KINDS[0]), key=lambda load: distance(data, load))


def not_met(data: Data) -> str:
    """Why no load is the paper's; empty: the conventional schedulers do as it prints under one."""
    if distance(data, nearest_load(data)) == 0:
        return ""
    said = []
    for load in loads(data, KINDS[0]):
        each = ", ".join(
            f"{kind} {conventional(of, EARLY):.1f} and {conventional(of, FULL):.1f} %"
            for kind, of in ((kind, loads(data, kind)[load]) for kind in KINDS)
        )
        said.append(f"{load}: {each}")
    return (
        "no load of those tried gives the conventional schedulers what the paper prints of them "
        f"(1 to 4 % below 40 % in use; full 65 to 80 % and 15 to 30 %): {'; '.join(said)}"
    )


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
