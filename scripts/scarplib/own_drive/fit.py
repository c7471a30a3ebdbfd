# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fit`: from a probe to a description.

What can be read off is (features, model); a few keys are then compared with a candidate's own probe
(by_steps).  Where no clock was between, the first collections say which blocks they are
(first_collections); else what only shows together is searched (blocks).  What no step shows alone
is tried (choices).  Each candidate is probed as the drive was, in the replayer.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from scarplib.own_drive import (
    blocks,
    by_steps,
    choices,
    early,
    features,
    figures,
    first_collections,
    model,
)
from scarplib.own_drive.bench import OVERWRITE, SEEN, Bench, Point, sized
from scarplib.own_drive.figures import Figure
from scarplib.own_drive.model import FITTED, OPEN, TRIGGER, Key, Model
from scarplib.own_drive.plan import MIB
from scarplib.own_drive.probe_file import Probe

SEARCHED = (
    "geometry.blocks_per_plane",
    "geometry.pages_per_block",
    "geometry.planes_per_die",
    "ftl.over_provisioning_permille",
    "timing.erase_ns",
)
TRIGGER_KEY = "gc.trigger_free_blocks"
# Of the time there is, what first collections may take; and by when the search by overwriting alone
# ends.
FIRST_SHARE, ROUGH_SHARE = 0.7, 0.85
# By all that collections show its best are compared that are at most so many times as unlike the
# drive as the first of them, and at most so many.
NEAR, NEAR_MOST = 3.0, 3
# A drive that is as near as this is found; else the rest of the time is used.
FOUND = 0.02
# Of keys that show only with the blocks so many combinations are looked at to the end.
VARIANTS = 3
# A probe may leave out such a share of the drive, or what is no whole MiB.
LEFT_OUT = 0.01
# One as near as this is the drive; so often all keys are looked at again.
EXACT, ROUNDS = 1e-4, 5

Search = blocks.Asked


@dataclass
class Fit:
    """A description, and how well it does."""

    model: Model
    # The result's own.
    probe: Probe
    figures: list[Figure] = field(default_factory=list)
    tried: int = 0
    misfit: float = math.inf

    def json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "schema": "scarp-fit-1",
            "keys": {name: asdict(key) for name, key in self.model.keys.items()},
            "figures": figures.for_programs(self.figures),
            "tried": self.tried,
            "misfit": self.misfit,
        }


def _near(search: blocks.Search, order: list[Point]) -> list[Point]:
    """The best, and those that are about as near."""
    least = search.score(order[0])
    near = [one for one in order[:NEAR_MOST] if search.score(one) <= NEAR * least + blocks.ALIKE]
    return [search.finer(one) for one in near] if len(near) > 1 else near


@dataclass
class _Best:
    """The nearest so far: its keys, its blocks, and how unlike the drive it is."""

    keys: dict[str, Key]
    point: Point
    least: float

    def see(self, base: Model, point: Point, least: float) -> None:
        """Another one, which may be as near."""
        if least <= self.least:
            self.keys, self.point, self.least = dict(base.keys), point, least


def _search(
    bench: Bench,
    base: Model,
    asked: Search,
    seen: features.Features,
    alike: list[int],
    caches: Sequence[int] = (),
) -> tuple[Model, int, float]:
    """Overwriting says roughly where, and costs little; then all that collections show."""
    search = blocks.Search(bench, base, asked)
    ends = search.ends
    asked.say(f"a search of at most {asked.seconds:.0f} s")
    search.ends = ends - (1 - FIRST_SHARE) * asked.seconds
    met: tuple[Model, Point] | None = None
    order: list[Point] = []
    if bench.probe.results[OVERWRITE].each:
        asked.say("how it begins to collect")
        met, alike, order = _first(search, base, alike, caches)
    # What was found by how it begins to collect is not looked for elsewhere.
    known = bool(met or order)
    if not known:
        asked.say("how it is overwritten")
        search.ends = ends - (1 - ROUGH_SHARE) * asked.seconds
        order = search.rough()
    search.ends = ends
    if met:
        base.keys |= met[0].keys
        point, least = met[1], search.with_base(base).score(met[1], SEEN)
        asked.say(f"its own first collections: by {least:.2g} unlike the drive")
    else:
        point, least = search.exact(_near(search, order))
    # Where time is over before the first round, these are known at least roughly.
    choices.choose(bench, base, point, cores=asked.cores)
    best = _Best(dict(base.keys), point, least)
    evolved = known
    for _ in range(ROUNDS):
        if least <= EXACT:
            break
        before = (base.text(), point)
        point, least = _variants(search, base, point, alike)
        choices.choose(bench, base, point, cores=asked.cores)
        if seen.buffer:
            by_steps.buffer(bench, base, seen, point)
        point, least = search.polish(point)
        best.see(base, point, least)
        asked.say(f"by {least:.2g} unlike the drive")
        if least <= EXACT or search.over():
            break
        if (base.text(), point) == before and (wider := search.wider(point)) != point:
            point = wider
        elif (base.text(), point) == before:
            if evolved or least <= FOUND:
                break
            asked.say("the search is gone on with")
            evolved = True
            point, least = search.evolve(point)
            best.see(base, point, least)
    base.keys = best.keys
    found = sized(bench, base, best.point)
    _say_how(search, found, best.point, best.least)
    return found, sum(len(one) for one in search.tried.values()), best.least


def _first(
    search: blocks.Search, base: Model, alike: list[int], caches: Sequence[int]
) -> tuple[tuple[Model, Point] | None, list[int], list[Point]]:
    """The drive by its first collections; else what channels may be, and blocks that are near."""
    begins = early.Early(search.bench, features.exactly(search.bench.probe))
    if begins.exact:
        shown = early.quiet(begins, base, search.sizes(), alike, caches, search.asked.cores)
        if shown.own:
            alike, search.may_be = shown.channels, shown.sizes
            if shown.requests == len(begins.drive):
                # It collects nothing there.
                return None, alike, []
            kinds = first_collections.begun(search, begins, base, shown)
            if met := first_collections.meet(search, begins, kinds, shown):
                return met, alike, []
    begins = early.Early(search.bench, exact=False)
    shown = early.noisy(begins, base, search.sizes())
    kinds = first_collections.begun(search, begins, base, shown) if shown.own else []
    return None, alike, first_collections.alike(kinds)


def _variants(
    search: blocks.Search, base: Model, point: Point, alike: list[int]
) -> tuple[Point, float]:
    """Numbers of channels whose reads look the same; and what else shows only with the blocks.

    Another number of channels has another erase's time that is the nearest.
    """
    may = [by_steps.with_channels(base, count) if len(alike) > 1 else base for count in alike]

    def of(one: Model) -> list[Model]:
        if "nand.suspend_program" not in base.keys:
            return [one]
        # Where a read suspends, whether it also goes first shows only in the sum; so do erases.
        names = ("controller.reads_first", "nand.suspend_erase")
        pairs = itertools.product((1, 0), repeat=2)
        return [one.with_values(dict(zip(names, pair, strict=True))) for pair in pairs]

    reads = "ftl.map_cache_bytes" in base.keys
    if reads:
        # Overwriting reads the map: these show there.
        may = [each for one in may for each in of(one)]

    def roughly(one: Model) -> tuple[float, Point]:
        way = search.with_base(one)
        at = way.nearer(point, (0.04, 0.015))
        return way.score(at), at

    with ThreadPoolExecutor(search.asked.cores) as pool:
        starts = list(zip(may, pool.map(roughly, may), strict=True))
        starts.sort(key=lambda x: x[1][0])
        del starts[VARIANTS:]
        points = list(pool.map(lambda x: search.with_base(x[0]).finer(x[1][1]), starts))
        tried = [
            (whole, replace(at, trigger=trigger))
            for (one, _), at in zip(starts, points, strict=True)
            for whole in ([one] if reads else of(one))
            for trigger in blocks.TRIGGERS
        ]
        scores = list(pool.map(lambda x: search.with_base(x[0]).score(x[1], SEEN), tried))
    least = min(scores)
    if least >= blocks.WORST:
        # Time was over.
        return point, least
    whole, found = tried[next(i for i, one in enumerate(scores) if one <= least + blocks.ALIKE)]
    base.keys |= whole.keys
    return found, least


def _say_how(search: blocks.Search, found: Model, point: Point, least: float) -> None:
    """Of what was searched: between what, and whether it shows."""
    near = [
        search.points[name]
        for name, value in search.tried.get(" ".join(SEEN), {}).items()
        if value <= 1.5 * least + blocks.ALIKE and name in search.points
    ]
    for name, key in found.keys.items():
        if key.how == FITTED and name in SEARCHED and near:
            values = [float(one.keys[name].value) for one in near]
            key.interval = (min(values), max(values))
    usual = "" if point.trigger == TRIGGER else "the nearest; "
    triggers = {one.keys[TRIGGER_KEY].value for one in near}
    if len(triggers) == 1 and least <= FOUND:
        found.set(TRIGGER_KEY, point.trigger, FITTED, "no other is as near")
    else:
        found.set(TRIGGER_KEY, point.trigger, OPEN, f"{usual}adds to what is spare and never used")


def of_all(probe: Probe) -> bool:
    """Is it of the whole drive?  Else it collects less than a full one, or nothing."""
    whole: int = probe.source["bytes"]
    return whole - probe.span < max(MIB, LEFT_OUT * whole)


def fit(probe: Probe, replay: Path, search: Search) -> Fit:
    """A description whose probe is like this one."""
    seen = features.read_off(probe)
    base = model.from_features(seen)
    with tempfile.TemporaryDirectory(prefix="scarp-fit-") as scratch:
        bench = Bench(probe, replay, Path(scratch), seen.map_cached is not None)
        alike, caches = by_steps.channels(bench, base), []
        by_steps.times(bench, base, seen)
        if seen.buffer:
            search.say("the write buffer's size")
            by_steps.buffer(bench, base, seen)
        if seen.map_cached:
            search.say("the map's cache")
            caches = by_steps.cache(bench, base)
        by_steps.reads_first(bench, base)
        found, tried, least = _search(bench, base, search, seen, alike, caches)
        if not of_all(probe):
            for name in SEARCHED:
                if name in found.keys and found.keys[name].how == FITTED:
                    found.set(name, found.keys[name].value, OPEN, "the probe is of a part alone")
        search.say("the result's own probe")
        own = bench.run(found, held_out=True)
        return Fit(found, own, figures.compare(probe, own), tried, least)
