# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive's probe beside a candidate's: what measures candidates, and how unlike they are."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import tree_hash
from scarplib.errors import UserError
from scarplib.own_drive import before, features, model, on_replayer
from scarplib.own_drive.model import TRIGGER, Model
from scarplib.own_drive.plan import Plan, Step
from scarplib.own_drive.probe_file import PARTS, Probe

OVERWRITE = "overwrite"
# Steps that say what collections do; the others go before them, and cost little.
SEEN = ("behind", OVERWRITE, "steady", "steady-1", "mixed", "spaced")
# Of each figure of each step: how unlike two probes are, as a square of a logarithm.
Unlike = dict[tuple[str, str], float]


class Bench:
    """The drive's probe, and what candidates are measured with."""

    def __init__(self, probe: Probe, replay: Path, scratch: Path, map_cached: bool = False) -> None:
        if not probe.known:
            raise UserError("this probe is not whole: it has no second part")
        self.probe, self.replay, self.scratch = probe, replay, scratch
        self.plan = Plan(probe.span, probe.seed)
        self.traces = on_replayer.Traces(scratch)
        self.steps: list[Step] = [*self.plan.first(), *self.plan.second(probe.known)]
        self.order = [step.name for step in self.steps]
        self.changing = [step.name for step in self.steps if step.changes]
        if not map_cached:
            # What they leave behind is in the map's cache alone.
            self.changing = [one for one in self.changing if not one.startswith("footprint")]
        for step in self.steps:
            self.traces.path(step)
        self.states = before.States(replay, scratch, self.traces)

    def up_to(self, *steps: str, quick: bool = False) -> tuple[str, ...]:
        """These steps, and what leaves behind what the last of them finds.

        In the map's cache quick ones find less than the drive's did.
        """
        last = self.order.index(steps[-1])
        earlier = [
            name
            for name in self.changing
            if self.order.index(name) < last and not (quick and name.startswith("footprint"))
        ]
        return tuple(dict.fromkeys((*earlier, *steps)))

    def run(self, candidate: Model, only: tuple[str, ...] = (), held_out: bool = False) -> Probe:
        """A candidate's probe; UserError if it is no drive."""
        if OVERWRITE in only and not held_out:
            with self.begun(candidate, only) as state:
                if state:
                    return self._gone_on(candidate, only, state)
        with self.drive(candidate) as drive:
            return on_replayer.probe(
                drive,
                self.plan,
                traces=self.traces,
                known=self.probe.known,
                size=self.plan.span,
                held_out=held_out,
                only=only,
            )

    def begun(
        self, candidate: Model, only: tuple[str, ...]
    ) -> AbstractContextManager[before.State | None]:
        """Those of these steps that come before it is overwritten are done."""
        last = self.order.index(OVERWRITE)
        return self.states.of(candidate, [one for one in self.steps[:last] if one.name in only])

    def _gone_on(self, candidate: Model, only: tuple[str, ...], state: before.State) -> Probe:
        source = {"kind": "description", "bytes": self.plan.span}
        found = Probe(source, self.plan.span, self.plan.seed, self.probe.known)
        found.results |= state.results
        with self.drive(candidate, state) as drive:
            for step in self.steps[self.order.index(OVERWRITE) :]:
                if step.name in only:
                    done = drive.run(step, self.traces)
                    if not step.prepares:
                        found.results[step.name] = done
        return found

    @contextmanager
    def drive(
        self, candidate: Model, state: before.State | None = None
    ) -> Iterator[on_replayer.Replayed]:
        """The candidate in a folder of its own: new, or in this state but for its times."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            path = Path(folder) / "candidate.ini"
            candidate.write(path)
            yield on_replayer.Replayed(
                self.replay,
                path,
                Path(folder),
                saved=state.image if state else None,
                retimed=state is not None,
            )

    def off(self, candidate: Model, *steps: str) -> float:
        """How unlike each latency of these steps is; infinity if it is no drive."""
        try:
            return unlike_each(self.probe, self.run(candidate, self.up_to(*steps)), steps)
        except UserError:
            return math.inf


def program() -> str:
    """What draws, probes, fits and judges: what another one found is another's."""
    files = Path(__file__).parent.iterdir()
    return tree_hash(path for path in files if path.suffix in (".py", ".c"))[:12]


def unlike_each(drive: Probe, candidate: Probe, steps: Iterable[str]) -> float:
    """The sum of it for each latency of steps that keep them all."""
    return sum(
        math.log(max(1, one) / max(1, other)) ** 2
        for name in steps
        for one, other in zip(drive.results[name].each, candidate.results[name].each, strict=True)
    )


def unlike(drive: Probe, candidate: Probe, steps: tuple[str, ...] = SEEN) -> Unlike:
    """How unlike the two are, in what collections show, figure by figure."""
    found: Unlike = {}
    for name in steps:
        if name not in drive.results:
            continue
        if name == "behind":
            found[name, "reads"] = features.unlike_behind(drive, candidate)
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
        if name == OVERWRITE and one.parts:
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


PAGES_KEY, PLANES_KEY = SIZE_KEYS = ("geometry.pages_per_block", "geometry.planes_per_die")
# Of a block, where that does not show.
SOME_PAGES = 64


@dataclass(frozen=True)
class Point:
    """What is searched: the blocks, what they have to spare, how long an erase takes."""

    pages: int
    spare: float
    erase_ns: int
    planes: int
    # Blocks that a plane keeps free.
    trigger: int = TRIGGER


def sized(bench: Bench, base: Model, point: Point) -> Model:
    """The base with these blocks."""
    found = base.with_values({"geometry.planes_per_die": point.planes})
    if point.trigger != TRIGGER:
        found = found.with_values({"gc.trigger_free_blocks": point.trigger})
    values = model.blocks(found, bench.probe.source["bytes"], point.pages, point.spare)
    return found.with_values({**values, "timing.erase_ns": point.erase_ns})


def blocks_of(base: Model) -> tuple[int, int]:
    """Pages of a block and planes of a die, as far as they are known."""
    pages = int(base.keys[PAGES_KEY].value) if PAGES_KEY in base.keys else SOME_PAGES
    return pages, int(base.keys[PLANES_KEY].value)


def roomy(bench: Bench, base: Model) -> Model:
    """With so much to spare that nothing is collected."""
    pages, planes = blocks_of(base)
    return sized(bench, base, Point(pages, 2.0, 3_000_000, planes))
