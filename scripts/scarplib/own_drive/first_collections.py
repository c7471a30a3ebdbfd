# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks, and the time of an erase, by a drive's first collections (early).

With fewer blocks it collects earlier.  So of each size of blocks there is one number with which the
first request that waits for a collection is the drive's.  What a collection reads and programs
comes before its erase has ended: of the drive's own size more requests are the drive's own than of
others.  The next one waits for an erase, and says how much longer that takes.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from scipy.optimize import minimize_scalar

from scarplib.errors import UserError
from scarplib.own_drive import by_steps
from scarplib.own_drive.bench import SEEN, Point, sized
from scarplib.own_drive.blocks import ERASES, TRIGGERS, Search
from scarplib.own_drive.early import Alike, Early, Quiet
from scarplib.own_drive.model import Model

SUSPENDS = "nand.suspend_erase"
# An erase's time to begin with.  What is spare is at least so much less and at most so much more
# than what is written between the fill and the first collection, as a share of the drive; and so
# many blocks of a plane may be open.
ERASE_NS, FEWER, MORE, OPEN_MOST = 4_000_000, 0.03, 0.15, 4
# So many requests from the first that waits for a collection on are compared: soon the smallest
# difference has brought what follows into another order.
LOOK = 200
# A drive is met when so many are the drive's own.  What shows late may show before; it is looked at
# when so many are.
MET, ALMOST = 500, 8
# Of the numbers of blocks the least that does not collect too early, those beside it, and more as
# far as what collects shows; with noise so many requests come before or after; and at most so
# many blocks fewer or more.
BESIDE, ABOUT, BESIDE_MOST = (-1, 0, 1), 16, 8
# How near an erase's time is guessed, as a logarithm: first for each kind of blocks, then nearer
# for so many kinds, those that are most like the drive.
ROUGHLY, CLOSELY, CLOSELY_KINDS = 0.04, 0.003, 24
# How unlike one request is counts for no more than this.
MOST = 1.0
# With noise the drive's own blocks are not more unlike it than this, on average as a logarithm; and
# what is at most so much more than the nearest, and this besides, may be the drive's.
OWN, AS_NEAR, OWN_LEAST = 0.15, 1.3, 0.002
# A time of an erase follows from those so many that were nearest; or so many requests agree on it.
NEAREST, AGREED = 3, 8


@dataclass(frozen=True)
class Tries:
    """Times of an erase that are tried, as logarithms of what is known: so far, in such steps.

    Then so many are, each from the nearest before; all of it of so many kinds of blocks.
    """

    kinds: int
    far: float
    step: float
    more: int


TRIES = (
    Tries(2, 0.03, 0.003, 40),
    Tries(24, 0.0, 1.0, 6),
    Tries(2, 0.06, 0.0008, 150),
    # Where an erase shows only within a microsecond of the right time; or, at last, within 100 ns.
    Tries(1, 0.06, 0.00004, 0),
    Tries(4, 0.15, 0.003, 100),
    Tries(3, 1.0, 0.004, 60),
    Tries(1, 0.025, 0.00001, 0),
)


@dataclass(frozen=True)
class Kind:
    """Blocks, with what they are tried with; how unlike the drive it is, and how much its own."""

    base: Model
    point: Point
    unlike: float = math.inf
    requests: int = 0


def _pool(search: Search) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(search.asked.cores)


def begun(search: Search, early: Early, base: Model, shown: Quiet) -> list[Kind]:
    """Of each size of blocks the number with which it begins to collect when the drive does.

    Those that are most like the drive then come first.
    """
    share, before = shown.requests / len(early.drive), early.written_before()
    seen: list[Kind] = []

    def of(size: tuple[int, int]) -> list[Kind]:
        point = Point(size[0], share, ERASE_NS, size[1])
        least = max(4, search.blocks(replace(point, spare=max(0.0, share - FEWER))))
        most = search.blocks(replace(point, spare=share + before + MORE)) + OPEN_MOST

        @functools.cache
        def alike(count: int) -> int:
            """Fewer than are quiet: it collects too early."""
            if search.over():
                return shown.requests
            one = sized(early.bench, base, search.with_blocks(point, count))
            return early.begins(one, shown.requests + LOOK)

        # As much room as another size had.
        guess = search.blocks(replace(point, spare=seen[0].point.spare)) if seen else 0
        first = first_late(lambda count: alike(count) >= shown.requests, least, most, guess)
        counts = [max(4, first + more) for more in _beside(early, base, point)]
        while early.exact and alike(counts[-1]) > shown.requests and len(counts) <= BESIDE_MOST:
            # What is collected too early need not show at once.
            counts.append(counts[-1] + 1)
        # An erase that takes longer than the drive's may show a little before the drive's does.
        least = shown.requests - (early.step.depth or 0) if early.exact else 0
        found = [
            _guess(search, early, Kind(base, search.with_blocks(point, count)), shown)
            for count in counts
            if alike(count) >= least
        ]
        seen.extend(found)
        return found

    sizes = [one for one in shown.sizes if search.is_drive(Point(one[0], 0.0, ERASE_NS, one[1]))]
    with _pool(search) as pool:
        found = [kind for kinds in pool.map(of, sizes) for kind in kinds]
        found = _nearest_first(found)
        some = found[:CLOSELY_KINDS]
        some = list(pool.map(lambda kind: _finer(search, early, kind, shown), some))
    return _nearest_first([*some, *found[CLOSELY_KINDS:]])


def _nearest_first(kinds: Iterable[Kind]) -> list[Kind]:
    return sorted((one for one in kinds if one.unlike < math.inf), key=lambda one: one.unlike)


def _beside(early: Early, base: Model, point: Point) -> Iterable[int]:
    """Blocks more or fewer than those that seem to begin as the drive does."""
    if early.exact:
        return BESIDE
    keys = base.keys
    dies = int(keys[by_steps.CHANNELS].value) * int(keys[by_steps.WAYS].value)
    row = point.pages * point.planes * dies * int(keys["geometry.page_bytes"].value)
    more = min(BESIDE_MOST, 1 + math.ceil(ABOUT * early.request_bytes() / row))
    return range(-more, more + 1)


def _guess(
    search: Search,
    early: Early,
    kind: Kind,
    shown: Quiet,
    between: tuple[float, float] = ERASES,
    within: float = ROUGHLY,
) -> Kind:
    """With the time of an erase with which these requests are the least unlike the drive's.

    Their sum would not do: where little waits for an erase, other differences outweigh it.
    """
    before = 0 if early.exact else ABOUT
    tried: dict[int, float] = {}

    def off(logarithm: float) -> float:
        erase = round(10**logarithm)
        if search.over():
            return MOST
        if erase not in tried:
            point = replace(kind.point, erase_ns=erase)
            unlike = early.unlike(
                sized(early.bench, kind.base, point), max(0, shown.requests - before), LOOK + before
            )
            tried[erase] = sum(min(MOST, abs(one)) for one in unlike) / max(1, len(unlike))
        return tried[erase]

    try:
        minimize_scalar(off, bounds=between, method="bounded", options={"xatol": within})
    except UserError:
        return kind
    if not tried:
        return kind
    erase = min(tried, key=lambda one: tried[one])
    return replace(kind, point=replace(kind.point, erase_ns=erase), unlike=tried[erase])


def _finer(search: Search, early: Early, kind: Kind, shown: Quiet) -> Kind:
    """So that kinds of blocks differ by more than by what is not known of an erase."""
    known, (low, high) = math.log10(kind.point.erase_ns), ERASES
    between = max(low, known - ROUGHLY), min(high, known + ROUGHLY)
    return min(
        kind, _guess(search, early, kind, shown, between, CLOSELY), key=lambda one: one.unlike
    )


def first_late(late: Callable[[int], bool], low: int, high: int, guess: int) -> int:
    """The least number for which it holds, as for all above it; at most `high`."""
    if low < guess < high:
        # Outward from there, further each time.
        step, up = 1, not late(guess)
        at = guess
        while low < at < high and late(at) != up:
            low, high = (at, high) if up else (low, at)
            at = at + step if up else at - step
            step *= 2
        if low < at < high:
            low, high = (low, at) if up else (at, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if late(middle) else (middle, high)
    return high


def meet(
    search: Search, early: Early, order: Sequence[Kind], shown: Quiet
) -> tuple[Model, Point] | None:
    """The drive's blocks and the time of its erases, or None where none of these is the drive."""
    wanted = _wanted(early, shown)
    cores = search.asked.cores
    with _pool(search) as pool:
        for tries in TRIES:
            kinds = [one for kind in order[: tries.kinds] for one in _both(kind)]
            nearest = functools.partial(_nearest, search, early, shown, tries)
            own: list[int] = []
            for first in range(0, len(kinds), cores):
                some = list(pool.map(nearest, kinds[first : first + cores]))
                found = max(some, key=lambda one: one.requests)
                if found.requests >= wanted:
                    return _best(search, early, found, shown)
                own += [one.requests for one in some]
            order = _by_requests(order, own, len(kinds) // max(1, min(tries.kinds, len(order))))
    return None


def _wanted(early: Early, shown: Quiet) -> int:
    return min(len(early.drive), shown.requests + MET)


def _by_requests(order: Sequence[Kind], own: Sequence[int], each: int) -> list[Kind]:
    """Those of which the most requests are the drive's own first; `each` of these are of a kind."""
    most = [max(own[i : i + each]) for i in range(0, len(own), each)] if own else []
    first = sorted(range(len(most)), key=lambda i: -most[i])
    return [order[i] for i in first] + list(order[len(most) :])


def alike(kinds: Sequence[Kind]) -> list[Point]:
    """With noise: those that are as like the drive as its own would be; the nearest first."""
    most = min(OWN, AS_NEAR * kinds[0].unlike + OWN_LEAST) if kinds else 0.0
    return [one.point for one in kinds if one.unlike <= most]


def _grid(kind: Kind, tries: Tries) -> list[int]:
    """Times of an erase, the nearest first."""
    count = round(tries.far / tries.step)
    offs = sorted(range(-count, count + 1), key=abs)
    return [round(kind.point.erase_ns * 10 ** (i * tries.step)) for i in offs]


def _both(kind: Kind) -> list[Kind]:
    """Where programs may be suspended: also with erases that are, or are not."""
    if SUSPENDS not in kind.base.keys:
        return [kind]
    other = kind.base.with_values({SUSPENDS: 1 - int(kind.base.keys[SUSPENDS].value)})
    return [kind, replace(kind, base=other)]


def _nearest(search: Search, early: Early, shown: Quiet, tries: Tries, kind: Kind) -> Kind:
    """With the erase's time of which the most requests are the drive's own, of those tried."""
    wanted, almost = _wanted(early, shown), shown.requests + ALMOST
    tried: dict[int, Alike] = {}

    def attempt(erase: int) -> bool:
        """Is it the drive's, or is time over?"""
        if erase in tried or not _may(erase):
            return search.over()
        point = replace(kind.point, erase_ns=erase)
        tried[erase] = early.alike(sized(early.bench, kind.base, point), wanted)
        return tried[erase].requests >= wanted or search.over()

    def around(erase: int) -> bool:
        """That, and what many of the requests that follow agree on."""
        return attempt(erase) or (erase in tried and attempt(erase - _agreed(tried[erase])))

    if not any(around(erase) for erase in _grid(kind, tries)):
        for _ in range(tries.more):
            erase = next_erase(tried)
            if erase is None or attempt(erase):
                break
    if not tried:
        return kind
    found = max(tried, key=lambda one: tried[one].requests)
    kinds = [replace(kind, point=replace(kind.point, erase_ns=found))]
    if almost <= tried[found].requests < wanted:
        kinds = _late(kinds[0], shown)
    return max(
        (replace(one, requests=_own(early, one, wanted)) for one in kinds),
        key=lambda one: one.requests,
    )


def _own(early: Early, kind: Kind, wanted: int | None = None) -> int:
    return early.alike(sized(early.bench, kind.base, kind.point), wanted).requests


def _late(kind: Kind, shown: Quiet) -> list[Kind]:
    """With what shows once it collects: what a plane keeps free, and whether reads go first.

    And the size of the map's cache, where several had looked the same before.
    """
    bases = [kind.base.with_values({by_steps.CACHE: one}) for one in shown.caches] or [kind.base]
    kinds = [replace(kind, base=one) for one in bases]
    if by_steps.READS_FIRST in kind.base.keys and SUSPENDS in kind.base.keys:
        first = int(kind.base.keys[by_steps.READS_FIRST].value)
        others = [one.with_values({by_steps.READS_FIRST: 1 - first}) for one in bases]
        kinds += [replace(kind, base=one) for one in others]
    return [
        replace(one, point=replace(one.point, trigger=trigger))
        for one in kinds
        for trigger in TRIGGERS
    ]


def _agreed(of: Alike) -> int:
    """So much longer take several of the requests that are not the drive's own; 0: no such."""
    (longer, count), *_ = Counter(of.longer_ns).most_common(1) or [(0, 0)]
    return longer if count >= AGREED else 0


def _may(erase: int) -> bool:
    low, high = ERASES
    return low <= math.log10(max(1, erase)) <= high


def next_erase(tried: dict[int, Alike]) -> int | None:
    """An erase's time to try after those that were; None if there is none.

    The next request that is not the drive's own waits for so much of an erase, if it waits for one;
    or for so much less, where that lets another go first.
    """

    def rank(erase: int) -> tuple[int, int]:
        return -tried[erase].requests, abs(tried[erase].longer_ns[0])

    # What was no drive says nothing.
    order = sorted((one for one, of in tried.items() if of.longer_ns), key=rank)
    if not order:
        return None
    low, high = (round(10**one) for one in ERASES)
    for erase in order[:NEAREST]:
        of = tried[erase]
        may = [erase - of.longer_ns[0], erase + of.longer_ns[0]]
        for one in order[:NEAREST]:
            other = tried[one]
            more = of.longer_ns[0] - other.longer_ns[0]
            if other.requests == of.requests and more:
                # For more than one, or for a part.
                may.append(erase - round(of.longer_ns[0] * (erase - one) / more))
        # Or it does not wait, and one that comes soon does.
        may += [erase - longer for longer in of.longer_ns[1:]]
        for one in may:
            if _may(one) and one not in tried:
                return one
    # Halfway to the farther of the two beside the nearest.
    below = max((one for one in tried if one < order[0]), default=low)
    above = min((one for one in tried if one > order[0]), default=high)
    farther = below if order[0] - below > above - order[0] else above
    middle = (order[0] + farther) // 2
    return middle if middle not in tried else None


def _best(search: Search, early: Early, kind: Kind, shown: Quiet) -> tuple[Model, Point]:
    """What a plane keeps free shows late; so may erases that are suspended."""
    kinds = [each for one in _both(kind) for each in _late(one, shown)]
    with _pool(search) as pool:
        alike = list(pool.map(lambda one: _own(early, one), kinds))
        best = [one for one, requests in zip(kinds, alike, strict=True) if requests == max(alike)]
        # Where they are alike to the end of the step, the steps that follow say it.
        scores = list(pool.map(lambda one: search.with_base(one.base).score(one.point, SEEN), best))
    found = best[scores.index(min(scores))]
    return found.base, found.point
