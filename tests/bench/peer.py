#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench PEER=…/MQSim`: the engine's three loads beside the same on MQSim, in CPU time.

The user builds MQSim; nothing of it is here.  Both run in turns on one core, and each round gives
one ratio.  Preconditioning is apart on both sides: bench-engine reads its own CPU clock before the
first request and after the last; MQSim's is read from outside, where its lines of progress say
that 30 and 95 % of the requests are served.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE)]

import mqsim  # noqa: E402
from scarplib.dev import bench_engine  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.option_types import integer  # noqa: E402

# What MQSim needs of the drive of `make bench`: its clock of the channel has whole nanoseconds,
# it always programs planes together when it can, and it wants many spare blocks.  It begins to
# collect at 32 free blocks and serves no writes below 10, and between them it comes to rest;
# with one threshold of 17 write amplification is the same here.
OVERRIDES = (
    "timing.channel_mts=1000,nand.multiplane=1,"
    "ftl.over_provisioning_permille=250,gc.trigger_free_blocks=17"
)


def own(load: mqsim.Load, *under: str) -> mqsim.Sample:
    out = bench_engine.run_bench(
        str(bench_engine.DRIVE), "baseline", OVERRIDES, load.name, under=under
    )
    return mqsim.Sample(
        1e9 / bench_engine.value(out, "requests/s"),
        bench_engine.value(out, " WA"),
        bench_engine.value(out, "virtual_IOPS"),
    )


def measure(program: Path, load: mqsim.Load, rounds: int) -> float:
    """Prints a line for each simulator; the median of the rounds' ratios."""
    core = ("taskset", "-c", str(max(os.sched_getaffinity(0))))
    drive = mqsim.Drive(bench_engine.DRIVE, OVERRIDES)
    pairs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            theirs = mqsim.run(program, drive, load, Path(folder), *core)
        pairs.append((theirs, own(load, *core)))
    ratio = statistics.median(a.ns_per_request / b.ns_per_request for a, b in pairs)
    for name, samples in zip(("MQSim", "Scarp"), zip(*pairs, strict=True), strict=True):
        ns, amplification, iops = (
            statistics.median(values)
            for values in zip(
                *((s.ns_per_request, s.write_amplification, s.iops) for s in samples), strict=True
            )
        )
        print(f"{load.name:<20}{name:<8}{ns:>12,.0f}{amplification:>8.2f}{iops:>12,.0f}")
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", metavar="PEER", help="the MQSim program")
    parser.add_argument("--rounds", type=integer("--rounds", 1, 100), default=5, metavar="N")
    arguments = parser.parse_args()
    program = mqsim.identify(arguments.peer)
    print(f"{bench_engine.DRIVE.name} with {OVERRIDES}")
    print(f"{'load':<20}{'':<8}{'ns/request':>12}{'WA':>8}{'sim. IOPS':>12}   (CPU time)")
    for load in mqsim.LOADS:
        ratio = measure(program, load, arguments.rounds)
        word = "met" if ratio >= load.goal else "missed"
        print(f"  {ratio:.1f} times as fast, of {load.goal:g}: {word}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"peer.py: error: {error}")
