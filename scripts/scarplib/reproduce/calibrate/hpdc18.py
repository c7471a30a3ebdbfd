# SPDX-License-Identifier: GPL-2.0-or-later
"""The open parameters of hpdc18's workloads, from what the paper publishes about its baseline.

    python -m scarplib.reproduce.calibrate.hpdc18 [CORES]    (in scripts/; prints [workloads])

Only `baseline` and `ideal` run here, on a seed that the experiments do not use: nothing that is
judged has a part in it.  The share of the drive that is in use is what makes the published share of
requests wait for collections (Table 2).  The density d of a burst is the largest at which, with
that share in use, 95 % of the writes take less than 25 ms without collections (section 3.1) and
the channel carries host and collections: d (1 + 2 m / (512 - m)) is at most 1, where m is what a
collection moves under `baseline`.  Where no density has a share in use that gives Table 2's share
of requests and keeps both bounds: the pair within the bounds that comes nearest to it.
"""

from __future__ import annotations

import functools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from scarplib.reproduce import spec
from scarplib.reproduce.cell import cell

SEED = 1000
PAGE = 16384
# Pages that a channel carries in a second: 16 KiB at 166 MT/s.
CHANNEL_PAGES_PER_S = 166e6 / PAGE
BURST_S = 1.0
PAGES_PER_BLOCK = 512
MEAN_LOAD = 0.4  # at most, and at most half of a burst's density
BURST_WRITES = 0.985
IDEAL_P95_NS = 25e6
UNIT = 4096  # the stand-ins' requests are whole ones
READ_PAGES = 1 + (8192 - UNIT) / PAGE
DENSITIES = tuple(d / 100 for d in range(80, 5, -5))
LOW, HIGH, STEP = 300, 990, 5


@dataclass(frozen=True)
class Load:
    """hpdc18 Table 2: share of writes, mean KiB of a write, percent of requests that GC affects."""

    name: str
    write: float
    size_kib: float
    affected: float

    def workload(self, density: float) -> str:
        """The generator's text; `density`: share of what the channel carries in a burst."""
        # A request of s bytes at any unit touches 1 + (s - unit) / page pages on average.
        pages = 1 + (self.size_kib * 1024 - UNIT) / PAGE
        mean_load = min(MEAN_LOAD, density / 2)
        requests_per_s = (
            mean_load * CHANNEL_PAGES_PER_S / (pages * self.write + READ_PAGES * (1 - self.write))
        )
        burst = round(density * CHANNEL_PAGES_PER_S * BURST_S / pages)
        cycle_s = burst * BURST_WRITES / self.write / requests_per_s
        return (
            f"gen:{self.name},burst={burst},iops={round(burst / BURST_S)},"
            f"idle_us={round((cycle_s - BURST_S) * 1e6)},burst_write={round(BURST_WRITES * 1000)}"
        )


def _run(experiment: spec.Experiment, load: Load, density: float, age: int) -> dict[str, Any]:
    point = spec.Point(load.name, f"{load.workload(density)},footprint={age}", age=age)
    schemes: dict[str, Any] = cell(experiment, point, SEED)["schemes"]
    return schemes


@dataclass(frozen=True)
class Found:
    """A share of the drive in use, permille, and what it gives under `baseline`."""

    age: int
    affected: float  # percent of the requests
    moved: float  # pages a collection

    def carried(self, density: float) -> float:
        """What crosses the channel in a burst, as a share of what it carries."""
        return density * (1 + 2 * self.moved / (PAGES_PER_BLOCK - self.moved))


@functools.cache
def _at(baseline: spec.Experiment, load: Load, density: float, age: int) -> Found:
    entry = _run(baseline, load, density, age)["baseline"]
    return Found(age, 100 * entry["affected_io_n"] / entry["io_n"], entry["gc_moved"])


def _ends_in_time(ideal: spec.Experiment, load: Load, density: float) -> bool:
    """Section 3.1's bound on the writes, without collections."""
    p95: int = _run(ideal, load, density, 500)["ideal"]["write_q"][18]
    return p95 <= IDEAL_P95_NS


def fullest(baseline: spec.Experiment, load: Load, density: float) -> Found:
    """The largest share in use at which the channel carries the burst."""

    def fits(step: int) -> bool:
        return _at(baseline, load, density, step * STEP).carried(density) <= 1

    low, high, by = LOW // STEP, HIGH // STEP + 1, 1
    # About so much it is; the search goes on from there.
    step = min(round(500 + 900 * (0.8 - density)), HIGH) // STEP
    while low < step < high:
        if fits(step):
            low, step = step, step + by
        else:
            high, step = step, step - by
        by *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return _at(baseline, load, density, low * STEP)


def share_in_use(
    baseline: spec.Experiment, load: Load, density: float, low: int, high: int
) -> Found:
    """The least share in steps from low to high with which Table 2's share of requests waits."""
    while low < high:
        middle = (low + high) // 2
        if _at(baseline, load, density, middle * STEP).affected < load.affected:
            low = middle + 1
        else:
            high = middle
    return _at(baseline, load, density, high * STEP)


def calibrate(experiment: spec.Experiment, load: Load) -> str:
    """The workload's line for [workloads]: the densest that may be, and the share in use for it."""
    ideal = replace(experiment, schemes=(spec.Scheme("ideal", "ideal"),))
    baseline = replace(experiment, schemes=(spec.Scheme("baseline", "baseline"),))
    low = LOW // STEP
    enough: float | None = None
    tried: list[tuple[float, Found]] = []
    first, last = 0, len(DENSITIES) - 1
    # The less dense a burst is, the more may move, and the more requests wait for that: until the
    # drive is full.
    while first <= last:
        middle = (first + last) // 2
        density = DENSITIES[middle]
        found = fullest(baseline, load, density)
        if found.carried(density) > 1 or not _ends_in_time(ideal, load, density):
            first = middle + 1
            continue
        tried.append((density, found))
        if found.affected >= load.affected:
            enough, last = density, middle - 1
        elif found.age == HIGH:
            last = middle - 1
        else:
            first, low = middle + 1, found.age // STEP
    if not tried:
        return f"# {load.name}: no density keeps both bounds"
    density, found = max(tried, key=lambda pair: pair[1].affected)
    if enough:
        density, found = next(pair for pair in tried if pair[0] == enough)
        found = share_in_use(baseline, load, density, low, found.age // STEP)
    return (
        f'{load.name} = {{ workload = "{load.workload(density)},footprint={found.age}", '
        f"age = {found.age} }}  # {density}: affected {found.affected:.1f} % ({load.affected} %), "
        f"{found.moved:.0f} pages a collection, {found.carried(density):.2f} of the channel"
    )


def main() -> int:
    """Print a line for each workload."""
    paper = spec.load("hpdc18")
    experiment = paper.experiments["open"]
    loads = [
        Load(name, row["write"] / 100, row["size_kib"], row["affected"])
        for name, row in paper.published["workloads"].items()
    ]
    with ThreadPoolExecutor(int(sys.argv[1]) if sys.argv[1:] else os.cpu_count() or 1) as pool:
        for line in pool.map(lambda load: calibrate(experiment, load), loads):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
