# SPDX-License-Identifier: GPL-2.0-or-later
"""The open parameters of the HIOS experiments, from what runs under `noop`.

    python -m scarplib.reproduce.calibrate.hios [bursts]    (in scripts/)

Only `noop` runs here, on seeds that the experiments do not use: nothing that is judged has a part
in it.  The arrival rate of a workload is the one at which its mean latency is Table 1's, on the
page-mapped drive, or the least at which every seed has a request that waits as long as the table's
shortest worst case; with bursts half of what the drive sustains (docs/papers/hios.md has the rule).
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

from scarplib.reproduce import replays, spec
from scarplib.sweep.intervals import mean

SEEDS = range(1001, 1011)
FEW = range(1001, 1004)
BURST = 48
MAPPINGS = ("page", "block", "superblock")
NO_BURSTS = re.compile(",(burst|iops|idle_us)=[0-9]+")
NOOP = spec.Scheme("noop", "baseline")


def _run(e: spec.Experiment, point: spec.Point, seed: int) -> dict[str, Any]:
    e = replace(e, logs=False)
    return replays.run(e, point, NOOP, seed, replays.IMAGES)


def latencies_us(e: spec.Experiment, point: spec.Point, iops: int) -> tuple[float, float]:
    """Mean of all requests; the worst of each seed, and of these the least."""
    means, worst = [], []
    for seed in SEEDS:
        stats = _run(e, replace(point, workload=f"{point.workload},iops={iops}"), seed)["stats"]
        spent = stats["read_latency_sum_ns"] + stats["write_latency_sum_ns"]
        means.append(spent / (stats["reads"] + stats["writes"]) / 1000)
        worst.append(max(stats["read_latency_max_ns"], stats["write_latency_max_ns"]) / 1000)
    return mean(means), min(worst)


def rate(
    e: spec.Experiment, point: spec.Point, wanted_us: float, worst_us: float
) -> tuple[int, float, float]:
    """The whole number of requests a second that comes nearest, or is enough; its latencies."""
    low, high = 1, 2000
    while low < high:
        middle = (low + high) // 2
        if latencies_us(e, point, middle)[0] < wanted_us:
            low = middle + 1
        else:
            high = middle
    near = [(i, *latencies_us(e, point, i)) for i in (low - 1, low) if i]
    found = min(near, key=lambda each: abs(each[1] - wanted_us))
    while found[2] < worst_us:
        found = (found[0] + 1, *latencies_us(e, point, found[0] + 1))
    return found


def sustained(e: spec.Experiment, point: spec.Point) -> float:
    """Requests a second of a closed loop that fills the queue and the slots."""
    e = replace(e, mode="closed", depth=BURST, workload=e.workload)
    return mean([float(_run(e, point, seed)["requests_per_s"]) for seed in FEW])


def pauses(bursts: spec.Experiment) -> None:
    """Of the workloads in bursts: half of what the slowest mapping sustains."""
    done = set()
    for point in bursts.points:
        name = point.name.rsplit("-", 1)[0]
        if name in done:
            continue
        done.add(name)
        plain = replace(point, workload=NO_BURSTS.sub("", point.workload))
        rates = [
            sustained(bursts, replace(plain, set=(f"ftl.mapping={mapping}",)))
            for mapping in MAPPINGS
        ]
        text = ", ".join(f"{rate_:.1f}" for rate_ in rates)
        print(f"{name}: idle_us={round(2e6 * BURST / min(rates))}  # {text} a second", flush=True)


def main() -> int:
    """Print what stands in experiments/hios.toml."""
    paper = spec.load("hios")
    if sys.argv[1:] == ["bursts"]:
        pauses(paper.experiments["bursts"])
        return 0
    main_ = replace(paper.experiments["workloads"], requests=12_000, warmup=2_000)
    least_us = min(row["worst_us"] for row in paper.published["workloads"].values())
    for name, row in paper.published["workloads"].items():
        point = next(p for p in main_.points if p.name == f"{name}-page")
        iops, found, worst = rate(main_, point, row["mean_us"], least_us)
        print(f"{name}: iops={iops}  # {found:.0f} ({row['mean_us']}), {worst:.0f} us", flush=True)
    pauses(paper.experiments["bursts"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
