# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-cuts and scarp-why: instants of a recorded run, by the engine's object."""

from __future__ import annotations

from pathlib import Path

from scarplib.build.engine_object import ensure_engine
from scarplib.build.engine_sources import engine_sources
from scarplib.build.first_answer import first_program
from scarplib.build.replayer import built_program, ensure_program
from scarplib.paths import ENGINE

_REPLAYER = ENGINE / "replay"
# Of the replayer, what a repeated run needs, too.
_SHARED = (
    *("changes.c", "changes.h", "cmdlog.c", "cmdlog.h", "contract.c", "contract.h"),
    *("options.c", "options.h", "refused.c", "refused.h", "trace.h"),
)


def _sources(room: str) -> list[Path]:
    """Every file that decides what the program of this room does."""
    shared = [_REPLAYER / name for name in _SHARED]
    own = [path for name in ("rerun", room) for path in (ENGINE / name).glob("*.[ch]")]
    return [*engine_sources(ENGINE), *shared, *sorted(own)]


def cuts_sources() -> list[Path]:
    """Of scarp-cuts."""
    return _sources("cuts")


def ensure_cuts() -> Path:
    """scarp-cuts, from the cache or built into it."""
    return ensure_program("cuts", "scarp-cuts", cuts_sources(), ensure_engine)


def built_cuts() -> Path:
    """Where scarp-cuts is, if it has been built."""
    return built_program("cuts", "scarp-cuts", cuts_sources())


def why_sources() -> list[Path]:
    """Of scarp-why."""
    return _sources("why")


def ensure_why() -> Path:
    """scarp-why, from the cache or built into it."""
    return ensure_program("why", "scarp-why", why_sources(), ensure_engine)


def first_why() -> Path:
    """scarp-why, for somebody who waits and may have changed a file of the engine."""
    return first_program("why", "scarp-why", why_sources())
