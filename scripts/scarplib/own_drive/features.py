# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be read off a probe: rules, each on one or two steps; no search, no model of the whole.

A rule that finds nothing says None: the drive does not show it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from scarplib.errors import UserError
from scarplib.own_drive.plan import (
    BURST_BYTES,
    BURST_DEPTH,
    FLUSH_AFTER_NS,
    PAIRS,
    SIZE_READS,
    SIZES,
    Known,
    Plan,
)
from scarplib.own_drive.probe_file import PARTS, Probe

# Two times are the same if they differ by less than this share, or by so many nanoseconds.
SAME = 0.02
SAME_NS = 150
# Reads one by one take so many different times at most where no clock and no kernel is between.
EXACT_TIMES = 8
# For each so many pairs that meet on a die, one pair may be other than the pattern says.
FEW_MEET = 8
# Steps that the second part of the plan is made from, and what else all of it is read off.
FIRST = ("fill", "read-size", "read-single", "read-pair", "trimmed")
SECOND = ("burst", "flush", "write-size", "write-flush", "behind", "overwrite")


@dataclass
class Features:
    """Times in nanoseconds, sizes in bytes."""

    page: int
    stripe: int
    unit: int | None
    dies: int
    channels: int
    # Of a command that needs no flash, of each KiB on the host link, of each on the channel.
    base_ns: float
    link_ns_kib: float
    channel_ns_kib: float
    reads_ns: list[int]
    programs_ns: list[int] = field(default_factory=list)
    buffer: int = 0
    flush_waits: bool = False
    suspends: bool = False
    suspend_ns: int | None = None
    reads_first: bool | None = None
    map_cached: int | None = None
    # No two addresses of the plan meet on a die: the dies are at least so many, if there are any.
    meets: bool = True
    # Times of which no two are the same: what is read off is the middle of all.
    scattered: list[str] = field(default_factory=list)


def same(one: float, other: float) -> bool:
    """As far as a clock and a kernel let one tell."""
    return abs(one - other) <= max(SAME_NS, SAME * max(one, other))


def groups(values: Sequence[float]) -> list[list[float]]:
    """Values that are the same, together; the smallest first."""
    found: list[list[float]] = []
    for value in sorted(values):
        if found and same(found[-1][-1], value):
            found[-1].append(value)
        else:
            found.append([value])
    return found


def _fastest_by_size(probe: Probe) -> list[float]:
    """Of reads: of the page type that is fastest."""
    each = probe.results["read-size"].each[1::2]
    many = SIZE_READS
    return [float(min(each[i * many : (i + 1) * many])) for i in range(len(SIZES))]


def _singles(probe: Probe) -> list[int]:
    """Reads of one address after the other, the second time."""
    return probe.results["read-single"].each[PAIRS + 1 :]


def _unmapped(probe: Probe) -> tuple[float, float]:
    """Base and time of a KiB on the link, of reads of what was deallocated.

    A read that finds its mapping out of RAM takes so much longer: the others are on one line.
    """
    seen = probe.results["trimmed"].each[1 : 1 + len(SIZES)]
    points = [(size / 1024, float(time)) for size, time in zip(SIZES, seen, strict=True)]

    def beside(slope: float) -> list[list[float]]:
        return groups([time - slope * kib for kib, time in points])

    def unlike(slope: float) -> tuple[int, float]:
        found = beside(slope)
        return len(found), sum(group[-1] - group[0] for group in found)

    slopes = [
        (time - before) / (kib - less)
        for i, (less, before) in enumerate(points)
        for kib, time in points[i + 1 :]
    ]
    slope = min((one for one in slopes if one >= 0), key=unlike, default=0.0)
    lines = [group for group in beside(slope) if len(group) > 1] or beside(slope)
    return median(lines[0]), slope


def _waits(probe: Probe) -> list[float]:
    """How much longer each second read of a pair took beside the first than alone."""
    alone = _singles(probe)
    pairs = probe.results["read-pair"].each
    first = [pairs[2 * i] - alone[0] for i in range(PAIRS)]
    second = [pairs[2 * i + 1] - alone[i + 1] for i in range(PAIRS)]
    # The one that is behind says it, whichever it is.
    return [float(max(pair)) for pair in zip(first, second, strict=True)]


def _page(probe: Probe, meets: list[bool]) -> int:
    """The address is cut into pages where the slope of a read's time by its size breaks."""
    times = _fastest_by_size(probe)
    slope = (times[3] - times[0]) / (SIZES[3] - SIZES[0])
    page = SIZES[3]
    for i in range(4, len(SIZES)):
        expected = times[3] + slope * (SIZES[i] - SIZES[3])
        if not abs(times[i] - expected) <= max(SAME_NS, 0.1 * slope * (SIZES[i] - SIZES[3])):
            break
        # Two of the same page always meet on their die.
        if not all(meets[: SIZES[i] // 4096 - 1]):
            break
        page = SIZES[i]
    return page


@dataclass(frozen=True)
class _Layout:
    stripe: int
    dies: int
    channels: int
    page: int
    meets: bool


def _layout(probe: Probe) -> _Layout:
    """Which addresses meet on a die, and which on a channel."""
    waits = _waits(probe)
    array = min(_singles(probe)) * 0.4
    meets = [wait >= array for wait in waits]
    page = _page(probe, meets)
    step = page // 4096
    # At whole pages from the first.
    whole = waits[step - 1 :: step]
    met = [wait >= array for wait in whole]
    period, met = _repeating(met)
    # Several planes of a die in a row: the first that meets is no whole round.
    stripe = next((i + 1 for i, one in enumerate(met) if one), len(met))
    here = sum(met[:period])
    dies = max(1, round(period / max(here, 1)))
    free = min(whole)
    _, link = _unmapped(probe)
    times = _fastest_by_size(probe)
    slope = (times[3] - times[0]) / ((SIZES[3] - SIZES[0]) / 1024)
    transfer = (slope - link) * 4
    near = [wait for wait, one in zip(whole[:period], met[:period], strict=True) if not one]
    # A channel shows as a wait of about a transfer, where that is longer than the link's.
    shared = [wait for wait in near if wait > free + max(2 * SAME_NS, 0.4 * (transfer - link * 4))]
    # Where none meets, and none waits on a channel, these show nothing.
    alike = len(shared) == len(near) or not near or (not shared and not here)
    channels = 1 if alike else round(period / (len(shared) + here))
    stripe = period if here == 1 else stripe
    return _Layout(stripe * page, dies, max(channels, 1), page, any(met))


def _repeating(met: list[bool]) -> tuple[int, list[bool]]:
    """The least distance after which the pattern of meeting repeats; and that pattern.

    A few pairs that a kernel disturbed do not hide it.
    """
    for most in (0, sum(met) // FEW_MEET):
        for period in range(1, len(met) // 2 + 1 if most else len(met)):
            each = [2 * sum(met[i::period]) > len(met[i::period]) for i in range(period)]
            pattern = [each[i % period] for i in range(len(met))]
            if each[-1] and sum(map(operator.ne, met, pattern)) <= most:
                return period, pattern
    return len(met), met


def known(probe: Probe) -> Known:
    """What the second part of the plan needs."""
    layout = _layout(probe)
    return Known(layout.page, layout.stripe)


def _types(values: Sequence[float], take: float) -> list[int]:
    """Array times of each page type, in order of time, without what every command takes.

    None of them if hardly two are the same.
    """
    found = [group for group in groups(values) if len(group) >= max(2, len(values) // 50)]
    return [round(median(group) - take) for group in found]


def _times(found: Features, name: str, values: Sequence[float], take: float) -> list[int]:
    """As _types(), or the middle of all."""
    times = _types(values, take)
    if not times:
        found.scattered.append(name)
        times = [round(median(values) - take)]
    return times


def _unit(probe: Probe, read_ns: float) -> int | None:
    """The smallest write that reads nothing first."""
    each = probe.results["write-size"].each
    times = []
    for i in range(len(SIZES)):
        # Of the page type that is fastest.
        times.append(min(each[24 * i + 1 : 24 * i + 24 : 3]))
    for i in range(len(SIZES)):
        following = times[i + 1 :]
        if all(time >= times[i] - SAME_NS for time in following):
            least = min(times)
            if i and times[0] < least + read_ns / 2:
                return None
            return SIZES[i]
    return None


def burst(probe: Probe, found: Features) -> int:
    """Bytes that were taken before a write had to wait for more than the link."""
    each = probe.results["burst"].each
    link = BURST_BYTES / 1024 * found.link_ns_kib
    most = found.base_ns + (BURST_DEPTH + 2) * link + min(found.programs_ns) / 8
    taken = next((i for i, one in enumerate(each) if one > most), len(each))
    return taken * BURST_BYTES


def _check(probe: Probe) -> None:
    """A probe of a device leaves out what there was no time for."""
    plan = Plan(probe.span, probe.seed)
    wanted = (*FIRST, *(f"footprint-{size >> 20}" for size in plan.footprints()), *SECOND)
    # What is filled is read; nothing is read off how.
    if missing := [name for name in wanted[1:] if name not in probe.results]:
        raise UserError(
            f"this probe is not whole: it lacks {', '.join(missing)}; the same `scarp probe` "
            "goes on with that"
        )
    steps = plan.first() + (plan.second(probe.known) if probe.known else [])
    for step in steps:
        if step.each and step.name in wanted:
            there, asked = len(probe.results[step.name].each), step.kept()
            # Probes of before 28 November 2026 have none of what is overwritten.
            if there != asked and (there or step.name != "overwrite"):
                raise UserError(
                    f"this probe is not whole: {step.name} has {there} latencies of {asked}"
                )
    if len(probe.results["overwrite"].parts) != PARTS:
        raise UserError("this probe is not whole: overwrite has no rates of its parts")


def read_off(probe: Probe) -> Features:
    """All of it; UserError names what the probe lacks."""
    _check(probe)
    layout = _layout(probe)
    base, link = _unmapped(probe)
    times = _fastest_by_size(probe)
    slope = (times[3] - times[0]) / ((SIZES[3] - SIZES[0]) / 1024)
    singles = _singles(probe)
    found = Features(
        page=layout.page,
        stripe=layout.stripe,
        unit=None,
        dies=layout.dies,
        channels=min(layout.channels, layout.dies),
        base_ns=base,
        link_ns_kib=link,
        channel_ns_kib=max(slope - link, 0),
        reads_ns=[],
        meets=layout.meets,
    )
    found.reads_ns = _times(found, "reads", [float(one) for one in singles], base + 4 * slope)
    found.unit = _unit(probe, found.reads_ns[0])
    _writes(probe, found)
    _behind(probe, found)
    found.map_cached = _map_cached(probe)
    return found


def _writes(probe: Probe, found: Features) -> None:
    each = probe.results["write-flush"].each
    write, flush = each[1::3], each[2::3]
    moved = found.base_ns + found.page / 1024 * found.link_ns_kib
    transfer = found.page / 1024 * found.channel_ns_kib
    # A page is on flash when the later of the two is done; the flush came later.
    both = [max(one, other + FLUSH_AFTER_NS) for one, other in zip(write, flush, strict=True)]
    found.programs_ns = _times(found, "programs", [float(one) for one in both], moved + transfer)
    buffered = median(write) < min(found.programs_ns) / 2
    if buffered:
        found.buffer = burst(probe, found)
    idle, behind = probe.results["flush"].each[0::3], probe.results["flush"].each[2::3]
    found.flush_waits = median(behind) > median(idle) + min(found.programs_ns) / 8


def _reads_behind(probe: Probe) -> list[int]:
    """Of six requests the last is the read that comes after four programs of its die."""
    return probe.results["behind"].each[5::6]


def unlike_behind(one: Probe, other: Probe) -> float:
    """How differently these reads wait: the mean square of the logarithm."""
    pairs = list(zip(_reads_behind(one), _reads_behind(other), strict=True))
    return sum(math.log(max(1, a) / max(1, b)) ** 2 for a, b in pairs) / len(pairs)


def _behind(probe: Probe, found: Features) -> None:
    """Reads behind four programs of their die."""
    reads = _reads_behind(probe)
    alone = found.base_ns + found.reads_ns[0] + 4 * (found.channel_ns_kib + found.link_ns_kib)
    program = max(found.programs_ns)
    waits = [read - alone for read in reads]
    found.suspends = median(waits) < 0.2 * min(found.programs_ns)
    if found.suspends:
        # The shortest that several have: one may come when the program is about to end by itself.
        several = [group for group in groups(waits) if len(group) > 1] or [[min(waits)]]
        found.suspend_ns = max(0, round(median(several[0])))
        found.reads_first = True
    else:
        found.reads_first = median(waits) < 1.3 * program


def _footprints(probe: Probe) -> dict[int, list[bool]]:
    """Of each footprint, which reads first read a page of the mapping."""
    slowest = max(_singles(probe)) * (1 + SAME) + SAME_NS
    return {
        size: [one > slowest for one in probe.results[f"footprint-{size >> 20}"].each]
        for size in Plan(probe.span, probe.seed).footprints()
    }


def map_misses(probe: Probe) -> dict[int, float]:
    """Of each footprint, the share of such reads."""
    return {size: sum(each) / len(each) for size, each in _footprints(probe).items()}


def each_misses(probe: Probe) -> list[bool]:
    """Of all footprints, the smallest first."""
    return [one for each in _footprints(probe).values() for one in each]


def exactly(probe: Probe) -> bool:
    """Is a time the same whenever it is measured?  Then reads take hardly more times than types."""
    return len(set(_singles(probe))) <= EXACT_TIMES


def _map_cached(probe: Probe) -> int | None:
    """Bytes whose mapping is in RAM; None: all of it.  Of a footprint so many hit as have room."""
    cached = None
    for size, misses in map_misses(probe).items():
        if misses > 0.1:
            cached = round(size * (1 - misses))
    return cached
