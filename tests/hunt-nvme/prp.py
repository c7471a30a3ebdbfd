# SPDX-License-Identifier: GPL-2.0-or-later
"""Physical region pages: those that describe a buffer, and some that no drive may take."""

from __future__ import annotations

import random
import struct

from machine import Machine
from nvme import PAGE

LIST_BYTES = 3 * PAGE  # what the lists of a buffer may take
TRANSFER_ERROR, OFFSET_INVALID = 0x004, 0x013
NOWHERE = 1 << 44


def valid(
    machine: Machine, pick: random.Random, lists: int, addr: int, size: int
) -> tuple[int, int]:
    """From anywhere in a page on; a list anywhere in its page, and over two of them."""
    rest = addr + size - (addr | PAGE - 1) - 1
    first = (addr | PAGE - 1) + 1
    pages = list(range(first, first + max(rest, 0), PAGE))
    if not pages:
        return addr, pick.choice((0, 0, pick.randrange(1 << 64)))  # reserved
    if len(pages) == 1:
        return addr, pages[0]
    offset = pick.choice((0, PAGE - 8, PAGE - 16, pick.randrange(PAGE // 8) * 8))
    fits = (PAGE - offset) // 8
    if len(pages) > fits:
        following = lists + PAGE * pick.randint(1, 2)
        machine.write(following, struct.pack(f"<{len(pages) - fits + 1}Q", *pages[fits - 1 :]))
        pages[fits - 1 :] = [following]
    machine.write(lists + offset, struct.pack(f"<{len(pages)}Q", *pages))
    return addr, lists + offset


def bad(
    machine: Machine, pick: random.Random, lists: int, scratch: int, bar: int
) -> tuple[str, int, tuple[int, int], tuple[int, ...]]:
    """Name, bytes, itself, and what a read into it may end with."""

    def of(*pages: int) -> int:
        machine.write(lists, struct.pack(f"<{len(pages)}Q", *pages))
        return lists

    two, three = 2 * PAGE, 3 * PAGE
    odd = pick.choice((1, 4, 8, 512, PAGE - 1))
    kinds = (
        ("second page not at its beginning", two, (scratch, scratch + PAGE + odd), OFFSET_INVALID),
        ("page of a list not at its beginning", three, (scratch, of(scratch, scratch + odd)),
         OFFSET_INVALID),
        ("list at no Qword", three, (scratch, lists + pick.choice((1, 2, 4, PAGE - 4, PAGE - 1))),
         OFFSET_INVALID),
        ("no memory", PAGE, (NOWHERE, 0), TRANSFER_ERROR),
        ("no memory, second page", two, (scratch, NOWHERE), TRANSFER_ERROR),
        ("the end of all addresses", PAGE, ((1 << 64) - PAGE, 0), TRANSFER_ERROR),
        ("registers", PAGE, (bar, 0), TRANSFER_ERROR),
        ("registers, second page", two, (scratch, bar), TRANSFER_ERROR),
        ("registers in a list", three, (scratch, of(scratch, bar)), TRANSFER_ERROR),
    )  # fmt: skip
    name, size, where, wanted = pick.choice(kinds)
    if name == "page of a list not at its beginning":
        of(scratch, scratch + odd)
    elif name == "registers in a list":
        of(scratch, bar)
    return name, size, where, (wanted,)


def odd(
    machine: Machine, pick: random.Random, lists: int, scratch: int, bar: int
) -> tuple[str, int, tuple[int, int]]:
    """Those of which only the end matters: a list of itself, at the registers, or nowhere."""
    # The last entry that fits leads on: to the page that it is in, whose entries are all that.
    machine.write(lists, struct.pack("<512Q", *[lists] * 512))
    kinds = (
        ("list of itself", 8 * PAGE, (scratch, lists + PAGE - 8)),
        ("list of itself, to its end", 128 * PAGE, (lists, lists + PAGE - 16)),
        ("list at the registers", 3 * PAGE, (scratch, bar)),
        ("list at the doorbells", 3 * PAGE, (scratch, bar + PAGE)),
        ("list nowhere", 3 * PAGE, (scratch, NOWHERE)),
        ("data beyond all", PAGE, ((1 << 64) - 8, (1 << 64) - PAGE)),
    )
    return pick.choice(kinds)
