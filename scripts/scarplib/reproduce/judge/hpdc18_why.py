# SPDX-License-Identifier: GPL-2.0-or-later
"""hpdc18: what stands beside the rows, from what the runs counted."""

from __future__ import annotations

from scarplib.reproduce.results import Results, Value, key, utilisation
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
    groups = [[p for p in data.points if (p in HIGH) == high] for high in (True, False)]
    high, low = (
        f"{level(data, 'baseline', key('gc_moved'), g):.0f} pages, {waiting(data, g):.2f} affected "
        f"writes a page, {level(data, 'gc-par', utilisation, g):.1f} %"
        for g in groups
    )
    return (
        "a collection's program shares its time with a write only as long as writes wait for the "
        f"die's other planes. High-GC workloads: a collection moves {high} under GC-PAR; low-GC "
        f"workloads: {low}. What moves follows from Table 2's shares of requests and the bound on "
        'the channel; the table under "Density" has one workload with bursts of other densities.'
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


def _same(data: Results, scheme: str, against: str) -> float:
    """Percent of the runs that are the same to the nanosecond."""
    return 100 * mean(
        [
            float(data.entry(p, s, scheme)["io_ns"] == data.entry(p, s, against)["io_ns"])
            for p in data.points
            for s in data.seeds()
        ]
    )


def ties(data: Results, beside: Results, small: Results) -> str:
    """How often Algorithm 3 had a choice, by what came out, and what it is worth where it has."""

    def gain(part: Results, setting: str, name: str) -> str:
        vic, par = f"{setting}gc-vic", f"{setting}gc-par"
        return (
            f"{part.change(vic, par, key(name)).text()} "
            f"(the same in {_same(part, vic, par):.0f} % of the runs)"
        )

    return (
        "Algorithm 3 chooses among blocks with exactly the fewest valid pages, by the reads that "
        "wait when a collection starts. As a due collection is not looked for while a read comes "
        f"next, it has no reads to choose by: {_same(data, 'gc-vic', 'gc-par'):.0f} % of the runs "
        "are the same as GC-PAR's. All reads against GC-PAR where reads wait: first come, first "
        "served "
        f"{gain(beside, 'fcfs ', 'read_ns')}, collections at once "
        f"{gain(beside, 'at once ', 'read_ns')}. First come, first served and with blocks of "
        f"64 pages, of which more tie and match: {gain(small, '', 'read_ns')}; reads to the "
        f"sibling plane {small.change('gc-vic', 'gc-par', key('sibling_read_ns')).text()}."
    )


def reads(data: Results, beside: Results) -> str:
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
        f"{_beside(beside, 'at once', 'read_ns')} ({len(beside.points)} workloads; as in the rows "
        f"{_beside(beside, '', 'read_ns')}). Rows have reads first, as Table 1 says."
    )


def _beside(data: Results, setting: str, name: str) -> str:
    """GC-PAR against baseline, both in another setting ("": that of the rows)."""
    par, base = (f"{setting} gc-par", setting) if setting else ("gc-par", "baseline")
    return data.change(par, base, key(name)).text()


def _read_ms(data: Results, scheme: str, cause: str) -> float:
    """Mean time that a read spent so."""
    return mean(
        [
            data.entry(p, s, scheme)["read_causes_ns"][cause] / 1e6
            for p in data.points
            for s in data.seeds()
        ]
    )
