# SPDX-License-Identifier: GPL-2.0-or-later
"""Scatter-gather lists: some that describe a buffer, and some that no drive may take."""

from __future__ import annotations

import random
import struct

from machine import Machine

FLAG = 0x40  # of a command: its data pointer is one of these
ENTRY = 16
DATA, BIT_BUCKET, SEGMENT, LAST_SEGMENT, KEYED = 0, 1, 2, 3, 4
SECOND = 2048  # where a list's second segment is in its page


def entry(addr: int, size: int, kind: int) -> tuple[int, int]:
    """A descriptor: the two words of a data pointer."""
    return addr, size | kind << 60


def _store(machine: Machine, at: int, entries: list[tuple[int, int]]) -> int:
    machine.write(at, b"".join(struct.pack("<QQ", *each) for each in entries))
    return len(entries) * ENTRY


def listed(machine: Machine, at: int, entries: list[tuple[int, int]]) -> tuple[int, int]:
    """A data pointer to a list of these."""
    return entry(at, _store(machine, at, entries), LAST_SEGMENT)


def valid(
    machine: Machine, pick: random.Random, page: int, addr: int, size: int
) -> tuple[int, int]:
    """One that describes these bytes in one to many pieces of any size; its segments in `page`."""
    pieces = pick.choice((1, 1, 2, 3, 16, 100))
    if pieces == 1:
        return entry(addr, size, DATA)
    cuts = sorted(pick.randrange(size + 1) for _ in range(pieces - 1))
    ends = zip([0, *cuts], [*cuts, size], strict=True)
    entries = [entry(addr + low, high - low, DATA) for low, high in ends]
    if pick.random() < 0.5:
        return entry(page, _store(machine, page, entries), LAST_SEGMENT)
    # A segment has to bring the transfer on; the last one has a byte at least.
    entries = [each for each in entries if each[1]]
    if len(entries) < 2:
        return entry(addr, size, DATA)
    first = pick.randint(1, len(entries) - 1)
    rest = _store(machine, page + SECOND, entries[first:])
    entries[first:] = [entry(page + SECOND, rest, LAST_SEGMENT)]
    return entry(page, _store(machine, page, entries), SEGMENT)


def bad(
    machine: Machine, pick: random.Random, page: int, addr: int, size: int
) -> tuple[str, tuple[int, int], int]:
    """Its name, itself, and the status that a command of these bytes ends with."""

    data, half = entry(addr, size, DATA), entry(addr, size // 2, DATA)
    alone = (
        ("too short", entry(addr, size - 1, DATA), 0x00F),
        ("too long", entry(addr, size + 1, DATA), 0),  # as stock does
        ("empty", (0, 0), 0x00F),
        ("no list and no data", entry(addr, size, pick.choice((BIT_BUCKET, KEYED, 9, 15))), 0x00D),
        ("segment of no length", entry(page, 0, SEGMENT), 0x00D),
        ("segment of an odd length", entry(page, 17, LAST_SEGMENT), 0x00D),
        ("segment beyond all memory", entry((1 << 64) - 16, 4096, SEGMENT), 0x00F),
        ("segment that is not there", entry(1 << 44, 4096, SEGMENT), 0x004),
    )
    lists = (
        ("list that is too short", LAST_SEGMENT, [half], 0x00F),
        ("list that is too long", LAST_SEGMENT, [data, half], 0x00F),
        ("list with a bit bucket", LAST_SEGMENT, [entry(0, size, BIT_BUCKET), data], 0x011),
        ("segment in a list", LAST_SEGMENT, [entry(page, 16, SEGMENT), data], 0x00E),
        ("last segment that goes on", LAST_SEGMENT, [half, entry(page, 32, SEGMENT)], 0x00D),
        ("list of itself", SEGMENT, [entry(page, 16, SEGMENT)], 0x00D),
        ("list of itself that goes on", SEGMENT, [half, entry(page, 32, SEGMENT)], 0x00F),
    )
    if pick.random() < 0.5:
        return pick.choice(alone)
    name, kind, entries, status = pick.choice(lists)
    return name, entry(page, _store(machine, page, entries), kind), status
