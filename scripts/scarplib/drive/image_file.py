# SPDX-License-Identifier: GPL-2.0-or-later
"""What the scripts need to know of a drive image (docs/images.md) without starting a drive.

Only the engine judges whether an image is sound; here it is enough to read one that it took.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

# The file's head, and a row of the table of sections behind it.
HEAD = struct.Struct("<8sIIQ16s")
SECTION = struct.Struct("<8sQ16s")
_VERSION = 1
_UNMAPPED = 2**32 - 1


@dataclass(frozen=True)
class DriveImage:
    """unit_bytes: of the mapping; used_bytes: up to the end of the last unit ever written.

    `host_bytes`: what the host has of it; parity and the mapping's own pages take from that.
    """

    unit_bytes: int
    used_bytes: int
    host_bytes: int = 0


def _sections(path: Path, names: Sequence[bytes]) -> dict[bytes, bytes]:
    """Those of these names; what is no image is a UserError that names --image."""
    try:
        with path.open("rb") as stream:
            data = stream.read(HEAD.size)
            if len(data) < HEAD.size or not data.startswith(b"SCARPIMG"):
                raise UserError(f"--image: {path}: not a drive image; `scarp age` makes one")
            _, version, count, _, _ = HEAD.unpack(data)
            if version != _VERSION:
                raise UserError(f"--image: {path}: version {version}; this one reads {_VERSION}")
            table = [SECTION.unpack(stream.read(SECTION.size)) for _ in range(count)]
            found: dict[bytes, bytes] = {}
            for name, length, _ in table:
                key = name.rstrip(b"\0")
                if key in names:
                    found[key] = stream.read(length)
                else:
                    stream.seek(length, 1)
    except (OSError, struct.error, OverflowError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) else "damaged"
        raise UserError(f"--image: {path}: {reason}") from error
    return found


def description(path: Path) -> str:
    """The saved drive's, with every key."""
    found = _sections(path, (b"describe",))
    if b"describe" not in found:
        raise UserError(f"--image: {path}: damaged")
    return found[b"describe"].decode(errors="replace")


def read(path: Path) -> DriveImage:
    """What is needed of an image; what is none is a UserError that names --image."""
    wanted = _sections(path, (b"layout", b"p2l"))
    try:
        # Not all of its lines are of a key's value.
        lines = wanted[b"layout"].decode().splitlines()
        keys = dict(line.split("=", 1) for line in lines if "=" in line)
        unit_bytes = int(keys["ftl.unit_bytes"])
        spare = int(keys.get("ftl.over_provisioning_permille", "0"))
        units = array("I", wanted[b"p2l"])
    except (KeyError, ValueError) as error:
        raise UserError(f"--image: {path}: damaged") from error
    if sys.byteorder == "big":
        units.byteswap()
    last = max((unit for unit in units if unit != _UNMAPPED), default=-1)
    room = len(units) * unit_bytes * 1000 // (1000 + spare)
    return DriveImage(unit_bytes, (last + 1) * unit_bytes, room)
