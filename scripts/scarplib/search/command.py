# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp search`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from scarplib.command_tree import RUN, Tree
from scarplib.drive.options import AGE, add_seed, add_set
from scarplib.errors import UserError
from scarplib.option_types import THOUSANDTHS, integer, own_file, scheme_list
from scarplib.paths import DEVICES, OUT

_ABOUT = """Which scheme, with which parameters, makes one figure of a load best. Each policy is
replayed, then parameters of the best ones, then the best ones of several axes joined. The load is
the replayer's: a trace or a generator, with options such as -m closed -q 16. With --guest the best
few run in the guest, and what they do there decides. The same command goes on where it was
interrupted."""
# Of the replayer's words, those that the search says itself.
_OURS = ("--json", "--scheme", "--image", "--save", "--cmd-log", "--params", "--age-seed", "--list")


def _goal(text: str) -> object:
    from scarplib.search import goal

    return goal.parse(text)


def _search(options: argparse.Namespace) -> int:
    from scarplib.runs.command import compared
    from scarplib.search import search

    for word in options.rest:
        if word.partition("=")[0] in _OURS or word[:2] in ("-s", "-i", "-p", "-j"):
            raise UserError(f"{word}: the search says that to the replayer itself")
    if not any(not word.startswith("-") for word in options.rest):
        raise UserError("a load is missing: a trace, or gen:…, as `scarp replay` takes it")
    if not options.device.is_file():
        raise UserError(f"--device: {options.device}: no such file")
    if options.guest:
        # What is wrong with them is said before anything is tried.
        compared(shlex.split(options.guest))
    return search.main(
        search.Wanted(
            goal=options.goal,
            device=options.device,
            overrides=tuple(filter(None, (options.set or "").split(","))),
            age=options.age,
            seed=options.seed,
            first=tuple(options.schemes),
            tries=options.tries,
            best=options.best,
            guest=options.guest,
            rest=tuple(options.rest),
            out=(options.out or OUT / "search").resolve(),
            named=options.out is not None,
        )
    )


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    parser = tree.add(
        "search",
        RUN,
        "the best scheme and parameters for a load, by a goal",
        _search,
        builds=False,
        forwards=True,
        description=_ABOUT,
    )
    parser.add_argument(
        "--goal",
        type=_goal,
        required=True,
        metavar="'p99.9 of reads'",
        help="what to make best: p50, p99, p99.9, p99.99, mean or max of reads, writes or fsync "
        "(in the replayer: flushes); 'write amplification'; IOPS",
    )
    parser.add_argument(
        "--device",
        "-d",
        type=own_file("--device", DEVICES),
        default=DEVICES / "demo.ini",
        metavar="FILE",
        help="the drive's description, or the name of one (default: demo)",
    )
    add_set(parser)
    parser.add_argument(
        "--age",
        type=integer("--age", 0, 1000, THOUSANDTHS),
        default=AGE,
        metavar="N",
        help=f"how full the drive is, in thousandths or as 90%% (default: {AGE})",
    )
    add_seed(parser, 2**63 - 1)
    parser.add_argument(
        "--schemes",
        type=scheme_list,
        default=[],
        metavar="A,B,…",
        help="schemes to begin with (default: every policy by itself)",
    )
    parser.add_argument(
        "--tries",
        type=integer("--tries", 2, 100_000),
        default=200,
        metavar="N",
        help="at most so many schemes are replayed (default: 200)",
    )
    parser.add_argument(
        "--guest",
        default="",
        metavar="'OPTIONS'",
        help="options of `scarp compare`, such as '--job database --fs ext4': the best few run "
        "in the guest, too, which then decides",
    )
    parser.add_argument(
        "--best",
        type=integer("--best", 1, 16),
        default=3,
        metavar="N",
        help="with --guest: how many run in it, besides baseline (default: 3)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="results; what is there of the same search is not done again (default: a folder in "
        "out/search for each search)",
    )
