# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp new`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import DEVELOPERS, Tree

# Axes that `scarp new` has a file for.
AXES = ("victim", "pacing", "placement")


def _new(options: argparse.Namespace) -> int:
    from scarplib.own_scheme import new

    return new.main(options.axis, options.name)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    parser = tree.add(
        "new", DEVELOPERS, "a policy of your own, to begin from (docs/add-a-scheme.md)", _new
    )
    parser.add_argument("axis", choices=AXES, help="what the policy chooses")
    parser.add_argument("name", metavar="NAME", help="as --schemes will have it, such as my-greedy")
