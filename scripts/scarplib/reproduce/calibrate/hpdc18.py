# SPDX-License-Identifier: GPL-2.0-or-later
"""The open parameters of hpdc18's workloads, from what the paper publishes about its baseline.

    python -m scarplib.reproduce.calibrate.hpdc18    (in scripts/; prints [workloads] for its .toml)

Only `baseline` and `ideal` run here, on a seed that the experiments do not use: nothing that is
judged has a part in it.  The density of a burst is the largest at which 95 % of the writes take
less than 25 ms without collections (section 3.1); then the share of the drive that is in use is
what makes the published share of requests wait for collections (Table 2).
"""

from __future__ import annotations

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
MEAN_LOAD = 0.4
BURST_WRITES = 0.985
IDEAL_P95_NS = 25e6
UNIT = 4096  # the stand-ins' requests are whole ones
READ_PAGES = 1 + (8192 - UNIT) / PAGE
DENSITIES = (0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
LOW, HIGH, STEP = 300, 860, 5


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
        requests_per_s = (
            MEAN_LOAD * CHANNEL_PAGES_PER_S / (pages * self.write + READ_PAGES * (1 - self.write))
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


def calibrate(experiment: spec.Experiment, load: Load) -> str:
    """The workload's line for [workloads]: density first, then the share in use."""
    ideal = replace(experiment, schemes=(spec.Scheme("ideal", "ideal"),))
    baseline = replace(experiment, schemes=(spec.Scheme("baseline", "baseline"),))
    for density in DENSITIES:
        p95 = _run(ideal, load, density, 500)["ideal"]["write_q"][18]
        if p95 <= IDEAL_P95_NS:
            break
    low, high = LOW // STEP, HIGH // STEP
    share = 0.0
    while low < high:
        middle = (low + high) // 2
        found = _run(baseline, load, density, middle * STEP)["baseline"]
        share = 100 * found["affected_io_n"] / found["io_n"]
        if share < load.affected:
            low = middle + 1
        else:
            high = middle
    age = low * STEP
    return (
        f'{load.name} = {{ workload = "{load.workload(density)},footprint={age}", age = {age} }}'
        f"  # {density}: p95 {p95 / 1e6:.0f} ms, affected {share:.1f} % ({load.affected} %)"
    )


def main() -> int:
    """Print a line for each workload."""
    paper = spec.load("hpdc18")
    experiment = paper.experiments["open"]
    loads = [
        Load(name, row["write"] / 100, row["size_kib"], row["affected"])
        for name, row in paper.published["workloads"].items()
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for line in pool.map(lambda load: calibrate(experiment, load), loads):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
