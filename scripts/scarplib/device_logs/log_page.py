# SPDX-License-Identifier: GPL-2.0-or-later
"""The vendor log page: its layout, and how it is read.

A header, then 64-bit numbers without names.  Here alone is said which number is what: the guest's
`scarp-stats` is compiled from `fields()`, too.  The writer is scarp_stats_log_page() in ftl/stat;
a drive on the host's clock adds what hw/flash-lateness.c counts.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from pathlib import Path

from scarplib.device_logs import engine_tables
from scarplib.device_logs.log_file import LogError
from scarplib.errors import printable

# What `nvme get-log` asks for.
LOG_ID = 0xCA
_MAGIC = b"SCARPST1"
# Magic, layout version, how many numbers follow, virtual time (ns), the engine's version, scheme.
_HEADER = struct.Struct("<8sIIQ8s32s")


@dataclass(frozen=True)
class StatsPage:
    """now_ns: virtual time of the reading; values: by name, in the units that the names end in."""

    version: int
    # scarp_version() of the drive; empty before 1.0.0.
    engine: str
    now_ns: int
    scheme: str
    values: dict[str, int]
    # Of a drive on the host's clock; else empty.
    realtime: dict[str, int]


@functools.cache
def fields() -> tuple[str, ...]:
    """The names of the page's numbers, in order."""
    return (*engine_tables.statistics(), *_latency_fields())


def _latency_fields() -> list[str]:
    """read_latency_n, read_latency_p50_ns, …, write_slowest_0_01_percent_die_suspend_ns."""
    names = []
    for op in ("read", "write"):
        names.append(f"{op}_latency_n")
        names += [f"{op}_latency_{point}_ns" for point in engine_tables.latency_points()]
        for tail in engine_tables.latency_tails():
            names += [f"{op}_{tail}_n", f"{op}_{tail}_at_least_ns"]
            names += [f"{op}_{tail}_{cause}_ns" for cause in engine_tables.causes()]
    return names


def size(realtime: bool = False) -> int:
    """Bytes of the page; more of a drive on the host's clock."""
    more = engine_tables.realtime_statistics() if realtime else ()
    return _HEADER.size + 8 * (len(fields()) + len(more))


def _text(field: bytes) -> str:
    return printable(field.rstrip(b"\0").decode(errors="replace"))


def read(path: Path) -> StatsPage:
    """The page as `nvme get-log --raw-binary` stored it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    if len(data) < _HEADER.size:
        raise LogError(f"{path}: {len(data)} bytes are too few for a statistics page")
    magic, version, count, now_ns, engine, scheme = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise LogError(f"{path}: begins with {magic!r}, expected {_MAGIC!r}")
    names = fields()
    # New fields go to the end, so a longer page still reads; a shorter one is another layout.
    if count < len(names) or len(data) < size():
        raise LogError(f"{path}: {count} fields, at least {len(names)} expected")
    more = engine_tables.realtime_statistics()
    if count < len(names) + len(more) or len(data) < size(realtime=True):
        more = ()
    values = struct.unpack_from(f"<{len(names) + len(more)}Q", data, _HEADER.size)
    return StatsPage(
        version,
        _text(engine),
        now_ns,
        _text(scheme),
        dict(zip(names, values, strict=False)),
        dict(zip(more, values[len(names) :], strict=True)),
    )
