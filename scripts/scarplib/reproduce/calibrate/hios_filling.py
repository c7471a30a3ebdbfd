# SPDX-License-Identifier: GPL-2.0-or-later
"""Drive and load of rows 3d to 3f: the rule is in docs/papers/hios.md, written before any result.

    python -m scarplib.reproduce.calibrate.hios_filling    (in scripts/)

Only the conventional schedulers run here, on seeds that the experiments do not use.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scarplib.reproduce import spec
from scarplib.reproduce.cell import commands
from scarplib.reproduce.replays import run, shape
from scarplib.reproduce.spread import by_use
from scarplib.sweep.intervals import mean

SCHEDULERS = ("baseline", "anticipatory", "deadline", "flash-aware")
SEEDS = (1001, 1002, 1003)
FLASH = ("mlc", "slc")
FTLS = ("block", "superblock")
LOGS = (0, 4)
# Alignment and mean size of a request.
REQUESTS = ((4096, 500_000), (65536, 500_000), (512_000, 512_000))
HALVED = (1, 2)
RATES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
NEAR = (0.8, 0.9, 1.0, 1.1, 1.25)
TOO_MANY = 10.0
# Tenths of the drive in use.
EMPTY, FULL = slice(0, 4), slice(9, 10)
BELOW_40 = (1.0, 4.0)
WHEN_FULL = {"mlc": (65.0, 80.0), "slc": (15.0, 30.0)}
# Writes, in drives: e^-3.5 of the pages are left.
DRIVES_WRITTEN = 3.5
OVER_PROVISIONING = 64


@dataclass(frozen=True)
class Candidate:
    """A drive and how requests lie on it."""

    ftl: str
    logs: int
    align: int
    size: int
    halved: int

    def set(self, flash: str) -> tuple[str, ...]:
        """Keys of the drive."""
        pages = {"mlc": 128, "slc": 64}[flash] // self.halved
        return (
            f"ftl.mapping={self.ftl}",
            f"ftl.log_blocks={self.logs}",
            f"geometry.pages_per_block={pages}",
        )

    def workload(self, rate: float) -> str:
        """The generator's text."""
        return (
            f"gen:uniform,write=800,size={self.size},read_size={self.size},align={self.align},"
            f"footprint=1000,iops={rate:g}"
        )

    def text(self) -> str:
        """In words."""
        logs = f"{self.logs} log blocks" if self.logs else "as many log blocks as are spare"
        pages = "halved blocks" if self.halved == 2 else "blocks of the data sheet"
        return f"{self.ftl}, {logs}, requests of {self.size} at {self.align}, {pages}"


def candidates() -> Iterator[Candidate]:
    """All of them."""
    for ftl, logs, (align, size), halved in itertools.product(FTLS, LOGS, REQUESTS, HALVED):
        yield Candidate(ftl, logs, align, size, halved)


def requests(device: str, overrides: tuple[str, ...], size: int) -> int:
    """As many as fill the drive but for e^-3.5."""
    of = shape(device, overrides)
    raw = of["dies"] * of["planes_per_die"] * of["blocks_per_plane"]
    logical = raw * of["pages_per_block"] * of["page_bytes"] * 1000 / (1000 + OVER_PROVISIONING)
    return round(DRIVES_WRITTEN * logical / size / 0.8)


@cache
def missed(
    candidate: Candidate, rate: float, flash: str, scheme: str, seed: int
) -> tuple[float, float]:
    """Percent missed below 40 % in use, and full."""
    device = f"devices/hios-{flash}.ini"
    overrides = candidate.set(flash)
    point = spec.Point("iometer", candidate.workload(rate), set=overrides)
    experiment = spec.Experiment(
        "hios", "filling", device, (), (point,),
        requests=requests(device, overrides, candidate.size),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = run(experiment, point, spec.Scheme(scheme, scheme), seed, folder)
        found = by_use(commands(folder / "cmd.bin"), result["stats"]["logical_bytes"])
    shares = []
    for part in (EMPTY, FULL):
        shares.append(100 * sum(found["use_late"][part]) / max(1, sum(found["use_n"][part])))
    return shares[0], shares[1]


def worst(
    candidate: Candidate, rate: float, flash: str, schemes: Sequence[str], seeds: Sequence[int]
) -> tuple[float, float]:
    """Of the schedulers, each the mean of its seeds."""
    found = [[missed(candidate, rate, flash, s, seed) for seed in seeds] for s in schemes]
    return (
        max(mean([pair[0] for pair in each]) for each in found),
        max(mean([pair[1] for pair in each]) for each in found),
    )


def outside(value: float, band: tuple[float, float]) -> float:
    """Points by which it lies outside."""
    return max(0.0, band[0] - value, value - band[1])


def distance(
    candidate: Candidate, rate: float, schemes: Sequence[str], seeds: Sequence[int]
) -> tuple[float, str]:
    """The sum over the four figures, and these as text."""
    total, said = 0.0, []
    for flash in FLASH:
        empty, full = worst(candidate, rate, flash, schemes, seeds)
        total += outside(empty, BELOW_40) + outside(full, WHEN_FULL[flash])
        said.append(f"{flash} {empty:.1f} % below 40 %, {full:.1f} % full")
    return total, "; ".join(said)


def main() -> int:
    """Print what was tried, and what is taken."""
    tried: list[tuple[float, float, str, Candidate]] = []
    for candidate in candidates():
        for rate in RATES:
            empty = worst(candidate, rate, "mlc", SCHEDULERS[:1], SEEDS[:1])[0]
            if empty > TOO_MANY:
                print(f"   out  {candidate.text()}, {rate} a second: {empty:.1f} %", flush=True)
                break
            far, said = distance(candidate, rate, SCHEDULERS[:1], SEEDS[:1])
            tried.append((far, rate, candidate.text(), candidate))
            print(f"{far:6.1f}  {candidate.text()}, {rate} a second: {said}", flush=True)
    tried.sort(key=lambda each: each[:3])
    print("all four schedulers, three seeds:")
    best: list[tuple[float, int, str]] = []
    for _, around, text, candidate in tried[:3]:
        for at in sorted({max(1, round(around * factor)) for factor in NEAR}):
            far, said = distance(candidate, at, SCHEDULERS, SEEDS)
            best.append((far, at, f"{text}, {at} a second: {said}"))
            print(f"{far:6.1f}  {best[-1][2]}", flush=True)
    print(f"least: {min(best)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
