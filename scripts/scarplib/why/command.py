# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why`."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import RESULTS, Tree
from scarplib.option_types import add_json, integer, schemes_of


def _why(options: argparse.Namespace) -> int:
    from scarplib.why import asking

    return asking.main(options)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    why = tree.add(
        "why",
        RESULTS,
        "what slow commands would have cost under another scheme, and who pays",
        _why,
    )
    why.add_argument("folder", type=Path, metavar="RUN/SCHEME", help="out/latest/baseline")
    which = why.add_mutually_exclusive_group()
    which.add_argument(
        "--slowest",
        type=integer("--slowest", 1, 1000),
        default=None,
        metavar="N",
        help="commands of the job, the slowest first (default: 10)",
    )
    which.add_argument(
        "--command",
        dest="orders",
        type=integer("--command", 0, (1 << 30) - 1),
        action="append",
        metavar="N",
        help="the one of this order of submission, as `scarp rows` has it; repeatable",
    )
    why.add_argument(
        "--at",
        metavar="NS",
        help="the instant from which the drive is another (default: before the first collection of "
        "the chain that the command was behind)",
    )
    why.add_argument(
        "--under",
        type=schemes_of("--under"),
        action="extend",
        default=[],
        metavar="A,B",
        help="schemes (default: the run's others, and --without collections)",
    )
    why.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="collections",
        help="none begins until the commands have ended, but where a plane has no block left",
    )
    why.add_argument(
        "--with",
        dest="larger",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="controller.buffer_bytes=N: a larger write buffer",
    )
    add_json(why)
    why.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="fact and branches, for ui.perfetto.dev"
    )
    why.add_argument(
        "--watch",
        action="store_true",
        help="answer again whenever a file of ftl/ is saved, until Ctrl-C",
    )
    why.add_argument(
        "--logs", type=Path, metavar="DIR", help="each branch's command log and GC log, in there"
    )
