# SPDX-License-Identifier: GPL-2.0-or-later
"""Sequences for QEMU's fuzzer that are drawn: commands that exist, with fields that mean something.

libFuzzer changes bytes, and a command that gets past its first checks is rare among what it makes.
So a run may begin with thousands of these (`run.py --drawn N`), of which those are kept that reach
something new.  The same numbers give the same sequences.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import seeds

Words = tuple[int, ...]

# QEMU's fuzzer reads no more of an input.
MAX_BYTES = 4000
MOST_COMMANDS = 6
ADMIN: Words = (*range(0x00, 0x03), *range(0x04, 0x07), 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x10, 0x11)
ADMIN += (0x14, 0x15, 0x18, 0x19, 0x1A, 0x1C, 0x7C, 0x80, 0x81, 0x82, 0xC0, 0xC1)
IO = (0x00, 0x01, 0x02, 0x04, 0x05, 0x08, 0x09, 0x0C, 0x0D, 0x12, 0x19, 0x1D, 0x79, 0x7A, 0x7D)
NSIDS = (1, 1, 1, 1, 1, 2, 2, 0xFFFFFFFF, 0xFFFFFFFF, 0, 3, 0xFFFFFFFE)
# What a field's bounds are made of.
NUMBERS: Words = (*range(10), 15, 16, 31, 63, 64, 127, 128, 255, 256, 511, 512, 1023, 4095)
NUMBERS += (0xFFFF, 1 << 16, 1 << 20, 1 << 24, 1 << 30, 1 << 31, 0xFFFFFFFF)
LOG_PAGES = (1, 2, 3, 4, 5, 6, 9, 0x0D, 0x20, 0x21, 0x22, 0x23, 0x80, 0xC0, 0xC9, 0xCA, 0xCB)
MSIX_ON, MSIX_MASKED = 1 << 15, 1 << 14
STATUS, CMB_CONTROL, PMR_CONTROL = 0x1C, 0x50, 0xE04
REGISTERS: Words = (0x00, 0x08, 0x0C, 0x10, seeds.CC, STATUS, 0x20, seeds.AQA, 0x38, 0x3C)
REGISTERS += (CMB_CONTROL, 0x54, 0x58, PMR_CONTROL - 4, PMR_CONTROL, 0xE08, 0xE0C, 0xE10, 0xE14)


def number(draw: random.Random) -> int:
    return draw.choice(NUMBERS) if draw.random() < 0.9 else draw.getrandbits(32)


def bits(draw: random.Random, *widths: int) -> int:
    """A word of fields, the lowest first, each of so many bits."""
    word, at = 0, 0
    for width in widths:
        value = draw.choice((0, 1, 2, draw.getrandbits(width), (1 << width) - 1))
        word |= (value & ((1 << width) - 1)) << at
        at += width
    return word


def value(draw: random.Random) -> int:
    """Of a feature: a number, or fields."""
    return draw.choice((number(draw), bits(draw, 16, 4, 2), bits(draw, 8, 8, 8)))


def admin_words(draw: random.Random, opcode: int) -> Words:
    """Command dwords 10 to 15 of an admin command; NVMe Base 2.0, clause 5."""
    queue = draw.choice((31, 3, 1, 0, 0xFFFF)) << 16 | draw.choice((1, 2, 3, 0, 64))
    fields: dict[int, Callable[[], Words]] = {
        0x00: lambda: (draw.choice((0, 1, 2, 3)),),
        0x01: lambda: (queue, draw.choice((0, 1, 2, 3, 64)) << 16 | bits(draw, 1, 2)),
        0x02: lambda: (
            draw.choice((0, 1, 127, 0x3FF, 0xFFFF)) << 16 | draw.choice(LOG_PAGES),
            draw.choice((0, 0, 0, 3, 0xFFFF, 1 << 16, 1 << 16)),
            draw.choice((0, 0, 4, 3, 512, 4096, 0xFFFFFFFF)),
            draw.choice((0, 0, 0, 1)),
            draw.choice((0, 0, 1 << 23, 0x02000000)),
        ),
        0x04: lambda: (draw.choice((0, 1, 2, 3)),),
        0x05: lambda: (queue, draw.choice((0, 1, 2, 5, 64)) << 16 | bits(draw, 1, 1)),
        0x06: lambda: (
            draw.randrange(0x20) | draw.choice((0, 0, 1, 2)) << 16,
            draw.choice((0, 2 << 24, 3 << 24)),
        ),
        0x08: lambda: (bits(draw, 2) | draw.choice((0, 7, 0xFFFF)) << 16,),
        0x09: lambda: (draw.randrange(0x20) | bits(draw, 1) << 31, value(draw), value(draw)),
        0x0A: lambda: (draw.randrange(0x20) | draw.randrange(8) << 8, value(draw)),
        0x0D: lambda: (draw.choice((0, 0, 1, 1, 2)), draw.choice((0, 0, 2 << 24))),
        0x15: lambda: (draw.choice((0, 0, 1, 1, 2)),),
        0x19: lambda: (number(draw), bits(draw, 8) | bits(draw, 2) << 8, number(draw)),
        0x1A: lambda: (number(draw), bits(draw, 2) | bits(draw, 2) << 8, number(draw)),
        0x1C: lambda: (
            draw.choice((1, 2, 0, 3)) << 16 | bits(draw, 1) << 8 | draw.choice((1, 7, 8, 9, 0)),
            draw.choice((0, 1, 2, 3, 100)),
        ),
        0x80: lambda: (bits(draw, 4, 1, 3, 1, 3),),
        0xC0: lambda: (draw.randrange(6), number(draw)),
        0xC1: lambda: (draw.randrange(4), number(draw)),
    }
    made = fields.get(opcode, lambda: ())()
    return made if draw.random() < 0.9 else tuple(number(draw) for _ in range(6))


def io_words(draw: random.Random, opcode: int) -> Words:
    """Those of an I/O command; NVM Command Set 1.0 and Zoned Namespaces 1.1, clause 3."""
    lba = draw.choice((0, 1, 8, 64, 511, 512, 513, 1024, 4095, 4096, 1 << 32, (1 << 64) - 1))
    place = (lba & 0xFFFFFFFF, lba >> 32)
    flags = bits(draw, 4, 4, 1, 1, 4) << 16 if draw.random() < 0.4 else 0
    blocks = draw.choice((0, 7, 7, 15, 63, 127, 255, 0xFFFF)) | flags
    end = (draw.choice((0, 0, 1, 9)) << 16, number(draw), number(draw))
    fields: dict[int, Callable[[], Words]] = {
        0x09: lambda: (draw.choice((0, 1, 3, 255)), draw.choice((4, 4, 0, 7))),
        0x12: lambda: (draw.choice((1, 1, 0)) | end[0], draw.choice((0, 255, 3))),
        0x19: lambda: (*place, bits(draw, 8, 4) | draw.choice((0, 0, 1, 2)) << 12 | flags, *end),
        0x1D: lambda: (draw.choice((1, 1, 0)) | draw.choice((0, 1, 7, 200)) << 16,),
        0x79: lambda: (*place, 0, draw.choice((1, 2, 3, 4, 5, 0x10, 0x11)) | bits(draw, 1, 1) << 8),
        0x7A: lambda: (
            *place,
            draw.choice((0, 15, 255, 1023)),
            draw.choice((0, 1)) | bits(draw, 4, 1) << 8,
        ),
    }
    made = fields.get(opcode, lambda: (*place, blocks, *end))()
    return made if draw.random() < 0.9 else tuple(number(draw) for _ in range(6))


def address(draw: random.Random) -> int:
    """Of data: mostly in memory, at times uneven, the controller's own, or none."""
    memory = (seeds.DATA, seeds.DATA, seeds.DATA, seeds.DATA + 8, seeds.DATA + 2048, seeds.DATA + 3)
    others = (seeds.LIST, seeds.BAR, seeds.BAR + 0x1000, 0, (1 << 64) - 4096)
    # Of a list: it has one or two entries to the end of its page, and goes on in another one.
    ends = (seeds.LIST + 4096 - 8, seeds.LIST + 4096 - 16)
    return draw.choice(memory + others + ends)


def descriptor(draw: random.Random) -> bytes:
    """One piece of a scatter-gather list; NVMe Base 2.0, clause 4.1.2."""
    kind = draw.choice((0, 0, 0, 0x10, 0x20, 0x30, 0x20, 0x30, 0x40, 0x50, 0xF0))
    kind |= draw.choice((0, 0, 0, 1, 0xA))
    length = draw.choice((16, 32, 64, 512, 4096, 4096, 8192, 8192, 17, 0, 1 << 16))
    where = draw.choice((address(draw), seeds.LIST, seeds.LIST + 64))
    return struct.pack("<QI3xB", where, length, kind)


def ranges(draw: random.Random) -> bytes:
    """Of a Dataset Management."""
    length, lba = draw.choice((0, 8, 64, 1 << 20)), draw.choice((0, 8, 4095, 1 << 40))
    return struct.pack("<IIQ", 0, length, lba)


def copied(draw: random.Random) -> bytes:
    """A source of a Copy, of any format."""
    return seeds.copy_source(
        draw.choice((0, 0, 0, 1, 2)),
        draw.choice((0, 8, 512, 4095)),
        draw.choice((0, 7, 127, 999)),
        draw.choice((0, draw.getrandbits(32))),
    )


def payload(draw: random.Random, opcode: int) -> bytes:
    """What the controller may read next: lists of either form, or what the command itself wants."""
    kinds: list[Callable[[], bytes]] = [
        lambda: b"".join(descriptor(draw) for _ in range(draw.choice((1, 1, 2, 4)))),
        lambda: struct.pack("<4Q", *(address(draw) for _ in range(4))),
        lambda: draw.randbytes(draw.choice((1, 8, 16))),
        lambda: struct.pack("<4H", *(draw.choice((0, 1, 2, 9, 0xFFFF)) for _ in range(4))),
    ]
    if opcode in (0x09, 0x19):
        kinds[1:] = [lambda: ranges(draw), lambda: copied(draw)]
    if opcode == seeds.SET_FEATURES:
        kinds.append(lambda: seeds.behaviour(draw.getrandbits(4)))
    return draw.choice(kinds)()


def command(draw: random.Random, queue: int) -> tuple[bytes, ...]:
    """The command, and what the controller may read after it."""
    opcode = draw.choice(IO if queue else ADMIN) if draw.random() < 0.97 else draw.getrandbits(8)
    words = (io_words if queue else admin_words)(draw, opcode)
    flags = draw.choice((0, 0, 0, 0, 0, 0x40, 0x40, 0x80, 1, 2))
    made = bytearray(seeds.sqe(opcode, draw.choice(NSIDS), words, address(draw), flags))
    if flags & 0x40:
        made[24:40] = descriptor(draw)
    elif draw.random() < 0.3:
        made[32:40] = struct.pack("<Q", address(draw))
    if draw.random() < 0.2:
        made[16:24] = struct.pack("<Q", address(draw))
    reads = (payload(draw, opcode) for _ in range(draw.choice((0, 1, 1, 2))))
    return bytes(made), *reads


def disturb(draw: random.Random, made: seeds.Sequence) -> None:
    """Something other than a command: a register, a doorbell, the controller off and on."""
    kind = draw.randrange(8)
    if kind == 0:
        made.register(draw.choice(REGISTERS), number(draw))
    elif kind == 1:
        made.register(seeds.DOORBELLS + 4 * draw.randrange(8), number(draw))
    elif kind == 2:
        made.register(
            seeds.CC, seeds.ENABLED | bits(draw, 1) << 14 | bits(draw, 3) << 4 | bits(draw, 4) << 7
        )
        made.step()
    elif kind == 3:
        for value in (0, seeds.ENABLED ^ (bits(draw, 3) << 4)):
            made.register(seeds.CC, value)
        made.tails.clear()
    elif kind == 4:
        size = draw.randrange(4)
        made.put(struct.pack("<BBBxxI", seeds.READ, size, made.region, draw.choice(REGISTERS)))
    elif kind == 5:
        # It is started without an admin queue, or with an address or a size of 3.
        queue = draw.choice((seeds.AQA, seeds.ASQ, seeds.ACQ))
        for register, word in (
            (seeds.CC, 0),
            (queue, draw.choice((0, 3))),
            (seeds.CC, seeds.ENABLED),
        ):
            made.register(register, word)
    elif kind == 6:
        made.interrupts(draw.choice((MSIX_ON, MSIX_ON, MSIX_ON | MSIX_MASKED, 0)))
    else:
        made.register(draw.choice((CMB_CONTROL, PMR_CONTROL)), draw.choice((1, 2, 3, 0)))


def sequence(draw: random.Random, functions: bool) -> bytes:
    made = seeds.Sequence(functions)
    if draw.random() < 0.8:
        made.queue()
    if draw.random() < 0.5:
        made.interrupts(MSIX_ON)
    if draw.random() < 0.2:
        made.send(0, seeds.sqe(0x80, draw.choice((1, 0xFFFFFFFF)), (bits(draw, 4, 1),)))
        made.step()
    if draw.random() < 0.2:
        # Without this, Copies between namespaces are refused.
        made.send(0, seeds.sqe(seeds.SET_FEATURES, 0, (0x16,)), seeds.behaviour(0xC))
    for _ in range(draw.randint(1, MOST_COMMANDS)):
        if draw.random() < 0.2:
            disturb(draw, made)
        queue = int(draw.random() < (0.6 if 1 in made.tails else 0.35))
        made.send(queue, *command(draw, queue), wait=draw.random() < 0.85)
    made.step()
    return made.bytes()


def lay(folder: Path, functions: bool, count: int, seed: int) -> None:
    """So many files, each a sequence that the fuzzer reads whole."""
    draw = random.Random(seed)
    for i in range(count):
        while len(text := sequence(draw, functions)) > MAX_BYTES:
            pass
        (folder / f"drawn-{i}").write_bytes(text)
