# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-array: the SSD array's core on drives of the engine's object."""

from __future__ import annotations

from pathlib import Path

from scarplib.build.engine_object import ensure_engine
from scarplib.build.engine_sources import engine_sources
from scarplib.build.replayer import built_program, ensure_program
from scarplib.paths import ENGINE, ROOT

ARRAY = ROOT / "guest" / "array"
_REPLAYER = ENGINE / "replay"
# Of the replayer, what the simulator uses, too.
_SHARED = [_REPLAYER / name for name in ("options.c", "options.h", "refused.c", "refused.h")]


def core() -> list[Path]:
    """The array's own sources, the same wherever it runs."""
    return sorted(path for path in ARRAY.glob("*") if path.suffix in (".c", ".h"))


def sources() -> list[Path]:
    """Every file that decides what the simulator does."""
    own = [*core(), *sorted((ARRAY / "sim").glob("*.[ch]"))]
    return [*engine_sources(ENGINE), *_SHARED, *own]


def ensure_simulator() -> Path:
    """scarp-array, from the cache or built into it."""
    return ensure_program("array", "scarp-array", sources(), ensure_engine)


def built_simulator() -> Path:
    """Where scarp-array is, if it has been built."""
    return built_program("array", "scarp-array", sources())
