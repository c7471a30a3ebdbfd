# SPDX-License-Identifier: GPL-2.0-or-later
"""Binary traces, which scarp-replay does not read: which they are, and the command that helps.

`scarp convert` writes vscsiStats' as a table that the replayer reads.
"""

from __future__ import annotations

import gzip
import re
import shlex
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from scarplib import whole_file
from scarplib.errors import UserError

_HEAD_BYTES = 65536
# serial number, bytes, segments, command, version, sector, microseconds; and as it is since.
_VSCSI = {1: struct.Struct("<IIIHHQQ"), 2: struct.Struct("<HHIIIQQQ")}
_SCSI = {0x08: "Read", 0x28: "Read", 0x88: "Read", 0xA8: "Read",
         0x0A: "Write", 0x2A: "Write", 0x8A: "Write", 0xAA: "Write"}  # fmt: skip
_SECTOR = 512
# 100 ns ticks from 1601 to 1970, so that no time is taken for a small one.
_EPOCH = 116444736000000000
_BLKTRACE = 0x65617400


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _vscsi_version(head: bytes) -> int | None:
    """Of a binary trace of vscsiStats: the same version stands in its first records."""
    for version, record in _VSCSI.items():
        if len(head) >= 2 * record.size:
            rows = [record.unpack_from(head, i * record.size) for i in range(2)]
            command, said = (0, 1) if version == 2 else (3, 4)
            if all(row[said] >> 8 == version and row[command] in _SCSI for row in rows):
                return version
    return None


def help_for(path: Path) -> str | None:
    """The line for a trace that is known and not read; None: it may be one that is."""
    try:
        with _open(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
    name = shlex.quote(str(path))
    target = shlex.quote(path.name.removesuffix(".gz") + ".csv")
    if len(head) > 4 and struct.unpack_from("<I", head)[0] & 0xFFFFFF00 == _BLKTRACE:
        base = re.sub(r"\.blktrace\.\d+$", "", str(path))
        text = f"{shlex.quote(path.name)}.txt"
        return f"binary data of blktrace; convert it: blkparse -i {shlex.quote(base)} -o {text}"
    if _vscsi_version(head):
        return f"a binary trace of vscsiStats; convert it: scarp convert {name} -o {target}"
    return None


# ---- scarp convert -------------------------------------------------------------------------------


def _of_vscsi(stream: BinaryIO, version: int) -> Iterator[tuple[int, str, int, int, int]]:
    """(ticks, operation, disk, offset, bytes) of each request; other SCSI commands are none."""
    record = _VSCSI[version]
    while data := stream.read(record.size):
        if len(data) < record.size:
            raise UserError("it ends in the middle of a record")
        if version == 1:
            _, size, _, command, _, sector, at = record.unpack(data)
        else:
            command, _, _, size, _, sector, at, _ = record.unpack(data)
        if command in _SCSI:
            yield at * 10, _SCSI[command], 0, sector * _SECTOR, size


def _rows(path: Path, version: int) -> Iterator[tuple[int, str, int, int, int]]:
    """Of the whole trace; what is wrong with it names it."""
    try:
        with _open(path) as stream:
            yield from _of_vscsi(stream, version)
    except (UserError, OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: {error}") from error


def _write(rows: Iterator[tuple[int, str, int, int, int]], out: TextIO) -> int:
    count = 0
    for ticks, operation, disk, offset, size in rows:
        out.write(f"{_EPOCH + ticks},trace,{disk},{operation},{offset},{size},0\n")
        count += 1
    return count


def convert(path: Path, target: Path) -> int:
    """Into the format `msr`; the exit status."""
    if target.exists():
        raise UserError(f"--out: {target} is there already")
    try:
        with _open(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise UserError(f"{path}: {error}") from error
    version = _vscsi_version(head)
    if not version:
        raise UserError(f"{path}: no binary trace of vscsiStats; `scarp replay` reads texts itself")
    with whole_file.writing("--out", target) as out:
        count = _write(_rows(path, version), out)
    print(f"{count:,} requests: scarp replay -d DRIVE {shlex.quote(str(target))}")
    return 0
