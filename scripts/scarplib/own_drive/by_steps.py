# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys that a few steps show, once they are compared with a candidate's: no search of the whole."""

from __future__ import annotations

import math
from collections.abc import Callable

from scarplib.errors import UserError
from scarplib.own_drive import features
from scarplib.own_drive.bench import (
    PAGES_KEY,
    PLANES_KEY,
    SIZE_KEYS,
    Bench,
    Point,
    blocks_of,
    roomy,
    sized,
)
from scarplib.own_drive.blocks import BLOCK_PAGES, PLANES
from scarplib.own_drive.model import FITTED, OPEN, READ, Model
from scarplib.own_drive.probe_file import Probe

BUFFER, CACHE = "controller.buffer_bytes", "ftl.map_cache_bytes"
READS_FIRST = "controller.reads_first"
# Steps in which a read may be behind programs; what is less than this share is clearly less.
BEHIND, CLEARLY = ("burst", "behind"), 0.5
# Numbers of channels are not told apart if their pairs of reads are at most so much more unlike the
# drive's than the nearest's: so many times, and this besides.
PAIRS_ALIKE, PAIRS_LEAST = 1.2, 1e-6
# Of sizes of the map's cache so many are compared read by read, so far off as a share.
CACHE_GRAIN, CACHE_OFF, CACHE_TRIES, CACHE_ALIKE = 1024, 0.015, 24, 8
CHANNELS, WAYS = "geometry.channels", "geometry.chips_per_channel"


def roundest(low: int, high: int) -> int:
    """Of low … high the multiple of the greatest power of two: sizes are chosen by people."""
    step = 1 << max(high, 1).bit_length()
    while step > 1 and high // step * step < low:
        step //= 2
    return high // step * step


def channels(bench: Bench, base: Model) -> list[int]:
    """How many, of so many dies; and which other numbers look the same.

    Each number that there may be is tried, and its pairs of reads are compared.  Where the host's
    link is slower than a channel, two reads of one channel show nothing.
    """
    dies = int(base.keys[CHANNELS].value) * int(base.keys[WAYS].value)

    def pairs(count: int, size: tuple[int, int]) -> float:
        of = with_channels(base, count).with_values(dict(zip(SIZE_KEYS, size, strict=True)))
        return bench.off(roomy(bench, of), "read-pair")

    # Which pages are of which type depends on the size of blocks and on planes.  With another order
    # of types no number of channels is like the drive.
    if int(base.keys["nand.cell_bits"].value) > 1:
        seen = int(base.keys[CHANNELS].value)
        sizes = [(pages, planes) for planes in PLANES for pages in BLOCK_PAGES]
        size = min(sizes, key=lambda one: pairs(seen, one))
        base.set(PAGES_KEY, size[0], OPEN)
        base.set(PLANES_KEY, size[1], OPEN, base.keys[PLANES_KEY].note)
    size = blocks_of(base)
    counts = [n for n in range(1, dies + 1) if dies % n == 0]
    may = {n: pairs(n, size) for n in counts} if dies > 1 else {1: 0.0}
    least = min(may.values())
    alike = [n for n, unlike in may.items() if unlike <= least * PAIRS_ALIKE + PAIRS_LEAST]
    if int(base.keys[CHANNELS].value) not in alike:
        base.keys |= with_channels(base, min(may, key=may.__getitem__)).keys
    return alike


def with_channels(base: Model, count: int) -> Model:
    """The same dies on so many channels."""
    dies = int(base.keys[CHANNELS].value) * int(base.keys[WAYS].value)
    found = Model(dict(base.keys))
    found.set(CHANNELS, count, READ)
    found.set(WAYS, dies // count, READ, "dies of a channel")
    return found


def reads_first(bench: Bench, base: Model) -> None:
    """Where a read suspends programs, whether it also goes before those that wait.

    Writes whose map is in flash may show it; if they do not, collections may.
    """
    if "nand.suspend_program" not in base.keys:
        return

    yes, no = (
        bench.off(roomy(bench, base.with_values({READS_FIRST: first})), *BEHIND) for first in (1, 0)
    )
    if no <= CLEARLY * yes and yes - no >= PAIRS_LEAST:
        base.set(READS_FIRST, 0, FITTED)


def times(bench: Bench, base: Model, seen: features.Features) -> None:
    """What a candidate's own probe says otherwise than the drive's is added to what was read off.

    So what the rules leave out, roundings and what a command takes besides, is left out of both.
    """
    try:
        own = features.read_off(bench.run(roomy(bench, base)))
    except UserError:
        return

    def more(name: str, by: float) -> None:
        key = base.keys[name]
        values = [max(0, int(value) + round(by)) for value in key.value.split(";")]
        base.set(name, ";".join(map(str, values)), key.how, key.note)

    more("controller.firmware_ns", seen.base_ns - own.base_ns)
    for name, drive, ours in (
        ("timing.read_ns", seen.reads_ns, own.reads_ns),
        ("timing.program_ns", seen.programs_ns, own.programs_ns),
    ):
        if len(drive) == len(ours):
            more(name, drive[0] - ours[0])


def buffer(bench: Bench, base: Model, seen: features.Features, point: Point | None = None) -> None:
    """The write buffer's size; the blocks say how fast it drains."""
    whole = sized(bench, base, point) if point else roomy(bench, base)

    def taken(probe: Probe) -> float:
        return float(features.burst(probe, seen))

    _bisect(bench, whole, BUFFER, "burst", taken, max(seen.page, 16384))
    base.keys[BUFFER] = whole.keys[BUFFER]


def _bisect(
    bench: Bench, base: Model, name: str, step: str, measure: Callable[[Probe], float], grain: int
) -> None:
    """A key that one step shows, the more the higher."""
    wanted = measure(bench.probe)
    low, high = grain, max(4 * grain, 2 * int(base.keys[name].value) // grain * grain)
    only = bench.up_to(step)
    while high - low > grain:
        middle = (low + high) // 2 // grain * grain
        candidate = base.with_values({name: middle})
        try:
            reached = measure(bench.run(candidate, only))
        except UserError:
            reached = -1.0
        if reached < wanted:
            low = middle
        else:
            high = middle
    # Up to the next request that would have found room, no size looks different.
    base.set(name, roundest(high, high + grain), FITTED, interval=(low, high + grain))


def cache(bench: Bench, base: Model) -> list[int]:
    """The size of the map's cache; which sizes look the same comes back."""
    steps = [f"footprint-{size >> 20}" for size in bench.plan.footprints()]
    whole = roomy(bench, base)
    only = ("fill", "read-single", *steps, *(f"{step}-before" for step in steps))
    low, high = _bisect_cache(bench, whole, only)
    base.set(CACHE, roundest(low + 1, high), FITTED, interval=(low, high))
    return _same_misses(bench, base, whole, only)


def _bisect_cache(bench: Bench, whole: Model, only: tuple[str, ...]) -> tuple[int, int]:
    """With which so many reads find their mapping."""

    exact = features.exactly(bench.probe)

    def hits(probe: Probe) -> float:
        misses = features.map_misses(probe)
        # A kernel reads, too, and what hardly fits no longer does; of the whole that is little.
        return -sum(misses.values()) if exact else -misses[max(misses)]

    wanted = hits(bench.probe)
    low, high = 1024, 2 * int(whole.keys[CACHE].value)
    while high - low > max(512, high // 200):
        middle = (low + high) // 2 // 8 * 8
        try:
            reached = hits(bench.run(whole.with_values({CACHE: middle}), only))
        except UserError:
            reached = -math.inf
        low, high = (middle, high) if reached < wanted else (low, middle)
    return low, high


def _same_misses(bench: Bench, base: Model, whole: Model, only: tuple[str, ...]) -> list[int]:
    """Of sizes near, in whole KiB, those with which the same reads find their mapping in RAM.

    How many do has no one direction: a little more room is another order of what is dropped.
    """
    wanted = features.each_misses(bench.probe)

    def off(size: int) -> float:
        try:
            found = features.each_misses(bench.run(whole.with_values({CACHE: size}), only))
        except UserError:
            return math.inf
        return sum(a != b for a, b in zip(wanted, found, strict=True))

    size = int(base.keys[CACHE].value)
    low, high = (math.ceil(size * by / CACHE_GRAIN) for by in (1 - CACHE_OFF, 1 + CACHE_OFF))
    near = {size, *range(low * CACHE_GRAIN, high * CACHE_GRAIN, CACHE_GRAIN)}
    seen: dict[int, float] = {}
    for one in sorted(near, key=lambda x: abs(x - size))[:CACHE_TRIES]:
        seen[one] = off(one)
        if not seen[one]:
            break
    best = min(seen, key=seen.__getitem__)
    if seen[best] < math.inf:
        base.set(CACHE, best, FITTED, interval=base.keys[CACHE].interval)
    alike = [best]
    above, below = best // CACHE_GRAIN + 1, (best - 1) // CACHE_GRAIN
    for one, step in ((above * CACHE_GRAIN, CACHE_GRAIN), (below * CACHE_GRAIN, -CACHE_GRAIN)):
        # From there on, as far as they are alike.
        while not seen[best] and len(alike) < CACHE_ALIKE:
            if one not in seen:
                seen[one] = off(one)
            if seen[one]:
                break
            alike.append(one)
            one += step
    return alike
