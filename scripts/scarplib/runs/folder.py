# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run's results: made, pointed to by out/latest, and its report drawn."""

from __future__ import annotations

import datetime
import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scarplib.build.venv import ensure_venv
from scarplib.errors import UserError, printable_lines
from scarplib.paths import OUT, ROOT

_LATEST = OUT / "latest"
# Folders that this process writes to, each with what keeps others out of it until its end.
_ours: dict[Path, int] = {}


def _claim(folder: Path) -> None:
    """Before a run's first file is there, its folder is as empty as another run wants it."""
    if folder in _ours:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise UserError(f"--out: {folder}: another run is writing to it") from error
    except OSError:
        # Not every file system has locks.
        os.close(descriptor)
    else:
        _ours[folder] = descriptor


def _named(wanted: Path) -> Path:
    """The folder that the user names: new or empty, and nobody else's."""
    if wanted.parent.resolve() / wanted.name == _LATEST:
        raise UserError(f"--out: {wanted}: leads to the newest unnamed run: any other name")
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        folder = wanted.resolve()
        _claim(folder)
        if any(folder.iterdir()):
            raise UserError(f"--out: {wanted} is not empty")
    except FileExistsError as error:
        raise UserError(f"--out: {wanted}: is a file; a folder, new or empty, is needed") from error
    except OSError as error:
        raise UserError(f"--out: {wanted}: {error.strerror}") from error
    return folder


def new_folder(kind: str, wanted: Path | None) -> Path:
    """A fresh folder for results; out/latest points to the newest unnamed one."""
    if wanted:
        return _named(wanted)
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
    if _LATEST.is_dir() and not _LATEST.is_symlink():
        print(f"scarp: {_LATEST} is a folder: it does not lead to {folder.name}", file=sys.stderr)
        return
    # Renamed into place: two runs at once must not see a missing link.
    temporary = OUT / f".latest-{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(_LATEST)


def draw(
    folder: Path,
    module: str = "scarplib.results.report",
    numbers: str = "summary.json",
    options: Sequence[str] = (),
) -> None:
    """The report of what is in the folder, by the venv's Python, which has matplotlib."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(
        [ensure_venv(), "-B", "-m", module, folder, *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines(keepends=True)
    # Else libraries' warnings are of no use to who reads the report.
    said = lines if done.returncode else [line for line in lines if line.startswith("scarp: ")]
    if said:
        print(printable_lines("".join(said)), file=sys.stderr)
    if done.returncode:
        raise UserError(
            f"the report could not be drawn (above); the numbers are in {folder / numbers}"
        )
