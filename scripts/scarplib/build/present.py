# SPDX-License-Identifier: GPL-2.0-or-later
"""What is checked out: what records of long runs say that they are of."""

from __future__ import annotations

import subprocess
from pathlib import Path

from scarplib.build.cache import tree_hash
from scarplib.build.engine_sources import engine_sources
from scarplib.paths import ROOT


def engine_files(ftl: Path) -> list[Path]:
    """Of the engine, not of the programs beside it: what tests/hunt/hunt.mk makes a hunt of."""
    return [*engine_sources(ftl), *(ftl / "replay").glob("contract.[ch]")]


def engine_hash() -> str:
    """Of the engine's sources."""
    return tree_hash(engine_files(ROOT / "ftl"))[:12]


def device_hash() -> str:
    """Of what the device is made of: a line of another one says nothing of this one's changes."""
    files = [*(ROOT / "qemu-patches").glob("*.patch"), *(ROOT / "hw").glob("*.[ch]")]
    files += engine_sources(ROOT / "ftl")
    return tree_hash(files)[:12]


def commit() -> str:
    """Its first eight digits; "none" where there is no repository."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "none"
