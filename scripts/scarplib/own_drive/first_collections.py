# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks, and the time of an erase, by a drive's first collections (early).

When they begin says how many blocks there are, and how fast they are how long an erase takes.  Of
what is near, each time of an erase is tried, until the first collections are the drive's own to the
nanosecond.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from scarplib.errors import UserError
from scarplib.own_drive import by_steps
from scarplib.own_drive.bench import SEEN, Point, sized
from scarplib.own_drive.blocks import DIGITS, ERASES, TRIGGERS, Search
from scarplib.own_drive.early import Early, Quiet
from scarplib.own_drive.model import Model
from scarplib.own_drive.probe_file import PARTS

SUSPENDS = "nand.suspend_erase"
# So many parts say when collections begin; so many, from the next on, how long an erase takes; and
# so many how well both do.
BEGIN, COLLECT, ALL = 3, 6, 12
# An erase's time to begin with.  What is spare is this at least and at most, beside what is written
# before the first collection.
ERASE_NS, FEWER, MORE = 4_000_000, 0.03, 0.15
# To begin with their number is found so well, as a share.  So many of the nearest again, with the
# erase's time that was found, and so many blocks more or fewer; and so well.
COARSE, AGAIN = 0.008, ((6, 0.03, 0.002), (3, 0.01, 0.0))
# So many parts with collections say how long an erase takes, roughly.
COLLECTING = 4
# Of each of the nearest sizes of blocks so many more and fewer blocks of a plane are tried.
SIZES, BESIDE = 3, 2
# So many kinds of blocks are looked at closely: each erase's time that is so near, as a logarithm.
# Where the mapping is in RAM, what is longer is slower, and so the time is known well.
CLOSELY, FAR, FAR_IN_RAM = 4, (0.02, 0.08), (0.01,)
# They are not clearly more unlike the drive than the nearest: so many times, and this besides.
UNLIKE, LEAST = 20.0, 1e-4
# Where so many parts with collections are the drive's own, the erase's time is.
MET = 3


@dataclass(frozen=True)
class _Kind:
    """Blocks, with what they are tried with."""

    base: Model
    point: Point


def begun(search: Search, early: Early, base: Model, shown: Quiet) -> list[Point]:
    """Of each size of blocks the number, and the erase's time, with which it begins as the drive.

    The best come first.
    """
    share = shown.parts / PARTS

    def better(point: Point, between: tuple[int, int], fine: float) -> tuple[float, Point]:
        grain = max(1, round(fine * between[1]))
        if search.over():
            return math.inf, point
        try:
            point = _as_soon(search, early, _Kind(base, point), shown, between, grain)
            _, erase = _guess(early, shown.parts + BEGIN, COLLECT, _Kind(base, point))
            point = replace(point, erase_ns=erase)
            unlike = early.unlike(sized(early.bench, base, point), shown.parts, ALL)
        except UserError:
            return math.inf, point
        return sum(one * one for one in unlike), point

    def first(size: tuple[int, int]) -> tuple[float, Point]:
        point = Point(size[0], share + MORE, ERASE_NS, size[1])
        least = search.blocks(replace(point, spare=max(0.0, share - FEWER)))
        return better(point, (max(4, least), search.blocks(point)), COARSE)

    def again(point: Point, share: float, fine: float) -> tuple[float, Point]:
        count = search.blocks(point)
        beside = math.ceil(share * count)
        return better(point, (max(4, count - beside), count + beside), fine)

    sizes = [one for one in shown.sizes if search.is_drive(Point(one[0], 0.0, ERASE_NS, one[1]))]
    with ThreadPoolExecutor(search.asked.cores) as pool:
        found = sorted(pool.map(first, sizes), key=lambda one: one[0])
        for near, *how in AGAIN:
            points = [point for unlike, point in found[:near] if unlike < math.inf]
            # What is spare and the erase's time are found in turns.
            better_ones = pool.map(again, points, *(itertools.repeat(one) for one in how))
            found = sorted(better_ones, key=lambda one: one[0])
    kept = [one for one in found if one[0] < math.inf]
    return [one for unlike, one in kept if unlike <= UNLIKE * kept[0][0] + LEAST]


def _as_soon(
    search: Search, early: Early, kind: _Kind, shown: Quiet, between: tuple[int, int], grain: int
) -> Point:
    """With so many blocks that collections begin when the drive's do: with more they are later."""
    low, high = between
    wanted = _collecting(early.drive, shown)

    def off(count: int) -> float:
        point = search.with_blocks(kind.point, count)
        try:
            parts = early.parts(
                sized(early.bench, kind.base, point), min(PARTS, shown.parts + BEGIN + COLLECT)
            )
        except UserError:
            # So few are no drive.
            return -math.inf
        if parts[: shown.parts] != early.drive[: shown.parts]:
            # It collects before the drive does.
            return -math.inf
        return wanted - _collecting(parts, shown)

    while high - low > grain:
        middle = (low + high) // 2
        low, high = (low, middle) if off(middle) > 0 else (middle, high)
    count = min((low, high), key=lambda one: abs(off(one)))
    return search.with_blocks(kind.point, count)


def _collecting(rates: Sequence[float], shown: Quiet) -> float:
    """In how many of the first parts that may collect it does: less if it begins later.

    By how slow they are between what they were without, and what those that follow are; so it does
    not depend much on how long an erase takes.
    """
    first, then = shown.parts, shown.parts + BEGIN
    following = rates[then : then + COLLECT] or rates[-1:]
    without = 1 / shown.rate
    slow = sum(1 / one for one in following) / len(following) - without
    if slow <= 0:
        # It hardly collects.
        return 0.0
    return sum(1 / one - without for one in rates[first:then]) / slow


def _guess(early: Early, first: int, count: int, kind: _Kind) -> tuple[float, int]:
    """How unlike the drive's so many parts are, with the erase's time that is the nearest.

    The longer it is the slower they are, but for what comes into another order.
    """
    low, high = (10**one for one in ERASES)
    unlike, erase = [math.inf], 0
    try:
        while high > 1.01 * low:
            erase = round(math.sqrt(low * high))
            unlike = early.unlike(_with_erase(early, kind, erase), first, count)
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


def _closely(
    search: Search, early: Early, first: int, kind: _Kind, far: tuple[float, float]
) -> int:
    """The erase's time with which the first collections are the drive's own, or 0."""
    erases = _outward(kind.point.erase_ns, *far)
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

    def guess(kind: _Kind) -> tuple[float, int]:
        return (math.inf, 0) if search.over() else _guess(early, first, COLLECTING, kind)

    with ThreadPoolExecutor(search.asked.cores) as pool:
        guessed = zip(pool.map(guess, kinds), kinds, strict=True)
        near = sorted((one for one in guessed if one[0][0] < math.inf), key=lambda one: one[0])
    near = [one for one in near[:CLOSELY] if one[0][0] <= UNLIKE * near[0][0][0] + LEAST]
    until = FAR if by_steps.CACHE in base.keys else FAR_IN_RAM
    windows = list(itertools.pairwise((0.0, *until)))
    for far, ((_, erase), kind), one in itertools.product(windows, near, bases):
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
