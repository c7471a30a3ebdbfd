# SPDX-License-Identifier: GPL-2.0-or-later
"""Write amplification under uniform random writes against published theory: 2 % is the law.

FIFO: Desnoyers 2012, the closed form.  d-choices: the mean-field equations of Van Houdt 2013,
integrated here; greedy is their limit of many choices (Bux and Iliadis 2010 agree with it).
Over-provisioning is net: the free and the active block are not part of the pool.
With SCARP_TEST_ALL=1 in the environment, as `make test-laws` has it, the whole grid; otherwise
seven of its 36 points.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import numpy as np  # noqa: E402
from scarplib.build import replayer  # noqa: E402

BLOCKS = 1200
# Free blocks that wait (1 to 2 with a threshold of 1), and half of the active block.
OUTSIDE = 2.0
# The law is 2 %.  The engine is within 0.3 %, and a greedy that takes the second best, or one
# choice less of d, is off by no more than 1 %: such must fail.
TOLERANCE = 0.005
ALL = bool(os.environ.get("SCARP_TEST_ALL"))
POLICIES = ("fifo", "d-choices", "greedy")
GRID = [
    (name, op, pages) for name in POLICIES for op in (70, 150, 280) for pages in (64, 128, 256, 512)
]
# choices() for greedy comes to no rest with 64 pages, and takes 20 s; with 256 less than one.
FEW = [(name, op, 256 if name == "greedy" else 64) for name in POLICIES for op in (70, 280)]
FEW.append(("d-choices", 280, 512))


def fifo(share: float) -> float:
    """share: logical over physical pages.  WA solves 1 / WA = 1 - exp(-1 / (share × WA))."""
    wa = 1 / (1 - share) / 2
    for _ in range(10_000):
        wa += 0.5 * (1 / (1 - math.exp(-1 / (share * wa))) - wa)
    return wa


def choices(share: float, pages: int, d: int) -> float:
    """Mean field: m[i] is the share of blocks with i valid pages; time in collections per block."""
    b = pages
    valid = np.arange(b + 1)
    m = np.zeros(b + 1)
    low = int(share * b)
    m[low], m[low + 1] = 1 - (share * b - low), share * b - low
    step = 0.2 / b
    last = 0.0
    for turn in range(1, 2_000_001):
        # The least of d blocks drawn has i valid pages.
        tail = np.clip(np.cumsum(m[::-1])[::-1], 0, 1)
        power = np.append(tail**d, 0)
        chosen = power[:-1] - power[1:]
        mean = float(valid @ chosen)
        lost = (b - mean) / (share * b) * valid * m
        m += step * (np.append(lost[1:], 0) - lost - chosen)
        m[b] += step
        m /= m.sum()
        if turn % 5000 == 0:
            if abs(mean - last) < 1e-6 * b:
                break
            last = mean
    return b / (b - mean)


def measured(scheme: str, op: int, pages: int, params: list[str]) -> tuple[float, float]:
    """WA of the engine, and the pool's share of logical pages."""
    program = replayer.ensure_replay()
    logical = int(BLOCKS * pages * 1000 / (1000 + op))
    writes = logical * 4
    done = subprocess.run(
        [str(program), "--quiet", "-d", str(HERE / "pool.ini"), "-s", f"ideal+{scheme}", *params,
         "-o", f"geometry.pages_per_block={pages}", "-o", f"ftl.over_provisioning_permille={op}",
         "--age", "1000", "-m", "closed", "--warmup", str(logical),
         f"gen:uniform,footprint=1000,requests={writes}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    stats = json.loads(done.stdout)["stats"]
    wa = (stats["host_page_programs"] + stats["gc_page_programs"]) / stats["host_page_programs"]
    return wa, logical / ((BLOCKS - OUTSIDE) * pages)


def case(name: str, op: int, pages: int) -> tuple[bool, str]:
    params = ["--params", "d=10"] if name == "d-choices" else []
    wa, share = measured(name, op, pages, params)
    if name == "fifo":
        theory = fifo(share)
    else:
        theory = choices(share, pages, 10 if name == "d-choices" else 1000)
    error = wa / theory - 1
    text = f"{name}, {op / 10:g} % over-provisioning, {pages} pages: {wa:.3f}, theory {theory:.3f}"
    return abs(error) <= TOLERANCE, f"{text} ({error:+.2%})"


def main() -> int:
    cases = GRID if ALL else FEW
    replayer.ensure_replay()
    bad = 0
    print(f"TAP version 13\n1..{len(cases)}", flush=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number, (good, text) in enumerate(pool.map(lambda c: case(*c), cases), 1):
            bad += not good
            print(f"{'' if good else 'not '}ok {number} {text}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
