# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: steps, each a list of requests, the same for a drive and for a description.

A step is either timed (each request has its time, so an idle drive stays idle) or closed (so many
requests at once).  The first part needs to know nothing of the drive but its size.  The second
uses two things that the first has shown: the page, and the distance at which addresses meet on
one die.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

KIB = 1024
MIB = 1024 * KIB
READ, WRITE, TRIM, FLUSH = "R", "W", "T", "F"
SIZES = (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
DEPTHS = (1, 4, 16, 64, 256)
# Of a drive, or of a part of it: what a plan needs.
LEAST_MIB = 32
# An idle drive has finished whatever it did.
GAP_NS = 30_000_000
# Reads leave nothing to be done.
READ_GAP_NS = 3_000_000
PAIRS = 1024
SIZE_READS = 24
BURST_DEPTH, BURST_BYTES = 64, 16 * KIB
# Of a step that keeps each latency, the first so many are kept.
KEPT = 1 << 20
# Of the steps that force writes to flash: what comes before the flush, and how long.
FLUSH_AFTER_NS = 60_000
# Time in nanoseconds after the step's first (0 in closed steps), kind, offset, bytes.
Row = tuple[int, str, int, int]


@dataclass(frozen=True)
class Step:
    """Some requests, and what is kept of their latencies."""

    name: str
    rows: Callable[[], Iterator[Row]]
    # Requests at once; None: each at its time.
    depth: int | None = None
    # What it leaves behind is what the next step finds; else it leaves nothing that matters.
    changes: bool = False
    # Each latency is kept, of the first KEPT requests; beside percentiles, and the rate by share.
    each: bool = False
    # It only brings the drive into a state.
    prepares: bool = False

    def kept(self) -> int:
        """How many latencies are."""
        return min(KEPT, sum(1 for _ in self.rows())) if self.each else 0


@dataclass(frozen=True)
class Known:
    """What the second part must know of the drive."""

    page: int
    stripe: int


def span_of(drive: Path, size: int, mib: int | None, usual: int | None = None) -> int:
    """How many bytes of a drive of `size` a plan is of: `--mib`, else `usual` MiB, or all."""
    most = size // MIB
    if most < LEAST_MIB:
        raise UserError(f"{drive}: has {size} bytes; a plan needs {LEAST_MIB} MiB")
    if mib and mib > most:
        raise UserError(f"--mib: {mib} of a drive of {most} MiB: at most {most}")
    return (mib or min(usual or most, most)) * MIB


@dataclass(frozen=True)
class Plan:
    """Sizes that all steps follow from, and the seed of what is drawn."""

    span: int
    seed: int = 1

    def __post_init__(self) -> None:
        if self.span < LEAST_MIB * MIB:
            raise UserError(f"{self.span} bytes are too few: a plan needs {LEAST_MIB} MiB")

    def _random(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    def _places(self, name: str, count: int, grain: int, span: int | None = None) -> Iterator[int]:
        draw = self._random(name)
        room = (span or self.span) // grain
        return (draw.randrange(room) * grain for _ in range(count))

    # ---- First part ------------------------------------------------------------------------------

    def first(self) -> list[Step]:
        """Filled in order, then read, and a part of it deallocated and written again."""
        steps = [
            Step("fill", self._fill, depth=8, changes=True),
            Step("read-size", self._read_sizes, each=True),
            Step("read-single", self._singles, each=True, changes=True),
            Step("read-pair", self._pairs, each=True),
            Step("trimmed", self._trimmed, each=True),
        ]
        for depth in DEPTHS:
            name = f"read-depth-{depth}"
            steps.append(Step(name, self._reads(name), depth=depth))
        for size in self.footprints():
            name = f"footprint-{size // MIB}"
            steps.append(
                Step(f"{name}-before", self._scan(size), depth=1, changes=True, prepares=True)
            )
            steps.append(
                Step(name, self._reads(name, 1000, size), depth=1, each=True, changes=True)
            )
        return steps

    def _fill(self) -> Iterator[Row]:
        for offset in range(0, self.span, 128 * KIB):
            yield 0, WRITE, offset, min(128 * KIB, self.span - offset)
        yield 0, FLUSH, 0, 0

    def _read_sizes(self) -> Iterator[Row]:
        at = 0
        for size in SIZES:
            for place in self._places("read-size", SIZE_READS, 128 * KIB):
                # The first brings what the mapping needs into RAM.
                for _ in range(2):
                    yield at, READ, place, size
                    at += READ_GAP_NS

    def pair_base(self) -> int:
        """Where the first address of all pairs is."""
        return self.span // 4 // MIB * MIB

    def _singles(self) -> Iterator[Row]:
        for j in range(2 * (PAIRS + 1)):
            # All of them twice: the second time their mapping is in RAM.
            yield j * READ_GAP_NS, READ, self.pair_base() + 4096 * (j % (PAIRS + 1)), 4096

    def _pairs(self) -> Iterator[Row]:
        base = self.pair_base()
        for j in range(1, PAIRS + 1):
            yield j * READ_GAP_NS, READ, base, 4096
            yield j * READ_GAP_NS, READ, base + 4096 * j, 4096

    def _trimmed(self) -> Iterator[Row]:
        place = self.span // 2 // MIB * MIB
        yield 0, TRIM, place, MIB
        at = GAP_NS
        for size in SIZES:
            yield at, READ, place, size
            at += GAP_NS
        for offset in range(0, MIB, 128 * KIB):
            yield at, WRITE, place + offset, 128 * KIB
            at += GAP_NS

    def _reads(
        self, name: str, count: int = 4000, span: int | None = None
    ) -> Callable[[], Iterator[Row]]:
        def rows() -> Iterator[Row]:
            for place in self._places(name, count, 4096, span):
                yield 0, READ, place, 4096

        return rows

    def footprints(self) -> list[int]:
        """From 1 MiB on, each four times as much, and all there is."""
        found = [MIB]
        while found[-1] * 4 < self.span:
            found.append(found[-1] * 4)
        return [*found, self.span]

    def _scan(self, size: int) -> Callable[[], Iterator[Row]]:
        def rows() -> Iterator[Row]:
            for offset in range(0, size // (64 * KIB) * (64 * KIB), 64 * KIB):
                yield 0, READ, offset, 64 * KIB

        return rows

    # ---- Second part -----------------------------------------------------------------------------

    def second(self, known: Known) -> list[Step]:
        """Writes: alone, behind each other, until the drive is steady, and beside reads."""
        pages = max(known.page, 4096)
        if not 0 < pages <= SIZES[-1] or not 0 < known.stripe <= self.span // 8:
            raise UserError(
                f"a page of {known.page} bytes, a stripe of {known.stripe}: must be at most "
                f"{SIZES[-1]}, and from 1 to {self.span // 8}"
            )
        return [
            # While there is still room that need not be collected.
            Step("burst", self._burst, depth=BURST_DEPTH, each=True, changes=True),
            Step("flush", self._flush, each=True, changes=True),
            Step("write-size", self._write_sizes(known), each=True, changes=True),
            Step("write-flush", self._write_flush(pages, known), each=True, changes=True),
            Step("behind", self._behind(pages, known), each=True, changes=True),
            Step("overwrite", self._overwrite, depth=16, each=True, changes=True),
            Step(
                "condition",
                self._random_writes("condition", self.span // 16384),
                depth=64,
                changes=True,
                prepares=True,
            ),
            Step("steady", self._random_writes("steady", 16000), depth=32, changes=True),
            Step("steady-1", self._random_writes("steady-1", 4000), depth=1, changes=True),
            Step("mixed", self._mixed("mixed", 500), depth=8, changes=True),
            Step("spaced", self._spaced, changes=True),
        ]

    def held_out(self) -> list[Step]:
        """Loads that no fit looks at; they follow the second part."""
        return [
            Step("held-mixed-70", self._mixed("held-mixed-70", 300, 8192), depth=16, changes=True),
            Step("held-mixed-95", self._mixed("held-mixed-95", 50), depth=32, changes=True),
            Step("held-write-16k", self._random_writes("held", 6000, 16384), depth=4, changes=True),
            Step("held-spaced", self._held_spaced, changes=True),
        ]

    def _write_sizes(self, known: Known) -> Callable[[], Iterator[Row]]:
        """Each size eight times, at places that no other has touched since the fill."""

        def rows() -> Iterator[Row]:
            at, place = 0, 8 * MIB
            grain = max(128 * KIB, known.page)
            for size in SIZES:
                for _ in range(8):
                    # The mapping comes into RAM; then what stays in the buffer leaves it.
                    yield at, READ, place, size
                    yield at + GAP_NS, WRITE, place, size
                    yield at + 2 * GAP_NS, FLUSH, 0, 0
                    at += 3 * GAP_NS
                    place += grain

        return rows

    def _write_flush(self, page: int, known: Known) -> Callable[[], Iterator[Row]]:
        """Whole pages of one die, each forced to flash."""

        def rows() -> Iterator[Row]:
            at, place = 0, 0
            for _ in range(24):
                yield at, READ, place, page
                yield at + GAP_NS, WRITE, place, page
                yield at + GAP_NS + FLUSH_AFTER_NS, FLUSH, 0, 0
                at += 2 * GAP_NS
                place = (place + known.stripe) % (self.span // 8 // known.stripe * known.stripe)

        return rows

    def _behind(self, page: int, known: Known) -> Callable[[], Iterator[Row]]:
        """A read behind four pages that one die programs, at several moments."""

        def rows() -> Iterator[Row]:
            at = 0
            near = self.span // 8 // known.stripe * known.stripe
            far = self.span // 2 // known.stripe * known.stripe
            # So many of that die are in the second half: few if no addresses meet.
            room = (self.span - far - 4096) // known.stripe + 1
            for i in range(16):
                behind = far + i % room * known.stripe
                yield at, READ, behind, 4096
                at += GAP_NS
                for j in range(4):
                    yield at, WRITE, (near + (4 * i + j) * known.stripe) % (2 * near), page
                yield at + 100_000 + 20_000 * i, READ, behind, 4096
                at += 2 * GAP_NS

        return rows

    def _burst(self) -> Iterator[Row]:
        for offset in range(0, min(32 * MIB, self.span // 32), BURST_BYTES):
            yield 0, WRITE, offset, BURST_BYTES

    def _flush(self) -> Iterator[Row]:
        """With nothing to do, and behind 256 KiB."""
        at = GAP_NS * 20
        for place in (0, 4 * MIB, 8 * MIB, 12 * MIB):
            yield at, FLUSH, 0, 0
            at += GAP_NS
            yield at, WRITE, place, 256 * KIB
            yield at + 500_000, FLUSH, 0, 0
            at += 4 * GAP_NS

    def _overwrite(self) -> Iterator[Row]:
        """All of it once more, at random, in large pieces: the rate falls when spare runs out."""
        places = list(range(0, self.span // (128 * KIB)))
        self._random("overwrite").shuffle(places)
        for place in places:
            yield 0, WRITE, place * 128 * KIB, 128 * KIB

    def _random_writes(
        self, name: str, count: int, size: int = 4096
    ) -> Callable[[], Iterator[Row]]:
        def rows() -> Iterator[Row]:
            for place in self._places(name, count, size):
                yield 0, WRITE, place, size

        return rows

    def _mixed(self, name: str, writes: int, size: int = 4096) -> Callable[[], Iterator[Row]]:
        """So many of a thousand are writes."""

        def rows() -> Iterator[Row]:
            kinds = self._random(f"{name} kinds")
            for place in self._places(name, 12000, size):
                yield 0, WRITE if kinds.randrange(1000) < writes else READ, place, size

        return rows

    def _spaced_rows(self, name: str, gap_ns: int, writes: int) -> Iterator[Row]:
        draw = self._random(f"{name} times")
        at = 0
        for place in self._places(name, 8000, 4096):
            at += draw.randrange(2 * gap_ns)
            yield at, WRITE if draw.randrange(1000) < writes else READ, place, 4096

    def _spaced(self) -> Iterator[Row]:
        return self._spaced_rows("spaced", 1_000_000, 300)

    def _held_spaced(self) -> Iterator[Row]:
        return self._spaced_rows("held-spaced", 700_000, 200)
