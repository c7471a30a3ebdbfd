# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp shell` and `scarp cut`."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import RUN, Tree
from scarplib.drive.options import add_scheme
from scarplib.guest.file_system import FILE_SYSTEMS
from scarplib.guest.options import add_machine, add_user, clock_of, user_of

_CUT = """The power of a running guest's drive fails, and comes back at once. The drive needs
nand.power_cuts=1 and ftl.recovery=1 or 2. Its controllers have lost their queues then and say so
(CSTS.CFS); Linux looks when a command has not ended for 30 s, and resets them. In the guest `nvme
reset` is sooner; and `nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=3 --timeout=1` is a cut
by the guest itself, at the same moment in every run, or with --cdw11=N in N microseconds."""


def _shell(options: argparse.Namespace) -> int:
    from scarplib.guest import shell

    user = user_of(options, [options.mkfs] if options.mkfs else [])
    return shell.shell(options, user, clock_of(options))


def _cut(options: argparse.Namespace) -> int:
    from scarplib.build.venv import PACKAGES, go_on_with

    go_on_with(PACKAGES, ["cut", *options.typed])
    from scarplib.guest import power

    print(power.cut(options.socket, options.drive))
    return 0


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    shell = tree.add("shell", RUN, "boot the guest to a prompt on the drive", _shell)
    shell.add_argument("--mkfs", choices=FILE_SYSTEMS, help="make and mount this file system")
    add_user(shell)
    add_scheme(shell)
    shell.add_argument(
        "--qmp",
        type=Path,
        metavar="SOCKET",
        help="where `scarp cut`, and whoever speaks QMP, can talk to the guest's QEMU meanwhile",
    )
    add_machine(shell, "demo")
    cut = tree.add(
        "cut",
        RUN,
        "the power of a running guest's drive fails, and comes back at once",
        _cut,
        description=_CUT,
    )
    cut.add_argument(
        "socket",
        type=Path,
        metavar="SOCKET",
        help="`scarp shell --qmp`'s, or that of a QEMU of your own: -qmp "
        "unix:SOCKET,server=on,wait=off",
    )
    cut.add_argument(
        "--drive",
        default="f0",
        metavar="ID",
        help="of -device nvme-flash,id=ID (default: f0, which is the shell's)",
    )
