# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of what the flash device writes: command log, GC log, statistics page.

The layouts are the device's (hw/ and ftl/scarp.h); a foreign or damaged file
is an error with a reason, never a shorter result.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# What a log begins with.
COMMANDS, GC_RUNS = b"SCARPCM1", b"SCARPGC1"

OPS = ("read", "write", "write_zeroes", "deallocate", "flush")
READ, WRITE = 0, 1

# The order of ScarpCause; tests/e2e compares it with ftl/scarp.h.
CAUSES = (
    "controller",
    "link",
    "host_queue",
    "buffer_full",
    "order",
    "die_host_read",
    "die_host_program",
    "die_gc_read",
    "die_gc_program",
    "die_erase",
    "die_gc_held",
    "no_space",
    "channel",
    "array",
    "transfer",
    "rmw",
    "mapping",
    "suspended",
    "die_suspend",
)

# The order of ScarpStats before its cause_ns[]; tests/e2e compares this too.
STATS = (
    "cmds_accepted",
    "cmds_completed",
    "reads",
    "writes",
    "write_zeroes",
    "deallocates",
    "flushes",
    "read_bytes",
    "write_bytes",
    "unmapped_read_units",
    "deallocated_units",
    "rmw_reads",
    "host_written_units",
    "host_page_reads",
    "host_page_programs",
    "gc_page_reads",
    "gc_page_programs",
    "erases",
    "gc_runs",
    "gc_moved_units",
    "gc_busy_ns",
    "padded_units",
    "read_latency_sum_ns",
    "write_latency_sum_ns",
    "read_latency_max_ns",
    "write_latency_max_ns",
    "oob_checks",
    "oob_mismatches",
)

# And after it.
LATER_STATS = (
    "buffer_read_units",
    "buffer_coalesced_units",
    "multiplane_groups",
    "suspends",
    "copybacks",
    "premigrated_units",
    "wear_runs",
    "bad_blocks",
    "gc_window_ns",
    "gc_shared_ns",
    "gc_fallback_units",
    "parity_page_programs",
    "parity_page_reads",
    "reconstructed_reads",
    "reconstruction_page_reads",
    "reconstruction_refusals",
    "gc_forced_runs",
)

# What ftl/stat/latency.c adds to the page, for reads, then for writes.
_POINTS = ("p50", "p90", "p95", "p99", "p99_9", "p99_99")
_TAILS = ("slowest_1_percent", "slowest_0_1_percent", "slowest_0_01_percent")

_LOG_HEADER = struct.Struct("<8sIIQ8x")
_FIXED = 9  # fields of a command before its causes
_CMD_ROW = struct.Struct(f"<qqQIBBHII{len(CAUSES)}q")
_CMD_VERSION = 2
_GC_VERSION = 0
# Of a command's last fixed field.
ORDER_SEQ = (1 << 30) - 1
ORDER_FUA = 1 << 31
# Of its status: the guest ended before the command did.
UNSEEN = 0x80
_GC_ROW = struct.Struct("<qqIIII")
_PAGE_HEADER = struct.Struct("<8sIIQQ32s")


class LogError(Exception):
    """A log that is missing, damaged or of another layout."""


@dataclass
class Commands:
    """Columns of a command log; causes hold one array for each cause."""

    submit: array = field(default_factory=lambda: array("q"))
    complete: array = field(default_factory=lambda: array("q"))
    op: bytearray = field(default_factory=bytearray)
    status: bytearray = field(default_factory=bytearray)
    nsid: array = field(default_factory=lambda: array("I"))
    offset: array = field(default_factory=lambda: array("Q"))
    stream: array = field(default_factory=lambda: array("H"))
    fua: bytearray = field(default_factory=bytearray)
    # Submission order among commands of one submit time.
    order: array = field(default_factory=lambda: array("I"))
    length: array = field(default_factory=lambda: array("I"))
    causes: list[array] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.submit)

    def indices(self, op: int) -> list[int]:
        return [i for i, code in enumerate(self.op) if code == op]

    def latencies(self, op: int) -> list[int]:
        return [self.complete[i] - self.submit[i] for i in self.indices(op)]


@dataclass(frozen=True)
class GcRun:
    begin: int
    end: int
    die: int
    plane: int
    block: int
    moved: int


@dataclass(frozen=True)
class StatsPage:
    version: int
    now_ns: int
    scheme: str
    values: dict[str, int]


def _records(
    path: Path, magic: bytes, version: int, expected: struct.Struct, causes: int
) -> Iterator[tuple]:
    """A log's rows one by one, in little memory."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    with stream:
        head = stream.read(_LOG_HEADER.size)
        if len(head) < _LOG_HEADER.size:
            raise LogError(f"{path}: {len(head)} bytes are too few for a header")
        found, row, count, layout = _LOG_HEADER.unpack(head)
        if found != magic:
            raise LogError(f"{path}: begins with {found!r}, expected {magic!r}")
        if layout != version:
            raise LogError(f"{path}: layout version {layout}; this version reads {version}")
        rest = path.stat().st_size - _LOG_HEADER.size
        if row == 0 or rest % row:
            raise LogError(f"{path}: {rest} bytes are no whole number of {row}-byte rows")
        if (row, count) != (expected.size, causes):
            raise LogError(
                f"{path}: rows of {row} bytes with {count} causes; this version reads "
                f"{expected.size} bytes with {causes}"
            )
        while chunk := stream.read(row * 4096):
            yield from expected.iter_unpack(chunk)


def kind_of(path: Path) -> bytes:
    """The magic that a log begins with: COMMANDS, GC_RUNS or another."""
    try:
        with path.open("rb") as stream:
            return stream.read(8)
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error


def command_rows(path: Path) -> Iterator[tuple]:
    """Rows of a command log as stored, in the order of completion: see docs/model.md.

    Checked: the causes add up to the latency.
    """
    rows = _records(path, COMMANDS, _CMD_VERSION, _CMD_ROW, len(CAUSES))
    for number, row in enumerate(rows):
        submit, complete = row[:2]
        if sum(row[_FIXED:]) != complete - submit:
            raise LogError(
                f"{path}: row {number}: causes add up to {sum(row[_FIXED:])} ns, "
                f"the latency is {complete - submit} ns"
            )
        yield row


def gc_rows(path: Path) -> Iterator[tuple]:
    """Rows of a GC log as stored, in the order of their end."""
    return _records(path, GC_RUNS, _GC_VERSION, _GC_ROW, 0)


def read_commands(
    path: Path, begin: int | None = None, end: int | None = None, unseen: bool = False
) -> Commands:
    """The commands submitted in [begin, end].

    With `unseen`, also those that ended after the guest: a replay needs them.
    """
    out = Commands(causes=[array("q") for _ in CAUSES])
    for fields in command_rows(path):
        submit, complete, offset, length, op, status, stream, nsid, order = fields[:_FIXED]
        if status & UNSEEN and not unseen:
            continue
        if (begin is not None and submit < begin) or (end is not None and submit > end):
            continue
        out.submit.append(submit)
        out.complete.append(complete)
        out.op.append(op)
        out.status.append(status & ~UNSEEN)
        out.nsid.append(nsid)
        out.offset.append(offset)
        out.length.append(length)
        out.stream.append(stream)
        out.fua.append(bool(order & ORDER_FUA))
        out.order.append(order & ORDER_SEQ)
        for column, value in zip(out.causes, fields[_FIXED:], strict=True):
            column.append(value)
    return out


def read_gc_runs(path: Path, begin: int | None = None, end: int | None = None) -> list[GcRun]:
    """GC runs that overlap [begin, end], in the order of their begin."""
    runs = [GcRun(*fields) for fields in gc_rows(path)]
    runs = [
        run
        for run in runs
        if (begin is None or run.end >= begin) and (end is None or run.begin <= end)
    ]
    return sorted(runs, key=lambda run: (run.begin, run.end, run.plane))


def page_fields() -> list[str]:
    """The statistics page's values, in order."""
    return [*STATS, *(f"cause_{name}_ns" for name in CAUSES), *LATER_STATS, *latency_fields()]


def latency_fields() -> list[str]:
    """read_latency_n, read_latency_p50_ns, …, write_slowest_0_01_percent_die_suspend_ns."""
    names = []
    for op in ("read", "write"):
        names += [f"{op}_latency_n", *(f"{op}_latency_{point}_ns" for point in _POINTS)]
        for tail in _TAILS:
            names += [f"{op}_{tail}_n", f"{op}_{tail}_at_least_ns"]
            names += [f"{op}_{tail}_{cause}_ns" for cause in CAUSES]
    return names


def read_stats_page(path: Path) -> StatsPage:
    """Vendor log page 0xCA as `nvme get-log --raw-binary` stored it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    if len(data) < _PAGE_HEADER.size:
        raise LogError(f"{path}: {len(data)} bytes are too few for a statistics page")
    magic, version, count, now_ns, _, scheme = _PAGE_HEADER.unpack_from(data)
    if magic != b"SCARPST1":
        raise LogError(f"{path}: begins with {magic!r}, expected b'SCARPST1'")
    names = page_fields()
    # New fields go to the end, so a longer page still reads; a shorter one is another layout.
    if count < len(names) or len(data) < _PAGE_HEADER.size + 8 * len(names):
        raise LogError(f"{path}: {count} fields, at least {len(names)} expected")
    values = struct.unpack_from(f"<{len(names)}Q", data, _PAGE_HEADER.size)
    return StatsPage(
        version, now_ns, scheme.rstrip(b"\0").decode(), dict(zip(names, values, strict=True))
    )


STATS_PAGE_BYTES = _PAGE_HEADER.size + 8 * len(page_fields())
