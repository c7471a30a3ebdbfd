# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp dist`, `install`, `uninstall`: what `make` calls by the same names."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import DEVELOPERS, CommandParser, Tree
from scarplib.errors import UserError


def _prefix(text: str) -> Path:
    if not Path(text).is_absolute():
        raise UserError(f"PREFIX={text}: must be an absolute path, such as /usr/local")
    return Path(text)


def _place(options: argparse.Namespace) -> Path:
    if not options.destdir:
        return Path(options.prefix)
    # A path joined to another absolute one would be that one.
    return Path(f"{Path(options.destdir).resolve()}{options.prefix}")


def _dist(_: argparse.Namespace) -> int:
    from scarplib.release import dist

    return dist.main()


def _uninstall(options: argparse.Namespace) -> int:
    from scarplib.release import install

    return install.uninstall(_place(options))


def _add_place(parser: CommandParser) -> None:
    parser.add_argument(
        "--prefix",
        type=_prefix,
        default=Path("/usr/local"),
        metavar="FOLDER",
        help="below which folder (default: /usr/local)",
    )
    parser.add_argument(
        "--destdir", default="", metavar="FOLDER", help="stands for / meanwhile, as packages want"
    )


def add_commands(tree: Tree) -> None:
    """To `scarp`, whose whole tree the manual describes."""

    def install(options: argparse.Namespace) -> int:
        from scarplib.release import install

        return install.install(_place(options), tree)

    tree.add("dist", DEVELOPERS, "git's files as a tarball, the same bytes each time", _dist)
    _add_place(tree.add("install", DEVELOPERS, "this version below a prefix", install))
    _add_place(tree.add("uninstall", DEVELOPERS, "takes what was installed away", _uninstall))
