# SPDX-License-Identifier: GPL-2.0-or-later
"""hpdc18: what stands beside the rows, from what the runs counted."""

from __future__ import annotations

from collections.abc import Mapping

from scarplib.reproduce.results import Entry, Results, Value, key, utilisation
from scarplib.sweep.intervals import mean

SCHEMES = ("gc-par", "gc-vic")
HIGH = ("hm_0", "prxy_0", "mds_0", "src2_0", "stg_0", "ts_0", "wdev_0", "rsrch_0")


def level(data: Results, scheme: str, value: Value, points: list[str]) -> float:
    return data.level(scheme, value, points).mean


def waiting(data: Results, points: list[str]) -> float:
    """Writes that wait for a collection, for each page that it moves."""
    return level(
        data,
        "baseline",
        lambda e: e["affected_write_n"] / (e["gc_n"] * e["gc_moved"]),
        points,
    )


def sharing(data: Results) -> str:
    """What decides how much of a collection a sibling's writes can share."""
    groups = {
        said: [p for p in data.points if (p in HIGH) == high]
        for said, high in (("High", True), ("low", False))
    }
    each = "; ".join(
        f"{said}-GC workloads: a collection moves "
        f"{level(data, 'baseline', key('gc_moved'), g):.0f} pages, {waiting(data, g):.2f} affected "
        f"writes a page, {level(data, 'gc-par', utilisation, g):.1f} % under GC-PAR"
        for said, g in groups.items()
        if g
    )
    return (
        "a collection's program shares its time with a write only as long as writes wait for the "
        f"die's other planes. {each}. What moves follows from Table 2's shares of requests and the "
        'bound on the channel; the table under "Density" has one workload with bursts of other '
        "densities."
    )


def control(data: Results, name: str, what: str) -> str:
    """How much of a change is that collections come at other times."""
    control = data.change("control", "baseline", key(name))
    against = data.change("gc-par", "control", key(name))
    return (
        "these requests are the ones that met a collection under `baseline`, and under any other "
        "course of events many of them do not: on the same drive aged with another seed, "
        f"`baseline` itself gives {control.text()} for these {what}. GC-PAR against that: "
        f"{against.text()}. If the paper fixed its requests so, this is in its figures too."
    )


def _time(entry: Entry) -> float:
    """What differs if anything does: of all requests, or of a closed loop without a log."""
    return float(entry["io_ns"] if "io_ns" in entry else entry["requests_per_s"])


def _same(data: Results, scheme: str, against: str) -> float:
    """Percent of the runs that are the same to the nanosecond."""
    return 100 * mean(
        [
            float(_time(data.entry(p, s, scheme)) == _time(data.entry(p, s, against)))
            for p in data.points
            for s in data.seeds()
        ]
    )


def ties(data: Results, others: Mapping[str, Results]) -> str:
    """How often Algorithm 3 had a choice, by what came out, and what it is worth where it has."""

    def gain(part: Results, name: str) -> str:
        return (
            f"{part.change('gc-vic', 'gc-par', key(name)).text()} (the same in "
            f"{_same(part, 'gc-vic', 'gc-par'):.0f} % of the runs)"
        )

    beside = "; ".join(
        f"{SETTINGS[name]} {gain(part, 'requests_per_s' if name == 'deep' else 'read_ns')}"
        for name, part in others.items()
    )
    return (
        "Algorithm 3 chooses among blocks with exactly the fewest valid pages, by the reads that "
        "wait when a collection starts. Of 512 pages few blocks tie, and a read matches one of 512 "
        f"offsets. All reads, GC-VIC against GC-PAR: {gain(data, 'read_ns')}. In other settings: "
        f"{beside} (of `deep` the throughput)."
    )


SETTINGS = {
    "open": "reads before a due collection",
    "open-fcfs": "first come, first served",
    "deep": "a closed loop of 1,024",
    "ties": "first come, first served with blocks of 64 pages",
}


def reads(data: Results, first: Results, fcfs: Results) -> str:
    """Why reads gain less than writes: by what they waited for, and how collections follow."""
    shares = ", ".join(
        f"{cause} {_read_ms(data, 'baseline', cause):.2f} → {_read_ms(data, 'gc-par', cause):.2f}"
        for cause in ("host_queue", "die_host_read", "die_host_program", "die_gc_read",
                      "die_gc_program", "die_gc_held", "die_erase", "channel")
    )  # fmt: skip
    again = [100 * data.level(scheme, key("gc_again")).mean for scheme in ("baseline", "gc-par")]
    later = [part.change("gc-par", "baseline", key("read_ns")).text() for part in (first, fcfs)]
    return (
        f"what a read waited for, baseline → GC-PAR, ms: {shares}. While a plane collects, its "
        "sibling goes on writing, so it is more often due when the collection ends: "
        f"{again[0]:.1f} % of the collections under baseline begin at once after another of their "
        f"die, {again[1]:.1f} % under GC-PAR. Where reads go before a due collection they change "
        f"by {later[0]}; first come, first served (section 3.2), where they stand behind blocked "
        f"writes, by {later[1]}."
    )


def _read_ms(data: Results, scheme: str, cause: str) -> float:
    """Mean time that a read spent so."""
    return mean(
        [
            data.entry(p, s, scheme)["read_causes_ns"][cause] / 1e6
            for p in data.points
            for s in data.seeds()
        ]
    )
