# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp completion`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import SETTING_UP, Tree

# In place of a shell: the words that follow are to be completed.
_WORDS = "words"


def add_commands(tree: Tree) -> None:
    """To `scarp`, whose whole tree completion reads."""

    def run(options: argparse.Namespace) -> int:
        from scarplib.completion import words

        if options.shell == _WORDS:
            print("\n".join(words.completed(tree, options.so_far)))
        else:
            print(words.script(options.shell), end="")
        return 0

    parser = tree.add(
        "completion", SETTING_UP, "what a shell needs to complete all this", run, builds=False
    )
    parser.add_argument(
        "shell",
        choices=("bash", "zsh", _WORDS),
        metavar="{bash,zsh}",
        help="whose; see its first lines",
    )
    parser.add_argument("so_far", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
