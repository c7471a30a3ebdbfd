# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import RUN, Tree
from scarplib.drive.options import check_overwrite
from scarplib.guest.options import job_of, user_of
from scarplib.option_types import Parser
from scarplib.powercut.options import add_powercut


def _usual(options: argparse.Namespace) -> argparse.Namespace:
    """The options when none is given."""
    parser = Parser(prog="scarp powercut")
    add_powercut(parser)
    known = {name: getattr(options, name) for name in ("command", "run", "typed")}
    return parser.parse_args([], argparse.Namespace(**known))


def _powercut(options: argparse.Namespace) -> int:
    from scarplib.powercut import ways

    ways.check_read(options, _usual(options))
    check_overwrite(options)
    if options.ready:
        return ways.main_ready(options)
    if options.lies:
        return ways.main_lies(options)
    ways.complete(options)
    if options.recording:
        return ways.main(options, None, None)
    user = user_of(options, [options.fs] if options.fs else [])
    return ways.main(options, user, job_of(options, None))


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    add_powercut(tree.add("powercut", RUN, "what a workload's software survives", _powercut))
