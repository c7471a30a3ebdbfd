# SPDX-License-Identifier: GPL-2.0-or-later
"""How one or several drives make up what the workload uses: lines of the guest's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.guest.file_system import FileSystem


@dataclass(frozen=True)
class Layout:
    """One drive, as it is.  $SCARP_DEV is what is mounted, or used without a file system."""

    files: Mapping[str, Path | bytes] = field(default_factory=dict)

    def prepare(self) -> list[str]:
        """Once, in any guest."""
        return []

    def make(self) -> list[str]:
        """Before the workload: from aged drives."""
        return []

    def bring_up(self) -> list[str]:
        """For each check: from what power cuts have left."""
        return []

    def take_down(self) -> list[str]:
        """Afterwards; its status says whether it could be."""
        return []

    def mount(self, file_system: FileSystem, folder: str) -> str:
        """The command that mounts it."""
        return file_system.mount("$SCARP_DEV", folder)
