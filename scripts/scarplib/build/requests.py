# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-requests: what `scarp probe` does a device's requests with."""

from __future__ import annotations

from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compile_program
from scarplib.build.host_packages import ensure_packages
from scarplib.paths import ENGINE, SCRIPTS

SOURCE = SCRIPTS / "scarplib" / "own_drive" / "scarp-requests.c"


def _key() -> str:
    return tree_hash([SOURCE, RECIPE])[:20]


def ensure_requests() -> Path:
    """From the cache, or built into it."""
    name = "scarp-requests"
    binary = cache_dir() / "requests" / _key() / name
    if binary.is_file():
        return binary
    ensure_packages(("gcc", "libc6-dev", "pkg-config", "liburing-dev"))
    with locked("requests"), step(f"building {name}"):
        if not binary.is_file():
            folders = (SOURCE.parent,)
            compile_program(binary, ENGINE, [SOURCE], ("liburing",), folders, _key)
    return binary
