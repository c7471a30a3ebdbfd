# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp probe` and `scarp fit` may be told, and which way of a fit takes what."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.errors import UserError
from scarplib.option_types import MIBS, THOUSANDTHS, Parser, integer, one_scheme, own_file
from scarplib.paths import DEVICES

# What each way of `scarp fit` takes; the first is a fit.
TAKES = {
    "": ("out", "json", "minutes", "seed", "cores"),
    "--check": ("json", "scheme"),
    "--beside": ("json", "scheme", "rows", "age", "steady", "seconds"),
    "--blind": ("out", "minutes", "seed", "cores", "mib", "guests", "first"),
}
# What these are if nothing is said: told apart from what is said, which must not be ignored.
USUAL: dict[str, int | str] = {
    "minutes": 10,
    "seed": 1,
    "cores": 0,
    "scheme": "baseline",
    "rows": "all",
    "mib": 2048,
    "guests": 0,
    "first": 1,
}


def add_probe(parser: Parser) -> None:
    """Of `scarp probe`."""
    parser.add_argument(
        "drive",
        type=own_file("DRIVE", DEVICES),
        help="a description (….ini), a block device, or an empty file",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("probe.json"),
        help="the result (default: probe.json)",
    )
    parser.add_argument(
        "--seed",
        type=integer("--seed", 1, 2**31),
        default=1,
        metavar="N",
        help="of the addresses (default: 1)",
    )
    parser.add_argument(
        "--mib",
        type=integer("--mib", 32, 2**24, MIBS),
        metavar="N",
        help="how much of the drive (default: all of a description, 2048 of a device)",
    )
    parser.add_argument(
        "--held-out", action="store_true", help="also loads that `scarp fit` does not look at"
    )
    of = parser.add_argument_group("a description")
    of.add_argument(
        "--scheme",
        type=one_scheme,
        metavar="NAME[:KEY=VALUE…]",
        help="GC scheme (default: baseline)",
    )
    of.add_argument(
        "--set",
        metavar="GROUP.KEY=VALUE",
        action="append",
        default=[],
        help="a key of the description; may be given several times",
    )
    of.add_argument(
        "--guest",
        action="store_true",
        help="as the kernel of a guest has it, not in the replayer: minutes",
    )
    of = parser.add_argument_group("a block device")
    of.add_argument(
        "--destroy",
        metavar="SERIAL",
        help="the device's serial number, as it says it itself: its data may be overwritten",
    )
    of.add_argument(
        "--minutes",
        type=integer("--minutes", 1, 10000),
        metavar="N",
        help="what does not fit into so much time is left out (default: 30)",
    )


def add_fit(parser: Parser) -> None:
    """Of `scarp fit`."""
    parser.add_argument(
        "input",
        type=own_file("FILE", DEVICES),
        nargs="?",
        metavar="FILE",
        help="a probe; with --check or --beside a description",
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="the description (default: mydrive.ini)"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="keys and figures for programs, with --check and --beside figures; --blind's result "
        "is JSON by itself",
    )
    parser.add_argument(
        "--minutes",
        type=integer("--minutes", 1, 10000),
        metavar="N",
        help="of processor time for the search, about (default: 10)",
    )
    parser.add_argument(
        "--seed",
        type=integer("--seed", 0, 2**31),
        metavar="N",
        help="of the search (default: 1)",
    )
    parser.add_argument(
        "--cores",
        type=integer("--cores", 0, 4096),
        metavar="N",
        help="candidates at once; 0: one for each core (default: 0)",
    )
    parser.add_argument(
        "--scheme",
        type=one_scheme,
        metavar="NAME[:KEY=VALUE…]",
        help="with --check and --beside: GC scheme (default: baseline)",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="PROBE",
        help="what a description does with this probe's loads",
    )
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="TABLE",
        help="what a description does with a table of fio's runs, or with the jobs of fio's JSON",
    )
    parser.add_argument(
        "--rows",
        choices=("all", "fit", "held"),
        help="of --beside: rows that a fit has used, or others (default: all)",
    )
    parser.add_argument(
        "--age",
        type=integer("--age", 0, 1000, THOUSANDTHS),
        metavar="N",
        help="of --beside: how full the drive is before each run, in thousandths (default: all of "
        "it where something is read, else nothing)",
    )
    parser.add_argument(
        "--steady",
        action="store_true",
        default=None,
        help="of --beside: before each run the drive is overwritten at random, twice its size, as "
        "a used one has been (default: nothing is, and no collection is due for a while)",
    )
    parser.add_argument(
        "--seconds",
        type=integer("--seconds", 1, 30),
        metavar="S",
        help="of --beside: how long each run is, on the drive's clock (default: 0.4 s)",
    )
    parser.add_argument(
        "--blind",
        type=integer("--blind", 1, 1000),
        metavar="N",
        help="fits so many descriptions that are drawn, without looking",
    )
    parser.add_argument(
        "--first",
        type=integer("--first", 1, 1000000),
        metavar="N",
        help="of --blind: the number of the first; others are other drives (default: 1)",
    )
    parser.add_argument(
        "--mib",
        type=integer("--mib", 256, 65536, MIBS),
        metavar="N",
        help="of --blind: the largest (default: 2048)",
    )
    parser.add_argument(
        "--guests",
        type=integer("--guests", 0, 1000),
        metavar="N",
        help="of --blind: so many of them are probed by a guest's block device (default: 0)",
    )


def complete_fit(options: argparse.Namespace) -> None:
    """Refuses what would be ignored, and fills in what is not said."""
    ways = [way for way in TAKES if way and getattr(options, way.strip("-")) is not None]
    if len(ways) > 1:
        raise UserError(f"{ways[1]}: excludes {ways[0]}")
    if (options.input is None) != (options.blind is not None):
        raise UserError("FILE: needed, but for --blind, which excludes it")
    way = ways[0] if ways else ""
    for name in dict.fromkeys(name for names in TAKES.values() for name in names):
        if getattr(options, name) is None:
            setattr(options, name, USUAL.get(name))
        elif name not in TAKES[way]:
            takers = " or ".join(one for one, names in TAKES.items() if name in names)
            raise UserError(
                f"--{name}: " + (f"does nothing with {way}" if way else f"needs {takers}")
            )
    if options.blind and options.guests > options.blind:
        raise UserError(f"--guests: {options.guests} of {options.blind} --blind ones")
    if options.steady and options.age == 0:
        raise UserError("--steady: nothing of an empty drive can be overwritten; --age is 0")
