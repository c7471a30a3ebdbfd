# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives for initramfs."""

from __future__ import annotations

import stat


class Cpio:
    """A newc archive with fixed owners, times and inode numbers: equal inputs, equal bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.inode = 1
        self.folders: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes, device: tuple[int, int] = (0, 0)) -> None:
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields)
        self.parts.append(head + encoded + b"\0" * (-(len(head) + len(encoded)) % 4))
        self.parts.append(data + b"\0" * (-len(data) % 4))
        self.inode += 1

    def folder(self, name: str) -> None:
        """A folder and all above it, each once."""
        parent = name.rpartition("/")[0]
        if name and name not in self.folders:
            self.folder(parent)
            self.folders.add(name)
            self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """A regular file."""
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def node(self, name: str, major: int, minor: int) -> None:
        """A character device."""
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))

    def data(self) -> bytes:
        """The whole archive, ended and padded: nothing can be added then."""
        self._entry("TRAILER!!!", 0, b"")
        out = b"".join(self.parts)
        return out + b"\0" * (-len(out) % 512)
