# SPDX-License-Identifier: GPL-2.0-or-later
"""The device's binary logs and its statistics log page."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct("<8sIIQQ")
COMMAND = struct.Struct("<qqQIBBHIIq")
GC_RUN = struct.Struct("<qqIIII")


@dataclass
class Command:
    submit_ns: int
    complete_ns: int
    offset: int
    length: int
    op: int
    status: int
    nsid: int
    stream: int
    seq: int  # order of submission
    fua: bool
    unseen: bool  # the guest ended before it
    deadline_ns: int  # after the submission; 0: none
    causes: tuple[int, ...]

    @property
    def latency_ns(self) -> int:
        return self.complete_ns - self.submit_ns


def read_commands(path: Path) -> list[Command]:
    data = path.read_bytes()
    magic, row_bytes, cause_count, version, _ = HEADER.unpack_from(data)
    assert (magic, version) == (b"SCARPCM1", 3), (magic, version)
    assert row_bytes == COMMAND.size + 8 * cause_count
    assert (len(data) - HEADER.size) % row_bytes == 0, "the last row is not complete"
    rows = []
    for at in range(HEADER.size, len(data), row_bytes):
        submit, complete, offset, length, op, status, stream, nsid, order, deadline = (
            COMMAND.unpack_from(data, at)
        )
        assert order & 1 << 30, "events of the submission's time go first"
        causes = struct.unpack_from(f"<{cause_count}q", data, at + COMMAND.size)
        rows.append(
            Command(
                submit,
                complete,
                offset,
                length,
                op,
                status & 0x7F,
                nsid,
                stream,
                order & (1 << 30) - 1,
                bool(order & 1 << 31),
                bool(status & 0x80),
                deadline,
                causes,
            )
        )
    return rows


@dataclass
class GcRun:
    begin_ns: int
    end_ns: int
    die: int
    plane: int
    victim_block: int
    moved_units: int


def read_gc_runs(path: Path) -> list[GcRun]:
    data = path.read_bytes()
    magic, row_bytes, _, _, _ = HEADER.unpack_from(data)
    assert magic == b"SCARPGC1", magic
    assert row_bytes == GC_RUN.size
    return [GcRun(*row) for row in GC_RUN.iter_unpack(data[HEADER.size :])]


@dataclass
class StatsPage:
    version: int
    engine: str
    now_ns: int
    scheme: str
    fields: tuple[int, ...]


def parse_stats_page(page: bytes) -> StatsPage:
    magic, version, count, now_ns, engine, scheme = struct.unpack_from("<8sIIQ8s32s", page)
    assert magic == b"SCARPST1", magic
    fields = struct.unpack_from(f"<{count}Q", page, 64)
    texts = (text.rstrip(b"\0").decode() for text in (engine, scheme))
    return StatsPage(version, next(texts), now_ns, next(texts), fields)
