# SPDX-License-Identifier: GPL-2.0-or-later
"""A command line as `scarp` reads it, for tests of what a command then does in this process."""

from __future__ import annotations

import argparse

from scarplib import cli
from scarplib.own_drive import fitting, probing
from scarplib.own_drive.options import complete_fit
from scarplib.sweep import sweep


def typed(*words: str) -> argparse.Namespace:
    """The options; what is wrong is a UserError."""
    options: argparse.Namespace = cli.tree().parse_args(words)
    return options


def fit_options(*words: str) -> argparse.Namespace:
    """Of `scarp fit`, complete."""
    options = typed("fit", *words)
    complete_fit(options)
    return options


def fit(*words: str) -> int:
    """`scarp fit` without another Python, whatever it needs."""
    return fitting.main(fit_options(*words))


def probe(*words: str) -> int:
    """`scarp probe`."""
    return probing.main(typed("probe", *words))


def swept(*words: str) -> sweep.Sweep:
    """What `scarp sweep` would run."""
    return sweep.wanted(typed("sweep", *words))
