# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`, `array`, `convert`, `fill`: loads on drives without a guest.

The first two read some options themselves, and hand the others on to a program of the engine's,
which says of them what --help shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scarplib.command_tree import RUN, Tree
from scarplib.errors import UserError
from scarplib.option_types import (
    SECONDS,
    THOUSANDTHS,
    Parser,
    add_json,
    counted,
    integer,
    one_scheme,
    own_file,
    scheme_list,
)
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


def _fill(options: argparse.Namespace) -> int:
    from scarplib.build.venv import PACKAGES, go_on_with

    go_on_with(PACKAGES, ["fill", *options.typed])
    from scarplib.replays import fill

    return fill.main(options)


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
    _add_replay_options(parser)


def read_replay(words: Sequence[str]) -> argparse.Namespace:
    """The options that `scarp replay` itself would read of these words; `rest` has the others."""
    parser = Parser(prog="scarp replay", add_help=False)
    _add_replay_options(parser)
    options, rest = parser.parse_known_args(words)
    options.rest = rest
    return options


def _add_replay_options(parser: argparse.ArgumentParser) -> None:
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


# Units of a place on a drive; GB are those that drives are sold by.
_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def _pause(text: str) -> str:
    seconds, _, place = text.partition("@")
    long, at = counted(seconds, SECONDS), counted(place, _BYTES)
    if long is None or at is None or not 1 <= long <= 10**6 or at < 0:
        raise UserError(
            f"--pause: '{text}' is not SECONDS@PLACE, such as 60@300GB; seconds are 1 to 1000000, "
            f"and a place may have a unit: {', '.join(_BYTES)}"
        )
    return f"{long}@{at}"


def _add_fill(tree: Tree) -> None:
    parser = tree.add(
        "fill",
        RUN,
        "a drive written from empty to full: where it becomes slower",
        _fill,
        description="Writes a drive from empty to full in blocks of 1 MiB, one at a time, on the "
        "engine alone; prints the levels of its rate and the mean, and draws each second.",
    )
    parser.add_argument("device", type=own_file("DEVICE", DEVICES), metavar="DEVICE")
    parser.add_argument("--scheme", type=one_scheme, default="baseline", metavar="NAME")
    parser.add_argument(
        "--set",
        type=_split,
        action="extend",
        default=[],
        metavar="GROUP.KEY=VALUE",
        help="changes the description; repeatable",
    )
    parser.add_argument(
        "--pause",
        type=_pause,
        action="append",
        default=[],
        metavar="SECONDS@PLACE",
        help="rests there, such as 60@300GB; repeatable",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="then writes the full drive once more"
    )
    parser.add_argument("--seed", type=integer("--seed", 0, 2**60), default=1, metavar="N")
    parser.add_argument(
        "--window",
        type=integer("--window", 1, 10**6),
        default=1000,
        metavar="MS",
        help="counts bytes for each so many ms (default: 1000)",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="(default: out/fill-DEVICE.svg)"
    )
    add_json(parser)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    _add_replay(tree)
    _add_array(tree)
    _add_fill(tree)
    convert = tree.add(
        "convert", RUN, "a trace that replay does not read, into one", _convert, builds=False
    )
    convert.add_argument("trace", type=Path, metavar="TRACE", help="vscsiStats' binary data")
    convert.add_argument("-o", "--out", type=Path, required=True, metavar="FILE")
