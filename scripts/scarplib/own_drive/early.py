# SPDX-License-Identifier: GPL-2.0-or-later
"""How a drive begins to be overwritten: until its first collections, and through them.

In the replayer a probe is the same to the nanosecond.  One nanosecond that is wrong may bring all
that comes after it into another order; where the mapping is in flash it does.  How unlike the whole
is says little then.  But until there all is as the drive's.  So what is compared is how many of the
first parts of the step are the drive's own.

A probe of a device is another each time: no part of it is anybody's own, and nothing of this is
done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from scarplib.errors import UserError
from scarplib.own_drive import by_steps
from scarplib.own_drive.bench import OVERWRITE, Bench, Point, sized
from scarplib.own_drive.blocks import PLANES, TYPES
from scarplib.own_drive.model import FITTED, Model
from scarplib.own_drive.probe_file import PARTS

# What shows before the first collection.
QUIET = (
    by_steps.BUFFER,
    by_steps.CACHE,
    by_steps.CHANNELS,
    by_steps.WAYS,
    by_steps.READS_FIRST,
)
# The write buffer may be so far off: how fast it drains depends on which pages are next.
BUFFER_OFF = (0.0, 0.02, 0.05)


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

    def unlike(self, candidate: Model, first: int, count: int) -> list[float]:
        """Logarithms of so many rates, from this part on, as shares of the drive's."""
        first, until = min(first, PARTS - 1), min(PARTS, first + count)
        pairs = zip(self.parts(candidate, until)[first:], self.drive[first:until], strict=True)
        return [math.log(one / other) for one, other in pairs]

    def parts(self, candidate: Model, parts: int) -> list[float]:
        """Rates of the first parts; UserError if it is no drive."""
        with self.bench.begun(candidate, self.only) as state:
            if state:
                with self.bench.drive(candidate, state) as drive:
                    return drive.begin(self.step, self.bench.traces, parts)
        return self.bench.run(candidate, self.only).results[OVERWRITE].parts[:parts]


@dataclass(frozen=True)
class Quiet:
    """Before the first collection: so many parts; what channels there may be, sizes and planes."""

    parts: int
    # Is anything of it this program's?  Another simulator's times repeat, too.
    own: bool
    # Bytes a second of the next part, if nothing were collected in it.
    rate: float
    channels: list[int]
    sizes: list[tuple[int, int]]


def quiet(
    early: Early,
    base: Model,
    sizes: Sequence[tuple[int, int]],
    alike: Sequence[int],
    caches: Sequence[int] = (),
) -> Quiet:
    """What shows there; it is set, and what there still may be comes back.

    That is the write buffer's size; where the mapping is in flash also which of these sizes its
    cache has, the number of channels and of planes, and whether reads go first.
    """
    firsts = (1, 0) if "nand.suspend_program" in base.keys else (None,)
    # Sizes whose pages are of the drive's types in its order look the same here.
    may = [sorted(one for one in sizes if one[1] == planes) for planes in PLANES]
    some = [of[len(of) // 2] for of in may if of]
    found: list[tuple[int, int, int, Model, Model]] = []
    last, product = 0, itertools.product(_buffers(base), caches or (None,), alike, firsts, some)
    for buffer, cache, count, first, (pages, planes) in product:
        if buffer != last and any(one[0] for one in found):
            break
        last = buffer
        one = by_steps.with_channels(base, count) if len(alike) > 1 else base
        one = one.with_values({by_steps.BUFFER: buffer})
        if cache is not None:
            one = one.with_values({by_steps.CACHE: cache})
        if first is not None:
            one = one.with_values({by_steps.READS_FIRST: first})
        # So much is spare that nothing is collected.
        roomy = sized(early.bench, one, Point(pages, 2.0, 3_000_000, planes))
        parts = early.alike(roomy) if early.alike(roomy, 1) else 0
        found.append((parts, count, planes, one, roomy))
    most = max(one[0] for one in found)
    best = [one for one in found if one[0] == most]
    if most:

        def changed(one: Model) -> list[str]:
            return [x for x in QUIET if x in one.keys and one.keys[x].value != base.keys[x].value]

        # What they are thought to be stays, unless others are nearer.
        of = min((one[3] for one in best), key=lambda x: len(changed(x)))
        for name in changed(of):
            old = base.keys[name]
            base.set(name, of.keys[name].value, FITTED, old.note, old.interval)
    counts, planes_of = {one[1] for one in best}, {one[2] for one in best}
    try:
        rate = early.parts(best[0][4], min(PARTS, most + 1))[-1]
    except UserError:
        rate = early.drive[0]
    return Quiet(
        most,
        most > 0 or any(not early.bench.off(one[4], *TYPES) for one in found),
        rate,
        [x for x in alike if x in counts],
        [x for x in sizes if x[1] in planes_of],
    )


def _buffers(base: Model) -> list[int]:
    """Sizes that the write buffer may have: the roundest of those that are near."""
    size = int(base.keys[by_steps.BUFFER].value)
    near = (by_steps.roundest(math.ceil(size * (1 - x)), int(size * (1 + x))) for x in BUFFER_OFF)
    return list(dict.fromkeys((size, *near)))
