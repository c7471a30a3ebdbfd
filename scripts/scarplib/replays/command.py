# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`, `array`, `convert`: loads on drives without a guest.

The first two read some options themselves, and hand the others on to a program of the engine's,
which says of them what --help shows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import RUN, Tree
from scarplib.option_types import THOUSANDTHS, counted, own_file, scheme_list
from scarplib.paths import DEVICES

# Options of scarp-replay that count in thousandths.
IN_THOUSANDTHS = ("age", "age-overwrite")
# Options of scarp-array that not every mode has, and the modes that have them.
OF_MODES = {
    "--drive-slots": ("independent", "striped"),
    "--turn-us": ("coordinated",),
    "--turn-drives": ("coordinated",),
    "--turn-free-blocks": ("coordinated",),
}


def _replay(options: argparse.Namespace) -> int:
    from scarplib.replays import replay

    return replay.main(options)


def _array(options: argparse.Namespace) -> int:
    from scarplib.replays import array

    return array.main(options)


def _convert(options: argparse.Namespace) -> int:
    from scarplib.replays import foreign_traces

    return foreign_traces.convert(options.trace, options.out)


def thousandths(text: str) -> str:
    """90% as the replayer has it; what is no such number is the replayer's to refuse."""
    value = counted(text, THOUSANDTHS)
    return text if value is None else str(value)


def _instant(text: str) -> str:
    from scarplib.results import instant

    return instant.check(text)


def _split(text: str) -> list[str]:
    return text.split(",")


def _add_replay(tree: Tree) -> None:
    parser = tree.add(
        "replay",
        RUN,
        "a block trace or generator on a drive, without a guest",
        _replay,
        builds=False,
        forwards=True,
        add_help=False,
    )
    parser.add_argument("--schemes", type=scheme_list)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--at", type=_instant)
    parser.add_argument("-s", "--scheme")
    # The other commands' names of the next two are --device and --set.
    parser.add_argument("-d", "--description", "--device", type=own_file("--description", DEVICES))
    parser.add_argument("-o", "--override", action="append", default=[])
    parser.add_argument("--set", type=_split, action="extend", dest="override")
    parser.add_argument("-i", "--image")
    parser.add_argument("-p", "--params")
    for name in ("seed", "age", "age-overwrite", "age-pattern", "age-seed"):
        parser.add_argument(f"--{name}", type=thousandths if name in IN_THOUSANDTHS else str)


def _add_array(tree: Tree) -> None:
    parser = tree.add(
        "array",
        RUN,
        "the SSD array on simulated drives, without a guest",
        _array,
        builds=False,
        forwards=True,
        add_help=False,
    )
    parser.add_argument("-m", "--mode")
    parser.add_argument("-j", "--json")
    parser.add_argument("-d", "--description", type=own_file("--description", DEVICES))
    for name in ("--images", "--replay", "--record", *OF_MODES):
        parser.add_argument(name)
    for name in ("--fresh", "--list", "--version"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-h", "--help", action="store_true")


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    _add_replay(tree)
    _add_array(tree)
    convert = tree.add(
        "convert", RUN, "a trace that replay does not read, into one", _convert, builds=False
    )
    convert.add_argument("trace", type=Path, metavar="TRACE", help="vscsiStats' binary data")
    convert.add_argument("-o", "--out", type=Path, required=True, metavar="FILE")
