# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as one object, optimised as a whole: the library and most programs are linked of it.

scarp-replay and bench-engine, whose speed is what they are for, are optimised together with it.
"""

from __future__ import annotations

from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compile_object
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.build.replayer import PACKAGES
from scarplib.paths import ENGINE


def _key() -> str:
    return tree_hash([*engine_sources(ENGINE), RECIPE])[:20]


def ensure_engine() -> Path:
    """The object, from the cache or built into it; all names of the engine are visible in it."""
    whole = cache_dir() / "engine" / _key() / "scarp.o"
    if whole.is_file():
        return whole
    ensure_packages(PACKAGES)
    with locked("engine"), step("building the engine"):
        if not whole.is_file():
            compile_object(whole, ENGINE, engine_sources(ENGINE), ("glib-2.0",), _key)
    return whole
