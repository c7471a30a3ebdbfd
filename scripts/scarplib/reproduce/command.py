# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp reproduce`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import RUN, CommandParser, Tree
from scarplib.errors import UserError
from scarplib.option_types import add_cores
from scarplib.own_drive import command as own_drive
from scarplib.own_drive.options import add_fit

_PAPERS = (
    *("hpdc18", "paragc", "pregc", "mappings", "hios", "all-together", "safs"),
    *("fit", "all", "small"),
)


def _how(options: argparse.Namespace) -> str:
    """What is asked for in place of a whole run; empty: nothing."""
    return next((word for word in ("quick", "estimate", "kept") if getattr(options, word)), "")


def _check_row(options: argparse.Namespace) -> None:
    """--row and --set, beside each other and beside the other options."""
    if options.set and not options.row:
        raise UserError("--set: needs --row, the row that is asked again under that choice")
    how = _how(options)
    if options.row and how in ("estimate", "kept"):
        raise UserError(f"--{how}: not with --row, which runs the cells of that row")
    if options.row and options.traces:
        raise UserError("--traces: not with --row, whose published figures are of the stand-ins")


def _reproduce(options: argparse.Namespace) -> int:
    _check_row(options)
    if options.paper == "fit":
        return _blind(options)
    from scarplib.build.venv import REPRODUCE_PACKAGES, go_on_with

    # Snakemake, and numpy: the system's Python need not have them.
    go_on_with(REPRODUCE_PACKAGES, ["reproduce", *options.typed])
    from scarplib.reproduce import one_row, papers

    how = _how(options)
    if options.row:
        return one_row.main(options.paper, options.row, options.set, options.cores, how or "full")
    return papers.reproduce(options.paper, options.cores, how, options.traces)


def _blind(options: argparse.Namespace) -> int:
    """`reproduce fit`: no paper's, but the trial of fits of drives that are drawn."""
    if options.traces:
        raise UserError("--traces: not with fit, whose drives and loads are drawn")
    if options.kept:
        raise UserError("--kept: not with fit, which keeps no figures of its own")
    if options.row:
        raise UserError("--row: not with fit, which has no rows")
    count, minutes, largest, guests = (3, 1, 400, 0) if options.quick else (30, 10, 2048, 5)
    if options.estimate:
        print(
            f"fit: {count} drives, each {minutes} minutes of processor time and a little more, of "
            f"{guests} that a guest probes a few minutes more"
        )
        return 0
    words = ["--blind", str(count), "--minutes", str(minutes), "--mib", str(largest)]
    words += ["--guests", str(guests)]
    if not options.quick:
        # Those before were looked at when the search was made.
        words += ["--first", "31"]
    out = "blind-quick.json" if options.quick else "blind.json"
    parser = CommandParser(prog="scarp fit")
    add_fit(parser)
    return own_drive.fit(parser.parse_args([*words, "--cores", str(options.cores), "-o", out]))


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    parser = tree.add("reproduce", RUN, "a paper's experiments, and their verdicts", _reproduce)
    parser.add_argument("paper", choices=_PAPERS)
    add_cores(parser)
    parser.add_argument(
        "--traces",
        default="",
        metavar="DIR",
        help="real traces in place of the stand-ins named after them: NAME.csv, plain, .gz or .zst",
    )
    parser.add_argument(
        "--row",
        default="",
        metavar="NUMBER",
        help="run this row alone, and print its verdict beside the published one: 1b",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="with --row: under another choice, GROUP.KEY=VALUE of the drive or "
        "SCHEME.PARAMETER=VALUE, the scheme as the paper's file calls it; may be repeated",
    )
    less = parser.add_mutually_exclusive_group()
    less.add_argument(
        "--quick",
        action="store_true",
        help="directions in minutes: three seeds, short runs; the page goes to out/reproduce/quick",
    )
    less.add_argument(
        "--kept",
        action="store_true",
        help="run no cell: judge the figures in docs/results/raw, and write the pages",
    )
    less.add_argument(
        "--estimate", action="store_true", help="say how long it would take on this machine"
    )
