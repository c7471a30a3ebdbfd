#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make ranking PEER=…/MQSim`: do MQSim and Scarp put the same schemes in the same order?

Both run one drive, one load and one queue depth, with several seeds.  A row has two schemes, each
simulator's ratio of their rates, and a verdict.  A rate is requests served divided by simulated
time: MQSim loses requests, so that its mean response time says nothing about its rate.  How many
it lost is printed, as each leaves a place less in its queue for the rest of the run.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE)]

import mqsim  # noqa: E402
from scarplib.build.replayer import ensure_replay  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.option_types import integer  # noqa: E402
from scarplib.paths import ROOT  # noqa: E402

DRIVE = ROOT / "devices" / "bench-16g.ini"
BLOCKS = 512
# peer.py says why MQSim needs the last four.  Eight planes: a run takes MQSim some seconds.
OVERRIDES = (
    "geometry.channels=2,geometry.chips_per_channel=2,geometry.pages_per_block=64,"
    f"geometry.blocks_per_plane={BLOCKS},timing.channel_mts=1000,nand.multiplane=1,"
    "ftl.over_provisioning_permille=250,gc.trigger_free_blocks=17"
)
# MQSim yields to the host with at least so many free blocks in each plane of a chip; `pgc_floor`
# is the last number at which Scarp does not.  MQSim serves no write with fewer than ten.
YIELD_BLOCKS = 12
# So few that MQSim hardly ever loses more than mqsim.LOST of them.
REQUESTS = 15_000
# Of processor time; a run takes some 5 s.  With some seeds MQSim never ends.
LONGEST_S = 60
# By chance alone an order is the same under six seeds once in 32 times.
SEEDS = 6


@dataclass(frozen=True)
class Scheme:
    name: str
    theirs: str  # MQSim's GC_Block_Selection_Policy
    preemptible: bool  # MQSim's Preemptible_GC_Enabled
    ours: tuple[str, ...]  # of scarp-replay


# Its set has log2(blocks of a plane) blocks.
RGA = BLOCKS.bit_length() - 1
GREEDY = Scheme("greedy", "GREEDY", False, ("-s", "greedy"))
WRITES = (
    GREEDY,
    Scheme(f"RGA, d-choices (d={RGA})", "RGA", False, ("-s", "d-choices", "-p", f"d={RGA}")),
    Scheme("random", "RANDOM", False, ("-s", "random")),
    Scheme("fifo", "FIFO", False, ("-s", "fifo")),
)
MIXED = (
    GREEDY,
    Scheme(
        "greedy, preemptible", "GREEDY", True,
        ("-s", "greedy+pgc", "-p", f"pgc_floor={YIELD_BLOCKS - 1}"),
    ),
)  # fmt: skip
LOADS = (("random writes", 0, WRITES), ("random, half of them reads", 50, MIXED))


@dataclass(frozen=True)
class Served:
    """How many requests were, and in which simulated time."""

    requests: int
    end_us: int

    def lost(self) -> int:
        return REQUESTS - self.requests

    def rate(self) -> float:
        """Requests in a second."""
        return self.requests * 1e6 / self.end_us


def with_keys(tree: ET.Element, values: dict[str, object]) -> ET.Element:
    """The tree, with these values of keys that it must have."""
    for tag, value in values.items():
        found = list(tree.iter(tag))
        if not found:
            raise UserError(f"MQSim's configuration has no {tag}")
        for element in found:
            element.text = str(value)
    return tree


def theirs(program: Path, scheme: Scheme, reads: int, seed: int) -> Served | None:
    """What MQSim served; None: it failed, or lost too many."""
    drive = mqsim.Drive(DRIVE, OVERRIDES)
    load = mqsim.Load(scheme.name, 0, REQUESTS, "RANDOM_UNIFORM", reads, True)
    device = {
        "Seed": seed,
        "GC_Block_Selection_Policy": scheme.theirs,
        "Preemptible_GC_Enabled": str(scheme.preemptible).lower(),
        "GC_Hard_Threshold": YIELD_BLOCKS / BLOCKS,
        "Enable_ResponseTime_Logging": "true",
        "ResponseTime_Logging_Period_Length": 0,  # a line for each completion
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, tree in (
            ("ssd", with_keys(mqsim.configuration(drive, load), device)),
            ("load", with_keys(mqsim.workload(drive, load), {"Seed": seed})),
        ):
            ET.ElementTree(tree).write(folder / f"{file}.xml", "us-ascii", xml_declaration=True)
        done = subprocess.run(
            ["prlimit", f"--cpu={LONGEST_S}", program, "-i", "ssd.xml", "-w", "load.xml"],
            cwd=folder,
            stdin=subprocess.DEVNULL,  # at its end it waits for a key
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        log = folder / "load.IO_Flow.No_0.log"
        text = log.read_text(errors="replace") if log.is_file() else ""
        found = served(done.stdout, text) if not done.returncode else None
        if not found:
            print(f"  {scheme.name}, seed {seed}: MQSim ended with {done.returncode}")
        elif found.lost() > mqsim.LOST:
            print(f"  {scheme.name}, seed {seed}: MQSim lost {found.lost():,} requests")
            return None
        return found


def served(said: str, log: str) -> Served | None:
    """By MQSim's last line, and by the last time of its log; None: there is no such thing."""
    count = re.search(r"total requests serviced: *(\d+)", said)
    last = log.splitlines()[-1:] or [""]
    end_us = last[0].split()[:1]
    if not count or not end_us or not end_us[0].isdigit() or not int(end_us[0]):
        return None
    return Served(int(count[1]), int(end_us[0]))


def ours(program: Path, scheme: Scheme, reads: int, seed: int) -> float:
    """Scarp's requests served in a second of simulated time."""
    words = [word for item in OVERRIDES.split(",") for word in ("-o", item)]
    load = f"gen:uniform,write={1000 - 10 * reads},footprint={10 * mqsim.UTILISATION}"
    done = subprocess.run(
        [
            program, "-d", DRIVE, *words, *scheme.ours, f"--seed={seed}", f"--age-seed={seed}",
            f"--age={10 * mqsim.UTILISATION}", "-m", "closed", "-q", str(mqsim.QUEUE_DEPTH),
            "-n", str(REQUESTS), "--quiet", load,
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise UserError(f"{scheme.name}: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["requests_per_s"])


def order(ratios: Sequence[float]) -> int:
    """1 or -1 where all seeds say the same, 0 where they do not."""
    if all(ratio > 1 for ratio in ratios):
        return 1
    return -1 if all(ratio < 1 for ratio in ratios) else 0


def verdict(mqsims: Sequence[float], scarps: Sequence[float]) -> str:
    """The words of a row, from each simulator's ratios, a seed each."""
    if len(mqsims) < len(scarps):
        lost = len(scarps) - len(mqsims)
        return (
            f"not comparable: with {lost} of the seeds MQSim failed, or lost more than "
            f"{mqsim.LOST} requests"
        )
    peer, own = order(mqsims), order(scarps)
    if not peer and not own:
        return "agree: neither has an order"
    if peer == own:
        return "agree"
    return "differ" if peer and own else f"differ: {'Scarp' if own else 'MQSim'} alone has an order"


def ratios(first: Sequence[float | None], second: Sequence[float | None]) -> list[float]:
    """Of the seeds in which neither scheme failed or lost too many."""
    pairs = zip(first, second, strict=True)
    return [a / b for a, b in pairs if a is not None and b is not None]


def cell(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def compare(peer: Path, seeds: int) -> list[str]:
    """The rows; a load that has been measured is printed at once."""
    program = ensure_replay()
    rows = []
    for load, reads, schemes in LOADS:
        print(f"\n{load}: requests served in a simulated second, median of the seeds", flush=True)
        rates: dict[str, tuple[list[float | None], list[float]]] = {}
        for scheme in schemes:
            peers = [theirs(peer, scheme, reads, seed) for seed in range(1, seeds + 1)]
            own = [ours(program, scheme, reads, seed) for seed in range(1, seeds + 1)]
            rates[scheme.name] = [x.rate() if x else None for x in peers], own
            known = [x for x in peers if x]
            shown, lost = "-", "-"
            if known:
                shown = f"{statistics.median(x.rate() for x in known):,.0f}"
                lost = f"{min(x.lost() for x in known)} to {max(x.lost() for x in known)}"
            print(
                f"  {scheme.name:<28}MQSim {shown:>8}, lost {lost:<9}"
                f"Scarp {statistics.median(own):>8,.0f}",
                flush=True,
            )
        for a, b in combinations(schemes, 2):
            mqsims = ratios(rates[a.name][0], rates[b.name][0])
            scarps = ratios(rates[a.name][1], rates[b.name][1])
            rows.append(
                f"{load}: {a.name} / {b.name}: MQSim {cell(mqsims)}, Scarp {cell(scarps)}: "
                f"{verdict(mqsims, scarps)}"
            )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", metavar="PEER", help="the MQSim program")
    parser.add_argument("--seeds", type=integer("--seeds", 2, 100), default=SEEDS, metavar="N")
    arguments = parser.parse_args()
    peer = mqsim.identify(arguments.peer)
    print(f"{DRIVE.name} with {OVERRIDES}")
    for row in compare(peer, arguments.seeds):
        print(row)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"ranking.py: error: {error}")
