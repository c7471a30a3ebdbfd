# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command log and the GC log have in common: a header, then rows of one size.

A foreign or damaged file is an error with a reason, never a shorter result.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.errors import printable

# Magic, bytes of a row, causes in a row, layout version, reserved.
HEADER = struct.Struct("<8sIIQ8x")


class LogError(Exception):
    """A log that is missing, damaged or of another layout; one line."""

    def __init__(self, said: str) -> None:
        super().__init__(printable(said))


@dataclass(frozen=True)
class Layout:
    """A log's rows: (name, struct's code) of each column, little-endian, without gaps."""

    magic: bytes
    version: int
    columns: tuple[tuple[str, str], ...]
    # 64-bit columns of nanoseconds that follow, one for each cause.
    causes: int = 0

    @functools.cached_property
    def row(self) -> struct.Struct:
        """How a row is unpacked."""
        return struct.Struct("<" + "".join(code for _, code in self.columns) + "q" * self.causes)


def magic_of(path: Path) -> bytes:
    """The eight bytes that a file begins with."""
    try:
        with path.open("rb") as stream:
            return stream.read(8)
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error


def causes_of(path: Path) -> int | None:
    """How many causes a log's header says that its rows have; None: it has no whole header."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEADER.size)
    except OSError:
        return None
    return int(HEADER.unpack(head)[2]) if len(head) == HEADER.size else None


def check(path: Path, layout: Layout) -> None:
    """Is it a whole log of this layout?"""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEADER.size)
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    if len(head) < HEADER.size:
        raise LogError(f"{path}: {len(head)} bytes are too few for a header")
    found, row, causes, version = HEADER.unpack(head)
    if found != layout.magic:
        raise LogError(f"{path}: begins with {found!r}, expected {layout.magic!r}")
    if version != layout.version:
        raise LogError(f"{path}: layout version {version}; this version reads {layout.version}")
    rest = path.stat().st_size - HEADER.size
    if row == 0 or rest % row:
        raise LogError(f"{path}: {rest} bytes are no whole number of {row}-byte rows")
    if (row, causes) != (layout.row.size, layout.causes):
        raise LogError(
            f"{path}: rows of {row} bytes with {causes} causes; this version reads "
            f"{layout.row.size} bytes with {layout.causes}"
        )


def chunks(path: Path, layout: Layout) -> Iterator[bytes]:
    """A log's rows, some thousand at a time: little memory."""
    check(path, layout)
    with path.open("rb") as stream:
        stream.seek(HEADER.size)
        while chunk := stream.read(layout.row.size * 4096):
            yield chunk


def rows(path: Path, layout: Layout) -> Iterator[tuple[Any, ...]]:
    """A log's rows one by one."""
    unpacker = layout.row
    for chunk in chunks(path, layout):
        yield from unpacker.iter_unpack(chunk)
