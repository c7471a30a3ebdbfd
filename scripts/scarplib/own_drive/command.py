# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp probe` and `scarp fit`."""

from __future__ import annotations

import argparse

from scarplib.command_tree import DRIVES, Tree
from scarplib.own_drive.options import add_fit, add_probe, complete_fit


def _probe(options: argparse.Namespace) -> int:
    from scarplib.own_drive import probing

    return probing.main(options)


def fit(options: argparse.Namespace) -> int:
    """`scarp fit`; what is wrong, and what needs no SciPy, comes before there is one."""
    from scarplib.build.venv import FIT_PACKAGES, go_on_with

    complete_fit(options)
    if not options.check and not options.beside:
        if options.input:
            from scarplib.own_drive.probe_file import load

            load(options.input)
        go_on_with(FIT_PACKAGES, ["fit", *options.typed])
    from scarplib.own_drive import fitting

    return fitting.main(options)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    probe = tree.add(
        "probe",
        DRIVES,
        "measures a drive: a description, or a block device",
        _probe,
        description="Measures a drive by a plan: a description in the replayer, in seconds, or a "
        "block device, which loses its data.",
    )
    add_probe(probe)
    add_fit(
        tree.add(
            "fit",
            DRIVES,
            "makes a description of what a probe measured",
            fit,
            description="From a probe to a description, and how far the two agree.",
        )
    )
