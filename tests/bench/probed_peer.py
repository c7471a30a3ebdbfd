# SPDX-License-Identifier: GPL-2.0-or-later
"""Another program's drive, probed: what mqsim_drive.py and ssdsim_drive.py have in common."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE)]

from mqsim import Drive  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.option_types import integer  # noqa: E402
from scarplib.own_drive import features, probe_file  # noqa: E402
from scarplib.own_drive.plan import MIB, SIZES, Plan, Step  # noqa: E402

DESCRIPTION = HERE.parents[1] / "devices" / "bench-16g.ini"


class Prober(Protocol):
    """Steps of the plan, on some program."""

    base_ns: int
    # Requests that were never done, by step.
    lost: dict[str, int]

    def without_flash(self, fill: Step, trimmed: Step) -> list[int]:
        """Of reads by size, of what takes no flash: nobody here has deallocations."""

    def measure(
        self, before: Sequence[Step], steps: Sequence[Step]
    ) -> dict[str, probe_file.Result]:
        """These, after those; what is not there could not be done."""


def planes(drive: Drive) -> int:
    """Of all of it."""
    found = 1
    for name in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die"):
        found *= drive.number(f"geometry.{name}")
    return found


def logical_bytes(drive: Drive) -> int:
    """What it can hold, in whole pages of each plane."""
    number = drive.number
    pages = number("geometry.blocks_per_plane") * number("geometry.pages_per_block")
    share = 1000 / (1000 + number("ftl.over_provisioning_permille"))
    return planes(drive) * int(pages * share) * number("geometry.page_bytes")


def check_size(drive: Drive) -> None:
    """A plan needs room."""
    if logical_bytes(drive) < 32 * MIB:
        raise UserError(f"the drive has {logical_bytes(drive)} bytes; a plan needs 32 MiB")


def probe(prober: Prober, kind: str, size: int, seed: int) -> probe_file.Probe:
    """The whole plan, with what no fit looks at."""
    plan = Plan(size // MIB * MIB, seed)
    found = probe_file.Probe({"kind": kind, "bytes": size}, plan.span, seed)
    first = plan.first()
    by_name = {step.name: step for step in first}
    cached = prober.without_flash(by_name["fill"], by_name["trimmed"])
    prober.base_ns = cached[0]

    def do(before: list[Step], steps: list[Step]) -> None:
        results = prober.measure(before, steps)
        for step in steps:
            if step.prepares:
                continue
            if step.name in results:
                found.results[step.name] = results[step.name]
            else:
                found.left_out.append(step.name)

    do([], first)
    found.results["trimmed"].each[1 : 1 + len(SIZES)] = cached
    found.results["trimmed"].reads = probe_file.Latencies.of(cached)
    found.known = features.known(found)
    do(first, plan.second(found.known) + plan.held_out())
    found.source["lost"] = prober.lost
    return found


def run(
    kind: str,
    overrides: str,
    identify: Callable[[str], Path],
    prober_of: Callable[[Path, Drive, Path], Prober],
) -> int:
    """The command: one probe of the program that is named."""
    parser = argparse.ArgumentParser(
        description=f"{kind} measured by the plan of `scarp probe`, for `scarp fit`."
    )
    parser.add_argument("peer", metavar="PEER", help=f"the {kind} program")
    parser.add_argument(
        "-o", "--out", type=Path, default=Path(f"{kind.lower()}.json"), metavar="FILE"
    )
    parser.add_argument(
        "--seed", type=integer("--seed", 1, 2**31), default=1, metavar="N", help="of the addresses"
    )
    parser.add_argument(
        "--set",
        metavar="GROUP.KEY=VALUE",
        action="append",
        default=[],
        help=f"another drive, as far as {kind} has a place for the key; may be given several times",
    )
    arguments = parser.parse_args()
    program = identify(arguments.peer)
    chosen = ",".join([overrides, *arguments.set])
    drive = Drive(DESCRIPTION, chosen)
    with tempfile.TemporaryDirectory(prefix=f"scarp-{kind.lower()}-") as folder:
        prober = prober_of(program, drive, Path(folder))
        found = probe(prober, kind, logical_bytes(drive), arguments.seed)
    found.source["drive"] = chosen
    found.write(arguments.out)
    lost = {name: count for name, count in prober.lost.items() if count}
    print(f"{arguments.out}: {len(found.results)} steps; lost by {kind}: {lost or 'nothing'}")
    if found.left_out:
        print(f"left out: {', '.join(found.left_out)}")
    return 0
