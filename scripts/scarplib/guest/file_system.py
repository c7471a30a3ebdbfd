# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system on the drive: how it is made and mounted before a job or a prompt."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from scarplib.errors import UserError

FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "f2fs")
# What each maker needs to take the whole drive without a question, and to leave the drive's
# contents alone: it would deallocate all of it, and an aged drive be a fresh one.
_MAKERS = {
    "ext4": ("mkfs.ext4 -q -F", "-E nodiscard"),
    "xfs": ("mkfs.xfs -q -f", "-K"),
    "btrfs": ("mkfs.btrfs -q -f", "-K"),
    "f2fs": ("mkfs.f2fs -q -f", "-t 0"),
}
# What would go on in the background for minutes, beside what is measured.
_QUIET = {"ext4": "noinit_itable"}
# The makers refuse a smaller drive.
_SMALLEST_MIB = {"ext4": 1, "xfs": 300, "btrfs": 109, "f2fs": 50}


@dataclass(frozen=True)
class FileSystem:
    """`options`: of mount; `trim`: the maker deallocates the whole drive first."""

    name: str
    options: str = ""
    trim: bool = False

    def make(self, device: str) -> str:
        """The guest's command that makes it."""
        command, keep = _MAKERS[self.name]
        return f"{command} {device}" if self.trim else f"{command} {keep} {device}"

    def mount(self, device: str, folder: str) -> str:
        """The guest's command that mounts it."""
        options = ",".join(filter(None, (_QUIET.get(self.name), self.options)))
        words = f"mount -t {self.name} "
        words += f"-o {shlex.quote(options)} " if options else ""
        return words + f"{device} {folder}"


def chosen(names: Sequence[str], mount_options: Sequence[str], trim: bool) -> list[FileSystem]:
    """The file systems with their mount options: OPTIONS for all, or NAME:OPTIONS for one."""
    of: dict[str, list[str]] = {name: [] for name in names}
    for given in mount_options:
        name, colon, options = given.partition(":")
        if not (colon and name in FILE_SYSTEMS):
            name, options = "", given
        if not re.fullmatch(r"[\w=:./+-]+(,[\w=:./+-]+)*", options):
            raise UserError(f"--mount-options: '{given}' is not OPTION,… or FILESYSTEM:OPTION,…")
        if name and name not in of:
            raise UserError(f"--mount-options: '{given}': --fs has no {name}")
        for each in [name] if name else names:
            of[each].append(options)
    return [FileSystem(name, ",".join(of[name]), trim) for name in names]


def check_room(names: Sequence[str], drive_bytes: int) -> None:
    """The makers' own limits, before anything boots."""
    for name in names:
        if drive_bytes < _SMALLEST_MIB[name] << 20:
            raise UserError(
                f"--fs: {name} needs a drive of at least {_SMALLEST_MIB[name]} MiB; "
                f"this one has {drive_bytes >> 20} MiB"
            )
