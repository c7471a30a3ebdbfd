# SPDX-License-Identifier: GPL-2.0-or-later
"""BokehJS, the plotting library that a report carries in itself.

It comes from the wheel of the Python package, whose version and hash are pinned here; of the wheel
only the library is kept.
"""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.venv import ensure_venv
from scarplib.errors import UserError

VERSION = "3.10.1"
_SHA256 = "d73412b6317f70df0ffe6796956af609617523dfdfbc624d4f7f496cd09e8101"
# In the order in which a page loads them; their licence is at the head of the first.
FILES = ("bokeh.min.js", "bokeh-api.min.js")
_IN_WHEEL = "bokeh/server/static/js"


def ensure_library() -> list[Path]:
    """The library's files, fetched and verified once."""
    folder = cache_dir() / f"bokehjs-{VERSION}-{_SHA256[:8]}"
    files = [folder / name for name in FILES]
    if all(path.is_file() for path in files):
        return files
    python = ensure_venv()
    with locked(folder.name), tempfile.TemporaryDirectory() as scratch:
        if all(path.is_file() for path in files):
            return files
        with step(f"bokehjs {VERSION}"):
            _unpack(_fetch(python, Path(scratch)), folder)
    return files


def _fetch(python: Path, scratch: Path) -> Path:
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"bokeh=={VERSION} --hash=sha256:{_SHA256}\n")
    command = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    # The Python part is not used, so it does not matter which Python it is for.
    command += ["--only-binary=:all:", "--python-version=3.12"]
    command += ["--dest", str(scratch), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = next(scratch.glob("*.whl"), None)
    if done.returncode or not found:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = lines[-1] if lines else "no message"
        raise UserError(f"bokeh {VERSION}, for the report, could not be fetched: {reason}")
    return found


def _unpack(wheel: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            # Renamed into place: a file that is there is whole.
            temporary = folder / f".{name}"
            temporary.write_bytes(archive.read(f"{_IN_WHEEL}/{name}"))
            temporary.replace(folder / name)
