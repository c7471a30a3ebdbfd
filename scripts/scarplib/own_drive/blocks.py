# SPDX-License-Identifier: GPL-2.0-or-later
"""The search of what only shows together: blocks, what they have to spare, how long an erase takes.

First a grid; from its best each size of blocks goes its own way down, one step at a time; the best
of them by Nelder and Mead's method, which follows a valley.  All of that compares how a drive is
overwritten, which costs little and says most.  Then all that collections show decides.

Candidates are remembered in a file, with the probe and the program that they are of, so that a
search can be gone on with.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import resource
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.build import locks
from scarplib.errors import UserError
from scarplib.own_drive import model
from scarplib.own_drive.bench import SEEN, Bench, Point, misfit, program, sized
from scarplib.own_drive.model import Model
from scarplib.own_drive.probe_file import Probe

BLOCK_PAGES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
# Logarithm of an erase's nanoseconds; planes of a die; what may be spare.
ERASES, PLANES, SPARE = (5.5, 7.3), (1, 2), (0.005, 2.0)
# Fewer blocks than these of a plane are no drive's.
LEAST_BLOCKS = 8
WORST = 1e3
ROUGH = ("overwrite",)
# The grid: pages of a block, what is spare, an erase's time.
GRID_PAGES = (32, 64, 128, 256)
GRID_SPARE = tuple(0.03 * 20 ** (i / 9) for i in range(10))
GRID_ERASE_NS = (1_800_000, 6_000_000)
# Steps of single programs.  Sizes of blocks stay if their programs are at most so much more unlike
# the drive's than the nearest's: so many times, and this besides.
TYPES, TYPES_NEAR, TYPES_ALIKE = ("write-size", "write-flush"), 4.0, 0.05
# So many sizes of blocks go down, so many of these into a valley, and each tries so many there.
DOWN, VALLEYS, TRIES = 12, 5, 45
# Of each size of blocks erases are tried that take so much longer, as logarithms.
LONGER = (-0.3, 0.0, 0.3, 0.6)
# One that is so much less like the drive than the best has no valley to it.
VALLEY_NEAR = 50
TRIGGERS = (3, 2, 4)
# Two that differ by less are alike, and so is a drive that a candidate differs from by less.
ALIKE = 1e-3
# So near is only the drive itself, if no time is noise.
EQUAL = 1e-9
# Steps of an erase's time, as logarithms.
FINER = (0.04, 0.015, 0.005, 0.002)
# An erase's time has so many digits; so near, as a logarithm, a rounder one is looked for.
DIGITS, ROUNDER, WIDER = 4, 0.0004, 0.0016


def processor_s() -> float:
    """Of this process and of those that it waited for: the machine may have other work."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass
class Asked:
    """What a search is bounded by; seconds are the processor's."""

    seed: int = 1
    cores: int = 1
    seconds: float = 600
    memory: Path | None = None
    say: Callable[[str], None] = lambda _: None


def of_what(probe: Probe, replay: Path) -> str:
    """Which drive a misfit is of, and which engine and scripts found it: another's says nothing."""
    whole = json.dumps(asdict(probe), sort_keys=True) + locks.file_sha256(replay) + program()
    return hashlib.sha256(whole.encode()).hexdigest()[:20]


def remembered(path: Path, of: str) -> dict[str, dict[str, float]]:
    """Misfits by steps and candidate.  The last line may be a part: a search can be killed."""
    found: dict[str, dict[str, float]] = {}
    for line in path.read_text(errors="replace").splitlines() if path.is_file() else ():
        with contextlib.suppress(ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            one = json.loads(line)
            if one["of"] == of:
                found.setdefault(one["steps"], {})[one["keys"]] = float(one["misfit"])
    return found


class Search:
    """Candidates, each tried once."""

    def __init__(self, bench: Bench, base: Model, asked: Asked) -> None:
        self.bench, self.base, self.asked = bench, base, asked
        self.of = of_what(bench.probe, bench.replay)
        self.tried = remembered(asked.memory, self.of) if asked.memory else {}
        self.points: dict[str, Model] = {}
        self.faster: dict[Point, bool] = {}
        self.ends = processor_s() + asked.seconds
        # What is in the map's cache is not asked for, until the blocks are roughly known.
        self.quick = False
        self.may_be: list[tuple[int, int]] = []

    def with_base(self, base: Model) -> Search:
        """The same, which remembers the same, of another base."""
        other = copy.copy(self)
        other.base, other.faster = base, {}
        return other

    def over(self) -> bool:
        """Has it had its time?"""
        return processor_s() > self.ends

    def score(self, point: Point, seen: tuple[str, ...] = ROUGH) -> float:
        """How unlike the drive a candidate is, in these steps; WORST when time is over."""
        candidate = sized(self.bench, self.base, point)
        only = self.bench.up_to(*seen, quick=self.quick)
        name, steps = candidate.text(), " ".join((*seen, "quick") if self.quick else seen)
        tried = self.tried.setdefault(steps, {})
        self.points[name] = candidate
        if name not in tried:
            if self.over():
                return WORST
            try:
                found = self.bench.run(candidate, only)
                tried[name] = misfit(self.bench.probe, found, seen)
            except UserError:
                tried[name] = WORST
            if self.asked.memory:
                line = {"of": self.of, "steps": steps, "keys": name, "misfit": tried[name]}
                # A line of its own, whatever a killed search left behind.
                try:
                    with self.asked.memory.open("a") as stream:
                        stream.write("\n" + json.dumps(line) + "\n")
                except OSError as error:
                    raise UserError(f"--out: {self.asked.memory}: {error.strerror}") from error
        return tried[name]

    # ---- Points ----------------------------------------------------------------------------------

    def data_pages(self, planes: int) -> int:
        """Of a plane, for what the host sees."""
        whole = self.base.with_values({"geometry.planes_per_die": planes})
        return model.data_pages(whole, self.bench.probe.source["bytes"])

    def blocks(self, point: Point) -> int:
        """Of a plane."""
        return model.block_count(
            self.data_pages(point.planes), point.pages, point.spare, point.trigger
        )

    def with_blocks(self, point: Point, count: int) -> Point:
        """The same with so many of a plane."""
        room = (count - point.trigger) * point.pages
        return replace(point, spare=room / self.data_pages(point.planes) - 1)

    def is_drive(self, point: Point) -> bool:
        """Are there blocks enough?"""
        return self.data_pages(point.planes) >= LEAST_BLOCKS * point.pages

    # ---- Ways down -------------------------------------------------------------------------------

    def _by(self, point: Point, step: float, move: Callable[[Point, float], Point]) -> Point:
        """As far as it gets better, with this step or against it."""
        best = self.score(point)
        for sign in (1, -1):
            moved = False
            while (other := move(point, sign * step)) != point and self.score(other) < best:
                point, best, moved = other, self.score(other), True
            if moved:
                break
        return point

    def _more_blocks(self, point: Point, step: float) -> Point:
        count = max(4, self.blocks(point) + round(step))
        other = self.with_blocks(point, count)
        return other if SPARE[0] <= other.spare <= SPARE[1] else point

    def _longer(self, point: Point, step: float) -> Point:
        erase = round(point.erase_ns * 10**step)
        return replace(point, erase_ns=erase) if _may(erase) else point

    def down(self, point: Point) -> Point:
        """One step at a time; of some erase times each has its own number of blocks.

        A few blocks less with a longer erase are about as fast: one way down ends where it began.
        """
        ways, here = [], point
        for by in LONGER:
            longer = round(point.erase_ns * 10**by)
            if not _may(longer):
                continue
            here = replace(here, erase_ns=longer)
            step = max(1, self.blocks(here) // 24)
            while step >= max(1, self.blocks(here) // 96):
                here = self._by(here, step, self._more_blocks)
                step //= 2
            ways.append(here)
        return self._by(min(ways or [point], key=self.score), 0.1, self._longer)

    def valley(self, point: Point) -> Point:
        """By Nelder and Mead's method, in what is spare and the erase's time together."""
        # Nothing else needs SciPy.
        from scipy.optimize import minimize

        def at(x: Any) -> Point:
            spare = min(SPARE[1], max(SPARE[0], float(x[0])))
            erase = round(10 ** min(ERASES[1], max(ERASES[0], float(x[1]))))
            return replace(point, spare=spare, erase_ns=erase)

        first = [point.spare, math.log10(point.erase_ns)]
        corners = [[first[0] * 1.1, first[1] + 0.1], [first[0] * 1.03, first[1] + 0.25]]
        found = minimize(
            lambda x: self.score(at(x)),
            first,
            method="Nelder-Mead",
            options={
                "initial_simplex": [first, *corners],
                "maxfev": TRIES,
                "xatol": 1e-3,
                "fatol": 1e-6,
            },
        )
        return at(found.x)

    # ---- The whole -------------------------------------------------------------------------------

    def _grid(self) -> list[Point]:
        points = [
            Point(pages, spare, erase, 1)
            for pages in GRID_PAGES
            for spare in GRID_SPARE
            for erase in GRID_ERASE_NS
        ]
        return [one for one in points if self.is_drive(one)] or points[:1]

    def _all_sizes(self, scanned: Sequence[Point]) -> list[Point]:
        """Of each size of blocks two that follow from the grid's best of about that size."""
        found: list[Point] = []
        for planes in PLANES:
            for pages in BLOCK_PAGES:

                def far(one: Point, pages: int = pages) -> float:
                    return self.score(one) * (1 + abs(math.log2(one.pages / pages)))

                for one in sorted(scanned, key=far)[:2]:
                    # So much time for each page stays.
                    erase = one.erase_ns * pages * planes // one.pages
                    point = Point(pages, one.spare, _nearest(erase), planes)
                    if self.is_drive(point):
                        found.append(point)
        return found or list(scanned)

    def sizes(self) -> list[tuple[int, int]]:
        """Sizes of blocks, and planes, whose pages are of the drive's types in its order.

        Where all pages are of one type that is all of them.
        """
        if not self.may_be:
            self.may_be = self._sizes()
        return self.may_be

    def _sizes(self) -> list[tuple[int, int]]:
        sizes = [(pages, planes) for planes in PLANES for pages in BLOCK_PAGES]

        def off(size: tuple[int, int]) -> float:
            point = Point(size[0], SPARE[1], 3_000_000, size[1])
            return self.bench.off(sized(self.bench, self.base, point), *TYPES)

        with ThreadPoolExecutor(self.asked.cores) as pool:
            unlike = dict(zip(sizes, pool.map(off, sizes), strict=True))
        most = TYPES_NEAR * min(unlike.values()) + TYPES_ALIKE
        return [size for size, one in unlike.items() if one <= most]

    def rough(self) -> list[Point]:
        """By what overwriting shows; the best first, one of each size of blocks."""
        self.quick = "ftl.map_cache_bytes" in self.base.keys
        try:
            return self._rough()
        finally:
            self.quick = False

    def _rough(self) -> list[Point]:
        with ThreadPoolExecutor(self.asked.cores) as pool:

            def best(points: Iterable[Point]) -> list[Point]:
                points = list(dict.fromkeys(points))
                scores = list(pool.map(self.score, points))
                order = sorted(range(len(points)), key=scores.__getitem__)
                return [points[i] for i in order]

            scanned = best(self._grid())
            kept = self.sizes()
            sizes = [one for one in self._all_sizes(scanned) if (one.pages, one.planes) in kept]
            sizes = _one_of_each(best(sizes or scanned))
            sizes = best(pool.map(self.down, sizes[:DOWN]))
            near = self.score(sizes[0]) * VALLEY_NEAR
            into = [one for one in sizes[:VALLEYS] if self.score(one) <= near and not self.over()]
            return best([*pool.map(self.valley, into), *sizes[len(into) :]])

    def each(self, points: Sequence[Point], seen: tuple[str, ...] = ROUGH) -> list[float]:
        """Scores, as many at once as there are cores for."""
        with ThreadPoolExecutor(self.asked.cores) as pool:
            return list(pool.map(lambda one: self.score(one, seen), points))

    def exact(self, points: Sequence[Point]) -> tuple[Point, float]:
        """By all that collections show, the best of these, with what a plane may keep free."""
        may = [replace(one, trigger=trigger) for one in points for trigger in TRIGGERS]
        scores = self.each(may, SEEN)
        # How many blocks are kept free does not show where it makes no difference.
        at = next(i for i, score in enumerate(scores) if score <= min(scores) + ALIKE)
        return may[at], scores[at]

    def polish(self, point: Point) -> tuple[Point, float]:
        """The best of what is beside a point, by all that collections show."""
        count = self.blocks(point)
        finer = self.finer(point)
        may = [point, finer, *(self.with_blocks(finer, count + more) for more in (1, -1))]
        scores = self.each(may, SEEN)
        best = min(range(len(may)), key=scores.__getitem__)
        return may[best], scores[best]

    def evolve(self, point: Point) -> tuple[Point, float]:
        """What differential evolution finds around a point, by all that collections show."""
        # Nothing else needs SciPy.
        from scipy.optimize import differential_evolution

        at, erase = BLOCK_PAGES.index(point.pages), math.log10(point.erase_ns)
        bounds = [
            (max(0, at - 1), min(len(BLOCK_PAGES) - 1, at + 1)),
            (max(SPARE[0], point.spare - 0.03), point.spare + 0.03),
            (max(ERASES[0], erase - 0.3), min(ERASES[1], erase + 0.3)),
            (PLANES[0], PLANES[-1]),
        ]

        def of(x: Any) -> Point:
            pages, planes = BLOCK_PAGES[round(float(x[0]))], round(float(x[3]))
            return Point(pages, float(x[1]), round(10 ** float(x[2])), planes, point.trigger)

        with ThreadPoolExecutor(self.asked.cores) as pool:
            best = differential_evolution(
                lambda x: self.score(of(x), SEEN),
                bounds,
                x0=[at, point.spare, erase, point.planes],
                integrality=[True, False, False, True],
                maxiter=60,
                popsize=6,
                tol=1e-6,
                polish=False,
                init="sobol",
                seed=self.asked.seed,
                updating="deferred",
                workers=pool.map,
                callback=lambda *_, **__: self.over(),
            )
        return of(best.x), float(best.fun)

    def nearer(self, point: Point, steps: Sequence[float] = FINER) -> Point:
        """With an erase's time that is nearer to the drive's; steps are logarithms."""
        for step in steps:
            point = self._by(point, step, self._longer)
        return point

    def finer(self, point: Point) -> Point:
        """An erase's time to a thousandth, of as many blocks and of one more or less."""

        def precise(one: Point) -> Point:
            one = self.nearer(one)
            return min((one, self._as_fast(one)), key=self.score)

        found = self._rounder(precise(point))
        if self.score(found) > EQUAL:
            count = self.blocks(point)
            beside = [precise(self.with_blocks(point, count + more)) for more in (1, -1)]
            other = min(beside, key=self.score)
            if self.score(other) < self.score(found):
                found = self._rounder(other)
        return found

    def _as_fast(self, point: Point) -> Point:
        """With an erase's time that lets it be overwritten as fast as the drive, if one near does.

        The rate falls with it; how unlike two drives are has valleys that are no way down.
        """
        low, high = (replace(point, erase_ns=round(point.erase_ns * by)) for by in (0.97, 1.03))
        if not self._faster(low) or self._faster(high):
            return point
        while high.erase_ns - low.erase_ns > max(1, low.erase_ns // 4000) and not self.over():
            middle = replace(point, erase_ns=(low.erase_ns + high.erase_ns) // 2)
            low, high = (middle, high) if self._faster(middle) else (low, middle)
        return high

    def _faster(self, point: Point) -> bool:
        """Than the drive, when it is overwritten."""
        if point not in self.faster:
            try:
                candidate = sized(self.bench, self.base, point)
                found = self.bench.run(candidate, self.bench.up_to(*ROUGH))
                rates = [one.results[ROUGH[0]].bytes_per_s for one in (found, self.bench.probe)]
                self.faster[point] = rates[0] > rates[1]
            except UserError:
                self.faster[point] = False
        return self.faster[point]

    def wider(self, point: Point) -> Point:
        """A round erase's time that is a little further off, if it is nearer to the drive."""
        return self._rounder(point, WIDER)

    def _rounder(self, point: Point, far: float = ROUNDER) -> Point:
        """An erase's time of fewer digits, if that is as near to the drive."""
        # People give four digits at most.
        grain = 10 ** max(0, len(str(point.erase_ns)) - DIGITS)
        low, high = (round(point.erase_ns * 10**by) for by in (-far, far))
        may = [
            replace(point, erase_ns=erase)
            for erase in range(-(-low // grain) * grain, high + 1, grain)
            if _may(erase)
        ]
        best = min(may, key=self.score, default=point)
        return best if self.score(best) <= self.score(point) else point


def _may(erase_ns: int) -> bool:
    return ERASES[0] <= math.log10(max(1, erase_ns)) <= ERASES[1]


def _nearest(erase_ns: int) -> int:
    return round(min(10 ** ERASES[1], max(10 ** ERASES[0], erase_ns)))


def _one_of_each(points: Iterable[Point]) -> list[Point]:
    """The first of each size of blocks."""
    found: dict[tuple[int, int], Point] = {}
    for one in points:
        found.setdefault((one.pages, one.planes), one)
    return list(found.values())
