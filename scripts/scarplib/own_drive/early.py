# SPDX-License-Identifier: GPL-2.0-or-later
"""How a drive begins to be overwritten: until its first collections, and through them.

In the replayer a probe is the same to the nanosecond.  One nanosecond that is wrong may bring all
that comes after it into another order; where the mapping is in flash it does.  How unlike the whole
is says little then.  But until there all is as the drive's.  So what is compared is how many of the
first parts of the step are the drive's own.

A probe of a device is another each time: no part of it is anybody's own, and nothing is done here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from scarplib.errors import UserError
from scarplib.own_drive import by_steps
from scarplib.own_drive.bench import OVERWRITE, SEEN, Bench, Point, sized
from scarplib.own_drive.blocks import DIGITS, ERASES, TRIGGERS, Search
from scarplib.own_drive.model import FITTED, Model
from scarplib.own_drive.probe_file import PARTS

SUSPENDS = "nand.suspend_erase"
# So many parts with collections say how long an erase takes, roughly.
COLLECTING = 4
# Of each of the nearest sizes of blocks so many more and fewer blocks of a plane are tried.
SIZES, BESIDE = 3, 3
# So many kinds of blocks are looked at closely: each erase's time that is so near, as a logarithm.
CLOSELY, FAR = 4, (0.02, 0.08)
# They are not clearly more unlike the drive than the nearest: so many times, and this besides.
UNLIKE, LEAST = 20.0, 1e-4
# Where so many parts with collections are the drive's own, the erase's time is.
MET = 3


class Early:
    """Overwriting up to some part."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.only = bench.up_to(OVERWRITE)
        self.step = bench.steps[bench.order.index(OVERWRITE)]
        self.drive = bench.probe.results[OVERWRITE].parts

    def alike(self, candidate: Model, parts: int = PARTS) -> int:
        """How many of the first parts are the drive's own, of so many; none if it is no drive."""
        try:
            found = self.parts(candidate, parts)
        except UserError:
            return 0
        pairs = zip(self.drive, found, strict=False)
        return next((i for i, (one, other) in enumerate(pairs) if one != other), parts)

    def unlike(self, candidate: Model, first: int) -> list[float]:
        """Logarithms of some rates, from this part on, as shares of the drive's."""
        until = min(PARTS, first + COLLECTING)
        pairs = zip(self.parts(candidate, until)[first:], self.drive[first:until], strict=True)
        return [math.log(one / other) for one, other in pairs]

    def parts(self, candidate: Model, parts: int) -> list[float]:
        """Rates of the first parts; UserError if it is no drive."""
        with self.bench.begun(candidate, self.only) as state:
            if state:
                with self.bench.drive(candidate, state) as drive:
                    return drive.begin(self.step, self.bench.traces, parts)
        return self.bench.run(candidate, self.only).results[OVERWRITE].parts[:parts]


def quiet(
    early: Early, base: Model, sizes: Sequence[tuple[int, int]], alike: Sequence[int]
) -> tuple[int, list[int]]:
    """How many parts there are before the first collection; none: they are nobody's own.

    Numbers of channels, and whether reads go first, show there where the mapping is in flash: what
    they are is set, and the numbers that there still may be come back.
    """
    firsts = (1, 0) if "nand.suspend_program" in base.keys else (None,)
    found: dict[tuple[int, int | None], int] = {}
    some = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})
    for (pages, planes), count, first in itertools.product(some, alike, firsts):
        one = by_steps.with_channels(base, count) if len(alike) > 1 else base
        if first is not None:
            one = one.with_values({by_steps.READS_FIRST: first})
        # So much is spare that nothing is collected.
        roomy = Point(pages, 2.0, 3_000_000, planes)
        parts = early.alike(sized(early.bench, one, roomy))
        found[count, first] = max(found.get((count, first), 0), parts)
    most = max(found.values())
    best = [one for one, parts in found.items() if parts == most]
    if most and len(best) < len(found):
        count, first = best[0]
        if len(alike) > 1 and all(str(one) != base.keys[by_steps.CHANNELS].value for one, _ in best):
            base.keys |= by_steps.with_channels(base, count).keys
        if first is not None and len({one for _, one in best}) == 1:
            base.set(by_steps.READS_FIRST, first, FITTED)
    counts = {count for count, _ in best}
    return most, [count for count in alike if count in counts]


@dataclass(frozen=True)
class _Kind:
    """Blocks, with what they are tried with."""

    base: Model
    point: Point


def _guess(early: Early, first: int, kind: _Kind) -> tuple[float, int]:
    """How unlike the drive's its first collections are, with the erase's time that is the nearest.

    The longer it is the slower they are, but for what comes into another order.
    """
    low, high = (10**one for one in ERASES)
    unlike, erase = [math.inf], 0
    try:
        while high > 1.01 * low:
            erase = round(math.sqrt(low * high))
            unlike = early.unlike(_with_erase(early, kind, erase), first)
            low, high = (erase, high) if sum(unlike) > 0 else (low, erase)
    except UserError:
        return math.inf, erase
    return sum(one * one for one in unlike), erase


def _with_erase(early: Early, kind: _Kind, erase: int) -> Model:
    return sized(early.bench, kind.base, replace(kind.point, erase_ns=erase))


def _outward(erase: int, nearer: float, far: float) -> Iterator[int]:
    """Times of few digits that are so far from this one, as logarithms; the nearest first."""
    grain = 10 ** max(0, len(str(erase)) - DIGITS)
    middle = round(erase / grain)
    for away in range(math.ceil(erase * (10**far - 1) / grain)):
        for one in {(middle - away) * grain, (middle + away) * grain}:
            if one > 0 and nearer <= abs(math.log10(one / erase)) < far:
                yield one


def _closely(search: Search, early: Early, first: int, kind: _Kind, far: int) -> int:
    """The erase's time with which the first collections are the drive's own, or 0."""
    erases = _outward(kind.point.erase_ns, FAR[far - 1] if far else 0.0, FAR[far])
    until = min(PARTS, first + MET)
    with ThreadPoolExecutor(search.asked.cores) as pool:
        while some := list(itertools.islice(erases, 8 * search.asked.cores)):
            if search.over():
                break

            def alike(erase: int) -> int:
                return early.alike(_with_erase(early, kind, erase), until)

            for erase, parts in zip(some, pool.map(alike, some), strict=True):
                if parts == until:
                    return erase
    return 0


def meet(
    search: Search, early: Early, base: Model, first: int, order: Sequence[Point]
) -> tuple[Model, Point] | None:
    """The drive's blocks and the time of its erases, or None where none of these is the drive.

    Of each of the nearest sizes of blocks some numbers are tried: which of them begin to collect as
    the drive does.  A block more with an erase that takes longer is as fast in the end.
    """
    bases = [base]
    if "nand.suspend_program" in base.keys:
        bases += [base.with_values({SUSPENDS: 1 - int(base.keys[SUSPENDS].value)})]
    kinds = [
        _Kind(base, search.with_blocks(one, max(4, search.blocks(one) + more)))
        for one in order[:SIZES]
        for more in range(-BESIDE, BESIDE + 1)
    ]
    with ThreadPoolExecutor(search.asked.cores) as pool:
        guessed = list(pool.map(lambda one: _guess(early, first, one), kinds))
    near = sorted(zip(guessed, kinds, strict=True), key=lambda one: one[0])[:CLOSELY]
    least = near[0][0][0]
    near = [one for one in near if one[0][0] <= UNLIKE * least + LEAST]
    for far, ((_, erase), kind), one in itertools.product(range(len(FAR)), near, bases):
        tried = _Kind(one, replace(kind.point, erase_ns=erase))
        if found := _closely(search, early, first, tried, far):
            point = replace(kind.point, erase_ns=found)
            may = itertools.product((one, *(x for x in bases if x is not one)), TRIGGERS)
            return _best(
                search, early, [_Kind(x, replace(point, trigger=trigger)) for x, trigger in may]
            )
    return None


def _best(search: Search, early: Early, kinds: Sequence[_Kind]) -> tuple[Model, Point]:
    """What a plane keeps free shows late; so may erases that are suspended."""
    alike = [early.alike(sized(early.bench, one.base, one.point)) for one in kinds]
    best = [one for one, parts in zip(kinds, alike, strict=True) if parts == max(alike)]
    # Where they are alike to the end of the step, the steps that follow say it.
    scores = [search.with_base(one.base).score(one.point, SEEN) for one in best]
    found = best[scores.index(min(scores))]
    return found.base, found.point
