# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine's own sources, without the programs that lie beside its rooms."""

from __future__ import annotations

from pathlib import Path

# Rooms of `beside` in ftl/rooms.toml: the engine, and so the device, needs none of them.
BESIDE = ("replay", "rerun", "cuts", "why")


def engine_sources(ftl: Path) -> list[Path]:
    """Sources and headers below ftl, a checkout's, but those of scarp-replay and scarp-cuts."""
    files = (path for path in ftl.rglob("*.[ch]") if path.relative_to(ftl).parts[0] not in BESIDE)
    return sorted(files)
