# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp sweep`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import RUN, Tree
from scarplib.errors import UserError
from scarplib.runs.command import compared
from scarplib.sweep.options import add_sweep


def _sweep(options: argparse.Namespace) -> int:
    from scarplib.build.venv import REPRODUCE_PACKAGES, go_on_with
    from scarplib.sweep import sweep

    wanted = sweep.wanted(options)
    guests = None if wanted.replay else compared(wanted.rest)
    if guests and guests.clock.cpu_shift is None and options.cores != 1:
        raise UserError(
            "--clock realtime: needs --cores 1: cells that run at once make each other late"
        )
    go_on_with(REPRODUCE_PACKAGES, ["sweep", *options.typed])
    program = sweep.program(guests)
    if wanted.replay:
        sweep.check_replays(wanted)
    return sweep.run(wanted, program, options)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    parser = tree.add(
        "sweep",
        RUN,
        "a comparison on many drives and seeds, here or on a cluster",
        _sweep,
        builds=False,
        forwards=True,
        description="One comparison on many drives and seeds, with one report. All other options "
        "are those of `scarp compare`; with --replay, those of `scarp replay`.",
    )
    add_sweep(parser)
