# SPDX-License-Identifier: GPL-2.0-or-later
"""How one or several drives make up what the workload uses: lines of the guest's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.errors import UserError
from scarplib.guest.drives_job import (
    UBLK_MODULES,
    array_format,
    array_names,
    array_server,
    stripe_lines,
)
from scarplib.guest.file_system import FileSystem
from scarplib.guest.image import GuestImage, ensure_modules
from scarplib.guest.programs import ensure_programs

# What --over may say, and of how many drives.
OVER = ("array", "btrfs")
_FEWEST = 2


@dataclass(frozen=True)
class Layout:
    """$SCARP_DEV is what is mounted, or used without a file system: a drive as it is."""

    drives: int = 1

    def files(self, image: GuestImage) -> Mapping[str, Path | bytes]:
        """For GuestRun.files."""
        return {}

    def prepare(self) -> list[str]:
        """Once, in any guest."""
        return []

    def make(self) -> list[str]:
        """Before the workload: from aged drives."""
        return []

    def bring_up(self) -> list[str]:
        """For each check, from what power cuts have left; a line that fails is the end."""
        return []

    def take_down(self) -> list[str]:
        """After the workload, and after each check."""
        return []


@dataclass(frozen=True)
class Array(Layout):
    """guest/array over the drives, as a block device."""

    def files(self, image: GuestImage) -> Mapping[str, Path | bytes]:
        return {**ensure_programs(image), **ensure_modules("ublk_drv")}

    def prepare(self) -> list[str]:
        return [UBLK_MODULES]

    def make(self) -> list[str]:
        return [*stripe_lines(), array_format(self.drives), *self._server()]

    def bring_up(self) -> list[str]:
        # One that does not start ends the loop that waits for it.
        return [
            "rm -f /tmp/ready",
            *(line.replace("kill -0 $server;", "kill -0 $server || return 1;")
              for line in self._server()),
        ]  # fmt: skip

    def _server(self) -> list[str]:
        return array_server(self.drives, ["flusher=1"])

    def take_down(self) -> list[str]:
        return ["kill -TERM $server", "wait $server"]


@dataclass(frozen=True)
class MirroredBtrfs(FileSystem):
    """Data and metadata twice, on drives that it knows itself."""

    drives: int = _FEWEST

    def make(self, device: str) -> str:
        names = array_names(self.drives)
        discard = "" if self.trim else "-K "
        return f"mkfs.btrfs -q -f {discard}-d raid1 -m raid1 {names}"

    def mount(self, device: str, folder: str) -> str:
        devices = ",".join(f"device=$SCARP_DEV{number}" for number in range(self.drives))
        options = ",".join(filter(None, (devices, self.options)))
        return f"mount -t btrfs -o {options} $SCARP_DEV0 {folder}"


@dataclass(frozen=True)
class Over:
    """`--drives N --over NAME`, checked."""

    name: str | None = None
    drives: int = 1
    layout: Layout = field(default_factory=Layout)

    def file_system(self, wanted: FileSystem) -> FileSystem:
        """The same on all the drives, where it is the file system that knows them."""
        if self.name != "btrfs":
            return wanted
        return MirroredBtrfs(wanted.name, wanted.options, wanted.trim, self.drives)


def over(name: str | None, drives: int, file_system: str | None) -> Over:
    """What is wrong with it is said here."""
    if not name:
        if drives > 1:
            raise UserError(f"--drives: needs --over: {', '.join(OVER)}")
        return Over()
    if drives < _FEWEST:
        raise UserError(f"--over: needs --drives, {_FEWEST} at least")
    if name == "btrfs" and file_system != "btrfs":
        raise UserError("--over btrfs: needs --fs btrfs: it is the file system that mirrors")
    return Over(name, drives, Array(drives) if name == "array" else Layout(drives))
