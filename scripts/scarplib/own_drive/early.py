# SPDX-License-Identifier: GPL-2.0-or-later
"""How a drive begins to be overwritten: until its first collections, and through them.

In the replayer a probe is the same to the nanosecond.  One nanosecond that is wrong may bring all
that comes after it into another order; where the mapping is in flash it does.  How unlike the whole
is says little then.  But until there all is as the drive's.  So what is compared is how many of the
first requests take as long as the drive's own.

A probe of a device is another each time, and so is what another program simulates.  But what is
collected depends on the order of what is written, and hardly on a microsecond.  So what is compared
there is how unlike the requests are, when collections begin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from scarplib.errors import UserError
from scarplib.own_drive import by_steps
from scarplib.own_drive.bench import OVERWRITE, PLANES_KEY, Bench, Point, sized
from scarplib.own_drive.blocks import PLANES
from scarplib.own_drive.model import FITTED, Model
from scarplib.own_drive.plan import WRITE

# What shows before the first collection.
QUIET = (
    by_steps.BUFFER,
    by_steps.CACHE,
    by_steps.CHANNELS,
    by_steps.WAYS,
    by_steps.READS_FIRST,
)
# The write buffer may be so far off: how fast it drains depends on which pages are next.
BUFFER_OFF = (0.0, 0.02, 0.05, 0.15)
# So many requests are the drive's own, if any are; so many are looked at first, and if all are, so
# many times as many.  Of what shows before the first collection so many combinations are tried.
FEW, AT_FIRST, MORE_REQUESTS, TRIED_MOST = 8, 64, 8, 256
# Of so many that are not is kept how much longer they take.
NEXT = 64
# With noise: of so many requests the middle one takes so much longer than without collections, as a
# logarithm, once they have begun; and planes do not show if one is at most so much nearer.
MIDDLE, BEGUN, NEARER = 32, 0.1, 0.7


@dataclass(frozen=True)
class Alike:
    """So many of the first requests are the drive's own; the next others take so much longer."""

    requests: int
    longer_ns: tuple[int, ...] = ()


class Early:
    """Overwriting up to some request; its drive's probe keeps what each took."""

    def __init__(self, bench: Bench, exact: bool = True) -> None:
        self.bench, self.exact = bench, exact
        self.only = bench.up_to(OVERWRITE)
        self.step = bench.steps[bench.order.index(OVERWRITE)]
        self.drive = bench.probe.results[OVERWRITE].each
        # With noise: of planes of a die, what is overwritten takes without any collection.
        self.without: dict[int, list[int]] = {}

    def alike(self, candidate: Model, requests: int | None = None) -> Alike:
        """Of so many, or of all; none if it is no drive."""
        try:
            found = self.latencies(candidate, requests or len(self.drive))
        except UserError:
            return Alike(0)
        off = [one - other for one, other in zip(found, self.drive, strict=False)]
        own = next((i for i, one in enumerate(off) if one), len(off))
        return Alike(own, tuple(itertools.islice(filter(None, off[own:]), NEXT)))

    def request_bytes(self) -> int:
        """Of the first request."""
        return next(iter(self.step.rows()))[3]

    def written_before(self) -> float:
        """Between the fill and the overwriting, as a share of the drive."""
        before = self.bench.steps[1 : self.bench.steps.index(self.step)]
        rows = itertools.chain.from_iterable(one.rows() for one in before if one.changes)
        return sum(row[3] for row in rows if row[1] == WRITE) / self.bench.plan.span

    def begins(self, candidate: Model, requests: int) -> int:
        """How many requests are as the drive's; with noise, how many come before collections.

        The fewer blocks it has, the fewer they are.
        """
        if self.exact:
            return self.alike(candidate, requests).requests
        try:
            found = self.latencies(candidate, requests)
        except UserError:
            return 0
        return _onset(found, self.without[int(candidate.keys[PLANES_KEY].value)])

    def unlike(self, candidate: Model, first: int, count: int) -> list[float]:
        """Logarithms of so many latencies from this request on, as shares of the drive's."""
        return _longer(self.latencies(candidate, first + count)[first:], self.drive[first:])

    def latencies(self, candidate: Model, requests: int) -> list[int]:
        """Of the first so many, in nanoseconds; UserError if it is no drive."""
        with self.bench.begun(candidate, self.only) as state:
            if state:
                with self.bench.drive(candidate, state) as drive:
                    return drive.begin(self.step, self.bench.traces, requests)
        return self.bench.run(candidate, self.only).results[OVERWRITE].each[:requests]


def _longer(found: Sequence[int], other: Sequence[int]) -> list[float]:
    """Logarithms of latencies as shares of these."""
    return [math.log(max(1, a) / max(1, b)) for a, b in zip(found, other, strict=False)]


def _onset(found: Sequence[int], without: Sequence[int]) -> int:
    """The first request from which on the middle one of several is slower than without."""
    longer = _longer(found, without)
    for first in range(len(longer) - MIDDLE + 1):
        if longer[first] > BEGUN and median(longer[first : first + MIDDLE]) > BEGUN:
            return first
    return len(longer)


@dataclass(frozen=True)
class Quiet:
    """Before the first collection: so many requests; which channels, sizes, planes may be."""

    requests: int
    # Is any of it this program's?  Another simulator's times repeat, too.  With noise: does it
    # begin to collect?
    own: bool
    channels: list[int]
    sizes: list[tuple[int, int]]
    # Of the map, if it is in flash.
    caches: tuple[int, ...] = ()


def noisy(early: Early, base: Model, sizes: Sequence[tuple[int, int]]) -> Quiet:
    """As quiet(), of a probe whose times are others each time: planes alone may show."""
    found: dict[int, tuple[float, int]] = {}
    for planes in PLANES:
        some = sorted(one for one in sizes if one[1] == planes)
        if not some:
            continue
        roomy = sized(early.bench, base, _roomy(*some[len(some) // 2]))
        try:
            early.without[planes] = early.latencies(roomy, len(early.drive))
        except UserError:
            continue
        onset = _onset(early.drive, early.without[planes])
        off = [abs(one) for one in _longer(early.drive[:onset], early.without[planes])]
        found[planes] = (sum(off) / onset if onset else math.inf, onset)
    if not found:
        return Quiet(0, False, [], [])
    least, onset = min(found.values())
    may = [planes for planes, (off, _) in found.items() if NEARER * off <= least]
    return Quiet(onset, 0 < onset < len(early.drive), [], [x for x in sizes if x[1] in may])


@dataclass(frozen=True)
class _Option:
    """What shows there, and the size of blocks that it is tried with."""

    base: Model
    channels: int
    size: tuple[int, int]

    def changed(self, base: Model) -> list[str]:
        """Keys that are others than in `base`."""
        keys = self.base.keys
        return [x for x in QUIET if x in keys and keys[x].value != base.keys[x].value]


def _models(base: Model, alike: Sequence[int], caches: Sequence[int]) -> list[tuple[int, Model]]:
    """With what shows there, and how many channels."""
    firsts = (1, 0) if "nand.suspend_program" in base.keys else (None,)
    found = []
    product = itertools.product(buffers(base), caches or (None,), alike, firsts)
    for buffer, cache, count, first in product:
        one = by_steps.with_channels(base, count) if len(alike) > 1 else base
        one = one.with_values({by_steps.BUFFER: buffer})
        if cache is not None:
            one = one.with_values({by_steps.CACHE: cache})
        if first is not None:
            one = one.with_values({by_steps.READS_FIRST: first})
        found.append((count, one))
    return found


def quiet(
    early: Early,
    base: Model,
    sizes: Sequence[tuple[int, int]],
    alike: Sequence[int],
    caches: Sequence[int] = (),
    cores: int = 1,
) -> Quiet:
    """What shows there; it is set, and what there still may be comes back.

    That is the write buffer's size; where the mapping is in flash also which of these sizes its
    cache has, the number of channels and of planes, and whether reads go first.  Where a page of a
    block may be of several types, which of them it is shows, too.
    """
    models = _models(base, alike, caches)
    some = list(sizes)
    typed = int(base.keys["nand.cell_bits"].value) > 1
    if not typed or len(models) * len(some) > TRIED_MOST:
        # All sizes look the same, or nearly.
        may = [sorted(one for one in sizes if one[1] == planes) for planes in PLANES]
        some = [of[len(of) // 2] for of in may if of]
    options = [_Option(one, count, size) for count, one in models for size in some]
    with ThreadPoolExecutor(cores) as pool:
        owns = list(pool.map(lambda one: _own(early, one.base, one.size), options))
        most = max(owns)
        best = [one for one, own in zip(options, owns, strict=True) if own == most]
        if most >= FEW:
            # What they are thought to be stays, unless others are nearer.
            of = min(best, key=lambda one: len(one.changed(base)))
            for name in of.changed(base):
                old = base.keys[name]
                base.set(name, of.base.keys[name].value, FITTED, old.note, old.interval)
        counts, planes_of = {one.channels for one in best}, {one.size[1] for one in best}
        sizes = [x for x in sizes if x[1] in planes_of]
        if typed:
            each = list(pool.map(lambda size: _own(early, base, size), sizes))
            most = max(each)
            sizes = [size for size, own in zip(sizes, each, strict=True) if own == most]
    left = {int(one.base.keys[by_steps.CACHE].value) for one in best} if caches else set()
    counts_left = [one for one in alike if one in counts]
    return Quiet(most, most >= FEW, counts_left, sizes, tuple(x for x in caches if x in left))


def _own(early: Early, base: Model, size: tuple[int, int]) -> int:
    """How many of the first requests are the drive's own, if nothing is collected."""
    roomy = sized(early.bench, base, _roomy(*size))
    requests = AT_FIRST
    while requests < len(early.drive):
        own = early.alike(roomy, requests).requests
        if own < requests:
            return own
        requests *= MORE_REQUESTS
    return early.alike(roomy).requests


def _roomy(pages: int, planes: int) -> Point:
    """So much is spare that nothing is collected."""
    return Point(pages, 2.0, 3_000_000, planes)


def buffers(base: Model) -> list[int]:
    """Sizes that the write buffer may have: the roundest of those that are near."""
    size = int(base.keys[by_steps.BUFFER].value)
    near = (by_steps.roundest(math.ceil(size * (1 - x)), int(size * (1 + x))) for x in BUFFER_OFF)
    return list(dict.fromkeys((size, *near)))
