# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`: a block trace or a generator on a drive; this process becomes the program."""

from __future__ import annotations

import os

from scarplib.build.replayer import ensure_replay


def main(arguments: list[str]) -> int:
    """Its options are those of scarp-replay, which also checks them."""
    os.execv(ensure_replay(), ["scarp-replay", *arguments])
