# SPDX-License-Identifier: GPL-2.0-or-later
"""What a namespace may hold, unit by unit, as far as a host can know it.

A content is a number; 0 is zeroes.  A unit has one content, until a command that would change it
is cancelled: then the old one or the new one.  A read that sees one of them settles it.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass

UNIT = 4096
_PLACES = array("Q", (at for place in range(0, UNIT, 16) for at in (0, place)))


class Wrong(Exception):
    """The device did what it must not."""


@dataclass
class Counts:
    """What SMART may say of a namespace: at least, and at most."""

    read: tuple[int, int] = (0, 0)
    written: tuple[int, int] = (0, 0)
    reads: tuple[int, int] = (0, 0)
    writes: tuple[int, int] = (0, 0)

    def may_read(self, size: int) -> None:
        self.read = self.read[0], self.read[1] + size
        self.reads = self.reads[0], self.reads[1] + 1

    def has_read(self, size: int) -> None:
        self.read = self.read[0] + size, self.read[1]
        self.reads = self.reads[0] + 1, self.reads[1]

    def may_write(self, size: int) -> None:
        self.written = self.written[0], self.written[1] + size
        self.writes = self.writes[0], self.writes[1] + 1

    def has_written(self, size: int) -> None:
        self.written = self.written[0] + size, self.written[1]
        self.writes = self.writes[0] + 1, self.writes[1]


def content(number: int) -> bytes:
    """4 KiB that no other number has, at any place in it."""
    if not number:
        return bytes(UNIT)
    words = array("Q", _PLACES)
    words[::2] = array("Q", [number]) * (UNIT // 16)
    return words.tobytes()


def number_of(data: bytes) -> int:
    """The content that these 4 KiB are; -1: none."""
    (number,) = struct.unpack_from("<Q", data)
    return int(number) if data == content(number) else -1


class Model:
    def __init__(self, units: int) -> None:
        self.may_be: list[set[int]] = [{0} for _ in range(units)]
        self._writers: set[int] = set()
        self._readers: dict[int, int] = {}

    def is_free(self, unit: int, count: int, write: bool) -> bool:
        """A host does not have a write in flight together with others of the same blocks."""
        return all(
            at not in self._writers and (not write or at not in self._readers)
            for at in range(unit, unit + count)
        )

    def take(self, unit: int, count: int, write: bool) -> None:
        for at in range(unit, unit + count):
            if write:
                self._writers.add(at)
            else:
                self._readers[at] = self._readers.get(at, 0) + 1

    def give(self, unit: int, count: int, write: bool) -> None:
        for at in range(unit, unit + count):
            if write:
                self._writers.remove(at)
            elif self._readers[at] == 1:
                del self._readers[at]
            else:
                self._readers[at] -= 1

    def done(self, unit: int, contents: list[set[int]]) -> None:
        for at, some in enumerate(contents, unit):
            self.may_be[at] = set(some)

    def cancelled(self, unit: int, contents: list[set[int]]) -> None:
        for at, some in enumerate(contents, unit):
            self.may_be[at] |= some

    def seen(self, unit: int, data: bytes) -> str:
        """What is wrong with what a read has seen, if anything is."""
        for index in range(len(data) // UNIT):
            number = number_of(data[index * UNIT : (index + 1) * UNIT])
            allowed = self.may_be[unit + index]
            if number not in allowed:
                return f"unit {unit + index} is {number}, allowed {sorted(allowed)}"
            if unit + index not in self._writers:
                self.may_be[unit + index] = {number}
        return ""
