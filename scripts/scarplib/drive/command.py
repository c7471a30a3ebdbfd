# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp schemes`, `devices`, `keys`, `age`, `timeline`."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import DRIVES, RESULTS, Tree
from scarplib.drive.options import add_overwrite, add_scheme, add_seed, add_set
from scarplib.option_types import (
    MICROSECONDS,
    NANOSECONDS,
    THOUSANDTHS,
    add_json,
    integer,
    own_file,
)
from scarplib.paths import DEVICES


def _schemes(options: argparse.Namespace) -> int:
    from scarplib.drive import choices

    print(choices.schemes_text(options.name, options.json))
    return 0


def _devices(options: argparse.Namespace) -> int:
    from scarplib.drive import choices

    print(choices.drives_text(options.part, options.json))
    return 0


def _keys(options: argparse.Namespace) -> int:
    from scarplib.drive import choices

    print(choices.keys_text(options.part, options.json))
    return 0


def _age(options: argparse.Namespace) -> int:
    from scarplib.drive import age

    return age.age(options)


def _timeline(options: argparse.Namespace) -> int:
    from scarplib.drive import timeline

    return timeline.timeline(options)


def _add_lists(tree: Tree) -> None:
    schemes = tree.add("schemes", DRIVES, "which schemes there are", _schemes)
    schemes.add_argument(
        "name", nargs="?", metavar="NAME", help="all of one, or of each of a+b: needs, parameters"
    )
    devices = tree.add("devices", DRIVES, "which drives there are", _devices, builds=False)
    devices.add_argument(
        "part", nargs="?", metavar="PART", help="only those with this in their names, said in full"
    )
    keys = tree.add(
        "keys", DRIVES, "what a drive's description and --set may say", _keys, builds=False
    )
    keys.add_argument("part", nargs="?", metavar="PART", help="only keys that have this: gc., free")
    for each in (schemes, devices, keys):
        add_json(each)


def _add_age(tree: Tree) -> None:
    age = tree.add("age", DRIVES, "an aged drive in a file, for runs and replays to start", _age)
    age.add_argument(
        "description",
        type=own_file("DESCRIPTION", DEVICES),
        metavar="DESCRIPTION",
        help="a drive's, or the name of one: `scarp devices`",
    )
    age.add_argument("-o", "--output", type=Path, required=True, metavar="IMAGE")
    age.add_argument(
        "--fill",
        type=integer("--fill", 1, 1000, THOUSANDTHS),
        default=900,
        metavar="N",
        help="how much of it is written, in thousandths (default: 900)",
    )
    add_overwrite(age)
    age.add_argument(
        "--pattern",
        choices=("random", "sequential"),
        default="random",
        help="how it is overwritten (default: random)",
    )
    age.add_argument(
        "--slc", choices=("full",), help="full: its SLC cache, which is empty without this"
    )
    add_scheme(age)
    add_seed(age, 2**61 - 1)
    add_set(age)


def _add_timeline(tree: Tree) -> None:
    timeline = tree.add("timeline", RESULTS, "a moment of a run, for ui.perfetto.dev", _timeline)
    timeline.add_argument("folder", type=Path, metavar="RUN/SCHEME", help="out/latest/baseline")
    timeline.add_argument(
        "--around",
        type=integer("--around", 0, 2**61, NANOSECONDS),
        required=True,
        metavar="NS",
        help="the moment, in ns of the drive's clock, as the report and the logs have it",
    )
    timeline.add_argument(
        "--for",
        dest="length",
        type=integer("--for", 1, 2**50, MICROSECONDS),
        default=50_000,
        metavar="US",
        help="so many microseconds, a sixth of them before the moment (default: 50000)",
    )
    timeline.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    _add_lists(tree)
    _add_age(tree)
    _add_timeline(tree)
