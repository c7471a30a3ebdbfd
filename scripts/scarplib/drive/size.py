# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a drive is the host's, as the engine reckons it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from scarplib.errors import UserError


def logical_bytes(
    description: Path | None, overrides: str | None, image: Path | None = None
) -> int:
    """What all namespaces of a drive have together; also a check that it is one."""
    from scarplib.build.first_answer import first_replay

    words = [str(first_replay()), "--quiet"]
    words += ["--image", str(image)] if image else ["--description", str(description)]
    for override in filter(None, (overrides or "").split(",")):
        words += ["--override", override]
    with tempfile.TemporaryDirectory(prefix="scarp-size-") as folder:
        path = Path(folder) / "size.json"
        words += ["--json", str(path), "--requests", "1", "gen:uniform,requests=1"]
        done = subprocess.run(
            words, capture_output=True, text=True, errors="surrogateescape", check=False
        )
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            raise UserError(said[-1].removeprefix("scarp-replay: "))
        size: int = json.loads(path.read_text())["stats"]["logical_bytes"]
    return size
