# SPDX-License-Identifier: GPL-2.0-or-later
"""How much more had to be written until a guest's drive collected: a replay of its log says it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from scarplib.build.replayer import ensure_replay
from scarplib.drive import start
from scarplib.errors import UserError
from scarplib.results.replay_words import collected, nothing_collected
from scarplib.scheme_text import folder_name


def _missing_bytes(begun: start.Start, log: Path) -> int | None:
    command = [str(ensure_replay()), "--quiet", *begun.words(), "--json", "-", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["until_collection_bytes"]
    except (ValueError, LookupError, TypeError):
        return None
    return int(found)


def no_collection(result: dict[str, Any], folder: Path) -> str | None:
    """A sentence for a run whose summary this is, where no scheme has collected anything."""
    schemes = result["schemes"]
    if collected(list(schemes.values())):
        return None
    more: int | None = None
    # The least of all: a scheme that works ahead begins first.
    for name in schemes:
        try:
            begun = start.of_run(result, folder, name)
            log = folder / folder_name(name) / "cmd.bin"
            one = _missing_bytes(begun, log) if begun else None
        except (UserError, OSError):
            one = None
        if one is not None:
            more = one if more is None else min(more, one)
    return nothing_collected(len(schemes) > 1, more, "by a longer job")
