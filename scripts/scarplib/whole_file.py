# SPDX-License-Identifier: GPL-2.0-or-later
"""A file that the user names for a result: there whole or not at all, and never an input's."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from scarplib.errors import UserError


def check(option: str, out: Path, *inputs: Path) -> None:
    """What is read must not be what is written: it would be gone before it has been read."""
    for path in inputs:
        with contextlib.suppress(OSError):
            if out.samefile(path):
                raise UserError(f"{option} {out}: is {path}, which is read; name another file")


@contextlib.contextmanager
def writing(option: str, out: Path) -> Iterator[TextIO]:
    """What was there stays until all is written, whatever ends that: an error, Ctrl-C, a full disk.

    Only regular files are replaced; a pipe or a terminal is written to as it is.
    """
    scratch = None
    try:
        if out.exists() and not out.is_file():
            with out.open("w", newline="") as stream:
                yield stream
            return
        # Where a link leads: it stays a link.
        target = out.resolve()
        scratch = target.with_name(f".{target.name[:200]}.{os.getpid()}.new")
        with scratch.open("w", newline="") as stream:
            yield stream
        if target.exists():
            shutil.copymode(target, scratch)
        scratch.replace(target)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UserError(f"{option} {out}: {error.strerror}") from error
    finally:
        if scratch:
            # A file system that is read-only refuses to unlink also what is not there.
            with contextlib.suppress(OSError):
                scratch.unlink()
