# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that `scarp probe` and `scarp fit` write: refused before the work, not after it."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path

from scarplib.errors import UserError

# How files begin that these commands write, and may write anew.
FITTED = "# Fitted to"
FIT = '{\n "schema": "scarp-fit-1"'
COMPARED = '{\n "schema": "scarp-compared-1"'
BLIND = '{\n "schema": "scarp-blind-1"'


def say(text: str) -> None:
    """What goes on, for who waits."""
    print(text, file=sys.stderr, flush=True)


def check_out(key: str, path: Path, *others: Path) -> None:
    """That `path` can be written; `others` are files that must stay."""
    if not path.parent.is_dir():
        raise UserError(f"{key}: '{path.parent}' is no folder")
    try:
        # Of no name: whether it can be written to shows in no other way.
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UserError(f"{key}: '{path.parent}' cannot be written to: {error.strerror}") from error
    if path.resolve() in [one.resolve() for one in others]:
        raise UserError(f"{key}: '{path}' is another file of this command, too")
    try:
        seen = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{key}: '{path}': {error.strerror}") from error
    if stat.S_ISDIR(seen.st_mode):
        raise UserError(f"{key}: '{path}' is a folder, not a file")
    if stat.S_ISLNK(seen.st_mode):
        raise UserError(f"{key}: '{path}' is a link, which would be replaced; name its file")
    if not stat.S_ISREG(seen.st_mode):
        raise UserError(f"{key}: '{path}' is no regular file, and would be replaced")
    if any(one.exists() and one.samefile(path) for one in others):
        raise UserError(f"{key}: '{path}' is another file of this command, too")


def check_ours(key: str, path: Path, *begins: str) -> None:
    """Only what this command wrote itself may be replaced."""
    try:
        with path.open("rb") as stream:
            head = stream.read(max(map(len, begins))).decode(errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{key}: '{path}': {error.strerror}") from error
    if not head.startswith(begins):
        raise UserError(f"{key}: '{path}' exists, and is not of this command; name another file")
