# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys that no step shows alone: each of what they may be together is tried."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from scarplib.errors import UserError
from scarplib.own_drive.bench import Bench, Point, Unlike, sized, unlike
from scarplib.own_drive.model import FITTED, OPEN, Model

ALLOCATION, STATIC, DYNAMIC = "ftl.allocation", "cwdp", "dynamic"
ACTIVE = "gc.separate_active_block"
# A figure that is off by ten times is wrong; how much more says nothing.  A median between a buffer
# and flash is off by ten thousand, or by nothing, as the blocks happen to be.
FAR = math.log(10) ** 2
# These keys have their usual values, unless others are clearly nearer to the drive.
USUAL: dict[str, int | str] = {ALLOCATION: STATIC, ACTIVE: 1}
# What a value that shows says of the drive.
MEANS = {
    (ALLOCATION, STATIC): "writes wait for their die; the order of dies is not asked",
    (ALLOCATION, DYNAMIC): "writes go round a die that collects; the order of dies is not asked",
    (ACTIVE, 1): "copies have a block of their own: often two collections come at once",
    (ACTIVE, 0): "copies go to the host's block: collections come one by one",
}
# What is said where neither value is clearly nearer.
OPEN_AS = {
    ALLOCATION: "whether writes go round a die that collects does not show",
    ACTIVE: "whether two collections come at once does not show",
}
# One allocation is told from the other if what it meets worse is so much less than what it meets
# better, and if that is not next to nothing.
CLEARLY, LEAST = 0.5, 0.3


def alternatives(base: Model) -> dict[str, tuple[int | str, ...]]:
    """Keys that no step shows alone, and what they may be; what the base has comes first."""
    found: dict[str, tuple[int | str, ...]] = {}
    # Overwriting shows neither: by then the blocks are known about as well with the one as with the
    # other.
    found[ACTIVE] = (1, 0)
    dies = 1
    for name in ("channels", "chips_per_channel", "dies_per_chip"):
        dies *= int(base.keys[f"geometry.{name}"].value)
    if dies > 1:
        found[ALLOCATION] = (STATIC, DYNAMIC)
    return found


def clearly(one: Unlike, other: Unlike) -> bool:
    """Is the first nearer to the drive?  What neither meets says nothing, however much it is."""
    differ = [min(FAR, other[name]) - min(FAR, one[name]) for name in one]
    better = sum(value for value in differ if value > 0)
    worse = -sum(value for value in differ if value < 0)
    return worse <= CLEARLY * better and better - worse >= LEAST


Values = tuple[int | str, ...]


def chosen(names: Sequence[str], found: dict[Values, Unlike]) -> tuple[Values, set[str]]:
    """The best, but what is not usual only if it is clearly that; and which keys show."""
    kept = [name for name in names if name in USUAL]
    best: dict[Values, Values] = {}
    for values in sorted(found, key=lambda one: sum(min(FAR, x) for x in found[one].values())):
        of = dict(zip(names, values, strict=True))
        best.setdefault(tuple(of[name] for name in kept), values)
    usual = tuple(USUAL[name] for name in kept)

    def nearer(one: Values, other: Values) -> bool:
        return clearly(found[best[one]], found[best[other]])

    def beside(one: Values, i: int) -> list[Values]:
        """What differs from it in this key alone."""
        return [x for x in best if x[i] != one[i] and x[:i] + x[i + 1 :] == one[:i] + one[i + 1 :]]

    picked, *others = sorted(best, key=lambda one: one != usual)
    for other in others:
        picked = other if nearer(other, picked) else picked
    for i in range(len(kept)):
        # What is not usual shows by itself, or it is not taken.
        for other in beside(picked, i):
            if other[i] == usual[i] and not nearer(picked, other):
                picked = other
    shows = {
        name
        for i, name in enumerate(kept)
        if (others := beside(picked, i)) and all(nearer(picked, other) for other in others)
    }
    return best[picked], shows


def choose(
    bench: Bench, base: Model, point: Point, keys: Sequence[str] = (), cores: int = 1
) -> None:
    """Of all that these keys may be together, what is most like the drive."""
    asked = {name: may for name, may in alternatives(base).items() if not keys or name in keys}
    only = tuple(bench.changing)

    def tried(values: Values) -> Unlike | None:
        candidate = sized(bench, base, point).with_values(dict(zip(asked, values, strict=True)))
        try:
            seen = bench.run(candidate, only)
        except UserError:
            return None
        return unlike(bench.probe, seen)

    may = list(itertools.product(*asked.values())) if asked else []
    with ThreadPoolExecutor(cores) as pool:
        each = zip(may, pool.map(tried, may), strict=True)
        found = {values: differ for values, differ in each if differ is not None}
    if not found:
        return
    values, shows = chosen(list(asked), found)
    for name, value in zip(asked, values, strict=True):
        if name in shows:
            base.set(name, value, FITTED, MEANS[name, value])
        elif name not in base.keys or base.keys[name].how == FITTED:
            base.set(name, value, OPEN, OPEN_AS[name])
