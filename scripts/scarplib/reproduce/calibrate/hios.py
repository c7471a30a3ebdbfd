# SPDX-License-Identifier: GPL-2.0-or-later
"""The open parameters of the HIOS experiments, from what runs under `noop`.

    python -m scarplib.reproduce.calibrate.hios    (in scripts/)

Only `noop` runs here, on seeds that the experiments do not use: nothing that is judged has a part
in it.  The arrival rate of a workload is the one at which its mean latency is Table 1's, on the
page-mapped drive; with bursts, and for the large random writes, half of what a drive sustains.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

from scarplib.reproduce import replays, spec
from scarplib.reproduce.intervals import mean

SEEDS = (1001, 1002, 1003)
BURST = 48
NO_BURSTS = re.compile(",(burst|iops|idle_us)=[0-9]+")
NOOP = spec.Scheme("noop", "baseline")


def _run(e: spec.Experiment, point: spec.Point, seed: int) -> dict[str, Any]:
    e = replace(e, logs=False)
    return replays.run(e, point, NOOP, seed, replays.IMAGES)


def latency_us(e: spec.Experiment, point: spec.Point, iops: int) -> float:
    """Mean of all requests."""
    means = []
    for seed in SEEDS:
        stats = _run(e, replace(point, workload=f"{point.workload},iops={iops}"), seed)["stats"]
        spent = stats["read_latency_sum_ns"] + stats["write_latency_sum_ns"]
        means.append(spent / (stats["reads"] + stats["writes"]) / 1000)
    return mean(means)


def rate(e: spec.Experiment, point: spec.Point, wanted_us: float) -> tuple[int, float]:
    """The whole number of requests a second that comes nearest, and its latency."""
    low, high = 1, 2000
    while low < high:
        middle = (low + high) // 2
        if latency_us(e, point, middle) < wanted_us:
            low = middle + 1
        else:
            high = middle
    near = [(i, latency_us(e, point, i)) for i in (low - 1, low) if i]
    return min(near, key=lambda pair: abs(pair[1] - wanted_us))


def sustained(e: spec.Experiment, point: spec.Point) -> float:
    """Requests a second of a closed loop that fills the queue and the slots."""
    e = replace(e, mode="closed", depth=BURST, workload=e.workload)
    return mean([float(_run(e, point, seed)["requests_per_s"]) for seed in SEEDS])


def main() -> int:
    """Print what stands in experiments/hios.toml."""
    paper = spec.load("hios")
    main_ = paper.experiments["workloads"]
    for name, row in paper.published["workloads"].items():
        point = next(p for p in main_.points if p.name == f"{name}-page")
        iops, found = rate(main_, point, row["mean_us"])
        print(f"{name}: iops={iops}  # {found:.0f} us ({row['mean_us']})", flush=True)
    bursts = paper.experiments["bursts"]
    for name in dict.fromkeys(p.name.rsplit("-", 1)[0] for p in bursts.points):
        points = [p for p in bursts.points if p.name.rsplit("-", 1)[0] == name]
        found = [sustained(bursts, replace(p, workload=NO_BURSTS.sub("", p.workload))) for p in points]
        print(f"{name}: idle_us={round(2e6 * BURST / min(found))}  # {found}", flush=True)
    for name in ("deadlines-mlc", "deadlines-slc"):
        for point in paper.experiments[name].points:
            if point.name.endswith("-900"):
                found = sustained(paper.experiments[name], point)
                print(f"{name}, {point.name}: {found / 2:.1f} of {found:.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
