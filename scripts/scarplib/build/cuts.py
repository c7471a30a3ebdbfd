# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-cuts: power cuts in a recorded run on the engine alone, built as scarp-replay is."""

from __future__ import annotations

from pathlib import Path

from scarplib.build.engine_sources import engine_sources
from scarplib.build.replayer import built_program, ensure_program
from scarplib.paths import ENGINE

_REPLAYER = ENGINE / "replay"
# Of the replayer, what power cuts need, too.
_SHARED = (
    *("cmdlog.c", "cmdlog.h", "contract.c", "contract.h", "options.c", "options.h"),
    *("refused.c", "refused.h", "trace.h"),
)


def cuts_sources() -> list[Path]:
    """Every file that decides what the program does."""
    shared = [_REPLAYER / name for name in _SHARED]
    return [*engine_sources(ENGINE), *shared, *sorted((ENGINE / "cuts").glob("*.[ch]"))]


def ensure_cuts() -> Path:
    """scarp-cuts, from the cache or built into it."""
    return ensure_program("cuts", "scarp-cuts", cuts_sources())


def built_cuts() -> Path:
    """Where scarp-cuts is, if it has been built."""
    return built_program("cuts", "scarp-cuts", cuts_sources())
