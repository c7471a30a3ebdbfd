# SPDX-License-Identifier: GPL-2.0-or-later
"""The archive that a guest ships, unpacked: whoever owns the guest has written every byte of it.

Of it only regular files and folders are taken, each below one folder that was empty.  What a job's
files may be called is a list; nothing else comes to lie beside what the host has written itself.
"""

from __future__ import annotations

import fnmatch
import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# What a job leaves: fio's result and logs, the drive's counters, a script's files and output,
# the block layer's recording.
_NAMES = (
    "fio.json",
    "stats-*.bin",
    "*.log",
    "written-begin",
    "written-end",
    "clock",
    "files",
    "blk.trace",
    "blk.lost",
)
# Logs of the host's own.
_OURS = ("console.log", "qemu.log")
# How many of the names that were refused are told.
_TOLD = 3


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Its members, as long as each lies behind the one before: a size may be negative."""
    last = -1
    while member := archive.next():
        if member.offset <= last or member.size < 0:
            raise tarfile.ReadError("its members overlap")
        last = member.offset
        yield member


def _allowed(member: tarfile.TarInfo) -> PurePosixPath | None:
    """Where it goes below the folder, or None: it goes nowhere."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\0" in member.name:
        return None
    # A file with holes says a size that its archive does not have.
    return path if member.isdir() or (member.isreg() and not member.issparse()) else None


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> bool:
    """Write one member; False: something else has this name, or is where its folder should be."""
    try:
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            return True
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            source = archive.extractfile(member)
            assert source  # a regular file has contents
            try:
                shutil.copyfileobj(source, stream)
            except tarfile.TarError:
                target.unlink()
                raise
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return False
    target.chmod(0o644 | (member.mode & 0o111))
    return True


def unpack(data: bytes, folder: Path) -> str | None:
    """Unpack below folder, which is made anew; says what is wrong with the archive, if anything.

    What can be taken is taken, even so.
    """
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refused: list[str] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in _members(archive):
                path = _allowed(member)
                if path is None or not _take(archive, member, folder / path):
                    refused.append(member.name)
    # Names that no file can have, and headers that lead back to themselves.
    except (tarfile.TarError, ValueError, OverflowError, OSError, RecursionError) as error:
        return f"what the guest shipped is no archive that can be read: {error}"
    if refused:
        told = ", ".join(repr(name) for name in refused[:_TOLD])
        more = f" and {len(refused) - _TOLD} more" if len(refused) > _TOLD else ""
        return (
            f"the guest shipped {told}{more}: only regular files and folders with names of their "
            "own below the results' folder are taken"
        )
    return None


def keep(shipped: Path, folder: Path) -> list[str]:
    """Move a job's files from the folder of what was shipped into this one.

    Returns the names that are none of a job's: these stay where they are.
    """
    left = []
    for path in sorted(shipped.iterdir()):
        target = folder / path.name
        known = any(fnmatch.fnmatchcase(path.name, name) for name in _NAMES)
        if not known or path.name in _OURS or (path.is_dir() != (path.name == "files")):
            left.append(path.name)
            continue
        # That of an earlier run.
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
        path.rename(target)
    if not left:
        shipped.rmdir()
    return left
