# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run's results: made, pointed to by out/latest, and its report drawn."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

from scarplib.build.venv import ensure_venv
from scarplib.errors import UserError
from scarplib.paths import OUT, ROOT


def new_folder(kind: str, wanted: Path | None) -> Path:
    """A fresh folder for results; out/latest points to the newest unnamed one."""
    if wanted:
        if wanted.exists() and any(wanted.iterdir()):
            raise UserError(f"--out: {wanted} is not empty")
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted.resolve()
    OUT.mkdir(exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        folder = OUT / f"{stamp}-{kind}{suffix}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise UserError(f"--out: too many folders named {stamp}-{kind} in {OUT}")


def point_latest(folder: Path) -> None:
    """Make out/latest lead to this folder, if it is one of out/."""
    if folder.parent != OUT:
        return
    # Renamed into place: two runs at once must not see a missing link.
    temporary = OUT / f".latest-{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(OUT / "latest")


def draw(
    folder: Path, module: str = "scarplib.results.report", numbers: str = "summary.json"
) -> None:
    """The report of what is in the folder, by the venv's Python, which has matplotlib."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(
        [ensure_venv(), "-B", "-m", module, folder],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise UserError(
            f"the report could not be drawn (above); the numbers are in {folder / numbers}"
        )
