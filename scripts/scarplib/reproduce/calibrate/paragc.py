# SPDX-License-Identifier: GPL-2.0-or-later
"""The open parameters of paragc's workloads: rates, lengths, and the share of the drive in use.

    python -m scarplib.reproduce.calibrate.paragc    (in scripts/; prints [workloads] for its .toml)

The rates follow from the drive's timing alone.  The share in use is the one at which relocation
takes the published part of a collection (section II-B) under `baseline`, on a seed of its own:
nothing that is judged against another scheme has a part in it.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from scarplib.paths import ROOT
from scarplib.reproduce import spec
from scarplib.reproduce.judge.paragc import relocation_share
from scarplib.reproduce.replays import run
from scarplib.sweep.intervals import mean

SEED = 1000
DIES = 16
LOAD = 0.25
# paragc.ini: sense, transfer at 40 MT/s, program.
READ_MS, PROGRAM_MS = 0.066 + 0.4096, 0.4096 + 3.0
PAGE, UNIT = 16384, 4096
# Of which the first quarter is not measured: after it the planes, all of which the ageing left at
# the threshold, no longer collect in step; then some ten collections of each.
WRITTEN_PAGES = 160_000
PUBLISHED_SHARE = 94.4
LOW, HIGH, STEP = 300, 600, 5
# Permille of writes, bytes of a write and of a read: ftl/replay/gen.c.
LOADS = {
    "proj_4": (15, 16384, 32768), "src1_1": (47, 32768, 32768), "stg_1": (363, 16384, 32768),
    "mds_1": (71, 16384, 32768), "vdi_1": (200, 16384, 45056), "vdi_2": (300, 16384, 45056),
    "vdi_3": (400, 16384, 45056), "vdi_4": (500, 16384, 45056), "vdi_5": (600, 16384, 45056),
}  # fmt: skip


def _pages(size: int) -> float:
    """That a request touches on average: it begins at any unit."""
    return 1 + (size - UNIT) / PAGE


def workload(name: str, fill: int) -> tuple[str, int]:
    """The generator's text, and how many requests write the pages that are wanted."""
    write, size, read_size = LOADS[name]
    writes = write / 1000 * _pages(size)
    reads = (1 - write / 1000) * _pages(read_size)
    iops = LOAD * DIES * 1000 / (reads * READ_MS + writes * PROGRAM_MS)
    text = f"gen:paragc-{name},iops={round(iops)},footprint={fill}"
    return text, 1000 * round(WRITTEN_PAGES / writes / 1000)


def share(experiment: spec.Experiment, fill: int) -> float:
    """Percent of a collection that is relocation, mean of the workloads."""
    found = []
    for name in LOADS:
        text, requests = workload(name, fill)
        point = spec.Point(name, text, age=fill)
        part = replace(experiment, requests=requests, warmup=requests // 4)
        result = run(part, point, spec.Scheme("baseline", "baseline"), SEED, ROOT)
        found.append(relocation_share(result))
    return mean(found)


def main() -> int:
    """Print a line for each workload."""
    experiment = spec.load("paragc").experiments["main"]
    low, high = LOW // STEP, HIGH // STEP
    while low < high:
        middle = (low + high) // 2
        if share(experiment, middle * STEP) < PUBLISHED_SHARE:
            low = middle + 1
        else:
            high = middle
    fill = low * STEP
    print(f"# {share(experiment, fill):.1f} % of a collection is relocation ({PUBLISHED_SHARE} %)")
    for name in LOADS:
        text, requests = workload(name, fill)
        print(
            f'{name} = {{ workload = "{text}", age = {fill}, requests = {requests}, '
            f"warmup = {requests // 4} }}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
