# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fit`: from a probe to a description.

What can be read off is (features, model).  What only shows together, the blocks and what they
have to spare, is searched by SciPy's differential evolution: each candidate is probed as the drive
was, in the replayer.  Candidates are remembered in a file, with the probe and the program that they
are of, so that a search can be gone on with.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import resource
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build import locks
from scarplib.errors import UserError
from scarplib.own_drive import features, figures, model, on_replayer
from scarplib.own_drive.figures import Figure
from scarplib.own_drive.model import FITTED, OPEN, Model
from scarplib.own_drive.plan import Plan, Step
from scarplib.own_drive.probe_file import PARTS, Probe

BLOCK_PAGES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
# Steps that say what collections do; the others go before them, and cost little.
SEEN = ("overwrite", "steady", "steady-1", "mixed", "spaced")
SEARCHED = (
    "geometry.blocks_per_plane",
    "geometry.pages_per_block",
    "geometry.planes_per_die",
    "ftl.over_provisioning_permille",
    "timing.erase_ns",
)
# Logarithm of an erase's nanoseconds; planes of a die.
ERASES, PLANES = (5.7, 7.2), (1.0, 2.0)
WORST = 1e3
ALLOCATION, STATIC, DYNAMIC = "ftl.allocation", "cwdp", "dynamic"
ACTIVE = "gc.separate_active_block"
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
# A figure that is off by ten times is wrong; how much more says nothing.  A median between a buffer
# and flash is off by ten thousand, or by nothing, as the blocks happen to be.
FAR = math.log(10) ** 2


def _processor_s() -> float:
    """Of this process and of those that it waited for: the machine may have other work."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass
class Search:
    """What a search is bounded by; seconds are the processor's."""

    seed: int = 1
    cores: int = 1
    seconds: float = 600
    memory: Path | None = None
    say: Callable[[str], None] = lambda _: None


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


class _Bench:
    """The drive's probe, and what candidates are measured with."""

    def __init__(self, probe: Probe, replay: Path, scratch: Path) -> None:
        if not probe.known:
            raise UserError("this probe is not whole: it has no second part")
        self.probe, self.replay, self.scratch = probe, replay, scratch
        self.plan = Plan(probe.span, probe.seed)
        self.traces = on_replayer.Traces(scratch)
        steps: list[Step] = [*self.plan.first(), *self.plan.second(probe.known)]
        self.changing = [step.name for step in steps if step.changes]
        self.changing = [name for name in self.changing if not name.startswith("footprint")]
        for step in steps:
            self.traces.path(step)

    def run(self, candidate: Model, only: tuple[str, ...] = (), held_out: bool = False) -> Probe:
        """A candidate's probe; UserError if it is no drive."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            path = Path(folder) / "candidate.ini"
            candidate.write(path)
            drive = on_replayer.Replayed(self.replay, path, Path(folder))
            return on_replayer.probe(
                drive,
                self.plan,
                traces=self.traces,
                known=self.probe.known,
                size=self.plan.span,
                held_out=held_out,
                only=only,
            )


# Of each figure of each step: how unlike two probes are, as a square of a logarithm.
Unlike = dict[tuple[str, str], float]


def unlike(drive: Probe, candidate: Probe, steps: tuple[str, ...] = SEEN) -> Unlike:
    """How unlike the two are, in what collections show, figure by figure."""
    found: Unlike = {}
    for name in steps:
        if name not in drive.results:
            continue
        one, other = drive.results[name], candidate.results[name]
        found[name, "rate"] = 4 * math.log(one.bytes_per_s / other.bytes_per_s) ** 2
        for kind in ("reads", "writes"):
            a, b = getattr(one, kind), getattr(other, kind)
            if a and b:
                found[name, kind] = math.log(max(1, a.mean) / max(1, b.mean)) ** 2
                for point in ("p50", "p90", "p99"):
                    ratio = max(1, a.points[point]) / max(1, b.points[point])
                    found[name, f"{kind} {point}"] = math.log(ratio) ** 2
        if name == "overwrite" and one.parts:
            # The bytes written by each time: where it falls, and how far.
            pairs = zip(_reached(one.parts), _reached(other.parts), strict=True)
            found[name, "parts"] = sum(8 / PARTS * math.log(a / b) ** 2 for a, b in pairs)
    return found


def misfit(drive: Probe, candidate: Probe, steps: tuple[str, ...] = SEEN) -> float:
    """All of it together."""
    return sum(unlike(drive, candidate, steps).values())


def _reached(parts: list[float]) -> list[float]:
    """The mean time of each byte up to the end of each part."""
    found, total = [], 0.0
    for i, rate in enumerate(parts):
        total += 1 / rate
        found.append(total / (i + 1))
    return found


def roundest(low: int, high: int) -> int:
    """Of low … high the multiple of the greatest power of two: sizes are chosen by people."""
    step = 1 << max(high, 1).bit_length()
    while step > 1 and high // step * step < low:
        step //= 2
    return high // step * step


def _bisect(
    bench: _Bench, base: Model, name: str, step: str, measure: Callable[[Probe], float], grain: int
) -> None:
    """A key that one step shows, the more the higher."""
    wanted = measure(bench.probe)
    low, high = grain, max(4 * grain, 2 * int(base.keys[name].value) // grain * grain)
    lead = bench.changing[: bench.changing.index(step) + 1] if step in bench.changing else [step]
    only = tuple(dict.fromkeys([*lead, step]))
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


@dataclass(frozen=True)
class _Point:
    """What is searched: the blocks, what they have to spare, how long an erase takes."""

    pages: int
    spare: float
    erase_ns: int
    planes: int

    @classmethod
    def of(cls, x: Any) -> _Point:
        """As the optimiser has it."""
        pages = BLOCK_PAGES[round(float(x[0]))]
        return cls(pages, float(x[1]), round(10 ** float(x[2])), round(float(x[3])))

    def x(self) -> list[float]:
        """As the optimiser has it."""
        return [BLOCK_PAGES.index(self.pages), self.spare, math.log10(self.erase_ns), self.planes]


def _sized(bench: _Bench, base: Model, point: _Point) -> Model:
    found = base.with_values({"geometry.planes_per_die": point.planes})
    values = model.blocks(found, bench.probe.source["bytes"], point.pages, point.spare)
    return found.with_values({**values, "timing.erase_ns": point.erase_ns})


def _roomy(bench: _Bench, base: Model) -> Model:
    """With so much to spare that nothing is collected."""
    return _sized(bench, base, _Point(64, 2.0, 3_000_000, 1))


def of_what(probe: Probe, replay: Path) -> str:
    """Which drive a misfit is of, and which engine found it: another's says nothing here."""
    whole = json.dumps(asdict(probe), sort_keys=True) + locks.file_sha256(replay)
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


class _Search:
    """Candidates, each tried once."""

    def __init__(self, bench: _Bench, base: Model, asked: Search) -> None:
        self.bench, self.base, self.asked = bench, base, asked
        self.of = of_what(bench.probe, bench.replay)
        self.tried = remembered(asked.memory, self.of) if asked.memory else {}
        self.points: dict[str, Model] = {}
        self.ends = 0.0

    def score(self, x: Any, seen: tuple[str, ...]) -> float:
        """How unlike the drive a candidate is, in these steps; WORST when time is over."""
        candidate = _sized(self.bench, self.base, _Point.of(x))
        name, steps = candidate.text(), " ".join(seen)
        tried = self.tried.setdefault(steps, {})
        self.points[name] = candidate
        if name not in tried:
            if _processor_s() > self.ends:
                return WORST
            try:
                last = self.bench.changing.index(seen[-1]) + 1
                found = self.bench.run(candidate, (*self.bench.changing[:last], *seen))
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

    def run(
        self,
        seen: tuple[str, ...],
        bounds: list[tuple[float, float]],
        seconds: float,
        first: _Point | None = None,
    ) -> tuple[_Point, float]:
        """The best of these bounds, in the time there is."""
        # Nothing else needs SciPy.
        from scipy.optimize import differential_evolution

        self.ends = _processor_s() + seconds
        with ThreadPoolExecutor(self.asked.cores) as pool:
            best = differential_evolution(
                self.score,
                bounds,
                args=(seen,),
                x0=first.x() if first else None,
                integrality=[True, False, False, True],
                maxiter=60,
                popsize=6,
                tol=1e-6,
                polish=False,
                init="sobol",
                seed=self.asked.seed,
                updating="deferred",
                workers=pool.map,
                callback=lambda *_, **__: _processor_s() > self.ends,
            )
        return _Point.of(best.x), float(best.fun)


def _near(point: _Point) -> list[tuple[float, float]]:
    """Bounds around a point."""
    pages = BLOCK_PAGES.index(point.pages)
    erase = math.log10(point.erase_ns)
    return [
        (max(0, pages - 1), min(len(BLOCK_PAGES) - 1, pages + 1)),
        (max(0.005, point.spare - 0.03), point.spare + 0.03),
        (max(ERASES[0], erase - 0.3), min(ERASES[1], erase + 0.3)),
        PLANES,
    ]


def _alternatives(base: Model) -> dict[str, tuple[int | str, ...]]:
    """Keys that no step shows alone, and what they may be; what the base has comes first."""
    found: dict[str, tuple[int | str, ...]] = {}
    if "nand.suspend_program" in base.keys:
        # Where a read suspends, whether it also goes first shows only in the sum; so do erases.
        found |= {"controller.reads_first": (1, 0), "nand.suspend_erase": (1, 0)}
    # Nor does overwriting show either of these: by then the blocks are known about as well with the
    # one as with the other.
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


def _choices(bench: _Bench, base: Model, point: _Point, keys: Sequence[str] = ()) -> None:
    """Of all that these keys may be together, what is most like the drive."""
    asked = {name: may for name, may in _alternatives(base).items() if not keys or name in keys}
    only = tuple(bench.changing)
    found: dict[Values, Unlike] = {}
    for values in itertools.product(*asked.values()) if asked else ():
        candidate = _sized(bench, base, point).with_values(dict(zip(asked, values, strict=True)))
        try:
            seen = bench.run(candidate, only)
        except UserError:
            continue
        found[values] = unlike(bench.probe, seen)
        if "nand.suspend_program" in base.keys:
            found[values]["behind", "reads"] = features.unlike_behind(bench.probe, seen)
    if not found:
        return
    values, shows = chosen(list(asked), found)
    for name, value in zip(asked, values, strict=True):
        if name not in USUAL:
            base.set(name, value, FITTED)
        elif name in shows:
            base.set(name, value, FITTED, MEANS[name, value])
        elif name not in base.keys or base.keys[name].how == FITTED:
            base.set(name, value, OPEN, OPEN_AS[name])


def _search(bench: _Bench, base: Model, asked: Search) -> tuple[Model, int, float]:
    """Overwriting says roughly where, and costs little; then all that collections show."""
    search = _Search(bench, base, asked)
    asked.say(f"a search of at most {asked.seconds:.0f} s")
    guess = features.spare(bench.probe)
    everywhere: list[tuple[float, float]] = [
        (0, len(BLOCK_PAGES) - 1),
        (0.5 * guess, 1.6 * guess + 0.05),
        ERASES,
        PLANES,
    ]
    first = _Point(128, guess, 3_000_000, 1)
    rough, _ = search.run(SEEN[:1], everywhere, 0.6 * asked.seconds, first)
    _choices(bench, base, rough)
    point, least = search.run(SEEN, _near(rough), 0.4 * asked.seconds, rough)
    again = tuple(name for name in _alternatives(base) if name in USUAL)
    if again:
        # Where the blocks are known better, it may show that they are another drive's.
        before = [base.keys[name].value for name in again if name in base.keys]
        _choices(bench, base, point, again)
        if [base.keys[name].value for name in again if name in base.keys] != before:
            asked.say("the search is gone on with, with what was chosen now")
            point, least = search.run(SEEN, _near(point), 0.4 * asked.seconds, point)
    found = _sized(bench, base, point)
    tried = search.tried[" ".join(SEEN)]
    near = [
        search.points[name]
        for name, value in tried.items()
        if value <= 1.5 * least + 1e-3 and name in search.points
    ]
    for name, key in found.keys.items():
        if key.how == FITTED and name in SEARCHED and near:
            values = [float(one.keys[name].value) for one in near]
            key.interval = (min(values), max(values))
    return found, sum(len(one) for one in search.tried.values()), least


def fit(probe: Probe, replay: Path, search: Search) -> Fit:
    """A description whose probe is like this one."""
    seen = features.read_off(probe)
    base = model.from_features(seen)
    with tempfile.TemporaryDirectory(prefix="scarp-fit-") as scratch:
        bench = _Bench(probe, replay, Path(scratch))
        if seen.buffer:
            search.say("the write buffer's size")
            _buffer(bench, base, seen)
        if seen.map_cached:
            search.say("the map's cache")
            _cache(bench, base)
        found, tried, least = _search(bench, base, search)
        search.say("the result's own probe")
        own = bench.run(found, held_out=True)
        return Fit(found, own, figures.compare(probe, own), tried, least)


def _buffer(bench: _Bench, base: Model, seen: features.Features) -> None:
    roomy = _roomy(bench, base)

    def taken(probe: Probe) -> float:
        return float(features.burst(probe, seen))

    _bisect(bench, roomy, "controller.buffer_bytes", "burst", taken, max(seen.page, 16384))
    base.keys["controller.buffer_bytes"] = roomy.keys["controller.buffer_bytes"]


def _cache(bench: _Bench, base: Model) -> None:
    name = "ftl.map_cache_bytes"
    steps = [f"footprint-{size >> 20}" for size in bench.plan.footprints()]
    roomy = _roomy(bench, base)

    def hits(probe: Probe) -> float:
        return -sum(features.map_misses(probe).values())

    wanted = hits(bench.probe)
    only = ("fill", "read-single", *steps, *(f"{step}-before" for step in steps))
    low, high = 1024, 2 * int(base.keys[name].value)
    while high - low > max(512, high // 200):
        middle = (low + high) // 2 // 8 * 8
        try:
            reached = hits(bench.run(roomy.with_values({name: middle}), only))
        except UserError:
            reached = -math.inf
        low, high = (middle, high) if reached < wanted else (low, middle)
    base.set(name, high, FITTED, interval=(low, high))
