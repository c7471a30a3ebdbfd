# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU's fuzzer begins with: bytes that enable the controller and send it commands.

Of itself it finds the registers in minutes, and a command with queues of its own in days.  An input
is operations (tests/qtest/fuzz/generic_fuzz.c in QEMU): writes to regions by their number, steps of
the clock, and patterns that the controller's next accesses to memory find, one after the other.

The fuzzer maps the registers of each function that it is to fuzz, and cannot do without one that is
not there yet.  So on a machine with virtual functions it is to fuzz the host bridge, and regions by
their names: these inputs map the registers themselves.
"""

from __future__ import annotations

import struct
from pathlib import Path

SEPARATOR = b"FUZZ"
# Operations of the fuzzer, by their numbers.
PCI_WRITE = 5
READ, WRITE, ADD_PATTERN, CLEAR_PATTERNS, CLOCK_STEP = 2, 3, 7, 8, 9
WORD, LONG, QUAD = 1, 2, 3
# Of a machine with virtual functions: its first region is the configuration space, the next one are
# the registers.
SLOT, MMCONFIG, BAR = 4, 0xB0000000, 0xD0000000
FUNCTIONS = 2
MSIX_CONTROL = 0x42
SRIOV, SRIOV_CONTROL, SRIOV_NUMBER, SRIOV_BAR = 0x120, 0x08, 0x10, 0x24
# The controller's registers; its doorbells are in them.
CC, AQA, ASQ, ACQ, DOORBELLS = 0x14, 0x24, 0x28, 0x30, 0x1000
ENABLED, SHUTDOWN = 0x00460061, 1 << 14
ENTRIES = 31
SET_FEATURES = 0x09
RAM = 1 << 20  # from here on everything of ours is
DATA, LIST = RAM + 0x100000, RAM + 0x80000
STEPS = 3  # queue, flash, completion

Word = tuple[int, ...]


def write(offset: int, value: int, size: int = LONG, region: int = 0) -> bytes:
    return struct.pack("<BBBxxIQ", WRITE, size, region, offset, value)


def mapped() -> list[bytes]:
    """The configuration space in memory, the registers, and virtual functions with theirs."""
    parts = [
        struct.pack("<BBBBxI", PCI_WRITE, LONG, 0, offset, value)
        for offset, value in ((0x64, 0), (0x60, MMCONFIG | 1))
    ]
    config, sriov = SLOT << 15, (SLOT << 15) + SRIOV
    parts += [write(config + at, value) for at, value in ((0x10, BAR), (0x14, 0), (4, 6))]
    parts.append(write(sriov + SRIOV_NUMBER, FUNCTIONS))
    parts.append(write(sriov + SRIOV_BAR, BAR + (1 << 20)))
    parts.append(write(sriov + SRIOV_CONTROL, 9))
    return parts


def sqe(opcode: int, nsid: int = 0, cdw: Word = (), data: int = DATA, flags: int = 0) -> bytes:
    words = [*cdw, *[0] * (6 - len(cdw))]
    second = data + 4096 & (1 << 64) - 1 if data else 0
    return struct.pack("<BBHIQQQQ6I", opcode, flags, 7, nsid, 0, 0, data, second, *words)


def copy_source(nsid: int = 0, lba: int = 0, blocks: int = 7, reference: int = 0) -> bytes:
    """One range of a Copy; if it names a namespace, it is of format 2 or 3."""
    return struct.pack("<IIQH6xIHH", nsid, 0, lba, blocks, reference, 0, 0)


def behaviour(copies: int) -> bytes:
    """What feature 16h (Host Behavior Support) is set to, with a bit for each format of Copy."""
    return struct.pack("<BBBxH", 1, 0, 1, copies)


class Sequence:
    """Operations, and the tails of the queues that they have filled."""

    def __init__(self, functions: bool) -> None:
        self.parts: list[bytes] = mapped() if functions else []
        self.tails: dict[int, int] = {}
        self.region = 1 if functions else 0
        self.register(AQA, ENTRIES << 16 | ENTRIES)
        self.register(ASQ, RAM, QUAD)
        self.register(ACQ, RAM + 0x4000, QUAD)
        self.register(CC, ENABLED)

    def interrupts(self, value: int) -> None:
        """What MSI-X's message control says."""
        if self.region:
            self.put(write((SLOT << 15) + MSIX_CONTROL, value, WORD))
        else:
            self.put(struct.pack("<BBBBxI", PCI_WRITE, WORD, 0, MSIX_CONTROL, value))

    def register(self, offset: int, value: int, size: int = LONG) -> None:
        self.put(write(offset, value, size, self.region))

    def put(self, *operations: bytes) -> None:
        self.parts += operations

    def step(self, times: int = STEPS) -> None:
        self.put(*[bytes([CLOCK_STEP])] * times)

    def send(self, queue: int, command: bytes, *then: bytes, wait: bool = True) -> None:
        """What the controller reads is the command, then these, again and again."""
        self.tails[queue] = self.tails.get(queue, 0) + 1
        self.put(bytes([CLEAR_PATTERNS]))
        for pattern in (command, *then):
            self.put(bytes([ADD_PATTERN, 0, 0]) + pattern)
        self.register(DOORBELLS + 8 * queue, self.tails[queue])
        if wait:
            self.step()

    def queue(self, number: int = 1) -> None:
        size = ENTRIES << 16 | number
        self.send(0, sqe(5, cdw=(size, 1), data=RAM + 0x8000 * number + 0x4000))
        self.send(0, sqe(1, cdw=(size, number << 16 | 1), data=RAM + 0x8000 * number))

    def bytes(self) -> bytes:
        return SEPARATOR.join(self.parts)


def admin(made: Sequence) -> None:
    for cns in (0, 1, 2, 3, 5, 6, 0x10, 0x13, 0x1C):
        made.send(0, sqe(6, 1, (cns,)))
    made.send(0, sqe(0xC))  # tell me of events
    made.send(0, sqe(0x1A, 1, (255, 0x0101)))
    for attached in (1, 0, 0):
        made.send(0, sqe(0x15, 1, (attached,)), struct.pack("<2H", 1, 0))
    for feature in (1, 2, 4, 5, 6, 7, 0xB, 0xE, 0x16, 0x1D, 0x1E):
        made.send(0, sqe(0xA, 1, (feature,)))
        made.send(0, sqe(9, 1, (feature, 0x10001)), bytes(8))


def logs(made: Sequence) -> None:
    made.queue()
    made.send(1, sqe(1, 1, (0, 0, 7)), b"data")
    for lid in (1, 2, 3, 4, 5, 0x20, 0x21, 0x22, 0x23, 0xC9, 0xCA, 0xCB):
        made.send(0, sqe(2, 0xFFFFFFFF, (0x3FF << 16 | lid,)))
    for command in (1, 2, 3):
        made.send(0, sqe(0xC0, 0, (command, 1)))
    made.send(0, sqe(0xC1, 0, (1,)), b"ideal\0")


def data(made: Sequence) -> None:
    made.queue()
    one = struct.pack("<IIQ", 0, 8, 0)
    for fua in (0, 1 << 30):
        made.send(1, sqe(1, 1, (0, 0, 15 | fua)), b"some data")
    made.send(1, sqe(2, 1, (0, 0, 15)))
    made.send(1, sqe(5, 1, (0, 0, 7)), b"other data")
    made.send(1, sqe(0x19, 1, (64, 0, 0)), copy_source())
    made.send(1, sqe(9, 1, (0, 4)), one)
    made.send(1, sqe(8, 1, (0, 0, 7)))
    made.send(1, sqe(0xC, 1, (0, 0, 7)))
    made.send(1, sqe(0, 0xFFFFFFFF))
    # Lists: of pages, and of pieces.
    pages = struct.pack("<4Q", *(DATA + 4096 * i for i in range(4)))
    made.send(1, sqe(1, 1, (0, 0, 31)), pages, b"more data")
    pieces = struct.pack("<QI3xB", DATA, 4096, 0)
    words = struct.pack("<BBHIQQ", 2, 0x40, 7, 1, 0, 0) + struct.pack("<QI3xB", LIST, 16, 0x30)
    made.send(1, words + struct.pack("<6I", 0, 0, 7, 0, 0, 0), pieces)


def forms(made: Sequence) -> None:
    """Blocks that are extended by metadata of no bytes, and lists of pieces of every form."""
    made.queue()
    made.send(0, sqe(0x80, 1, (1 << 4,)))
    made.step()
    for opcode in (1, 2, 5, 0xC):
        made.send(1, sqe(opcode, 1, (0, 0, 7)), b"extended")
    made.send(1, sqe(0x19, 1, (64, 0, 0)), copy_source())
    piece, fields = struct.pack("<QI3xB", DATA, 16, 0), struct.pack("<6I", 0, 0, 7, 0, 0, 0)
    # A segment of so many that it is read in parts; then kinds of descriptors.
    for length, kind in ((512 * 16, 0x30), (512 * 16, 0x20), (16, 0x20), (16, 0x10), (16, 0x40)):
        words = struct.pack("<BBHIQQ", 2, 0x40, 7, 1, 0, 0)
        made.send(1, words + struct.pack("<QI3xB", LIST, length, kind) + fields, piece)
    for kind in (0x10, 0x20, 0x30, 0x40, 0xF0):
        words = struct.pack("<BBHIQQ", 2, 0x40, 7, 1, 0, 0)
        inner = struct.pack("<QI3xB", LIST, 16, kind)
        made.send(1, words + struct.pack("<QI3xB", LIST, 32, 0x30) + fields, piece, inner)


def ends(made: Sequence) -> None:
    """What is in flight when something else comes."""
    made.queue()
    made.send(1, sqe(1, 1, (0, 0, 127)), b"data", wait=False)
    made.send(1, sqe(2, 1, (0, 0, 127)), wait=False)
    made.send(0, sqe(8, cdw=(7 << 16 | 1,)))
    made.send(1, sqe(0x19, 1, (64, 0, 0)), copy_source())
    made.send(0, sqe(0x80, 1, (1,)))
    made.step()
    made.send(1, sqe(1, 1, (0, 0, 7)), b"data", wait=False)
    made.send(0, sqe(0, cdw=(1,)))
    made.send(0, sqe(4, cdw=(1,)))
    made.tails.pop(1)
    made.queue()
    made.send(1, sqe(1, 1, (0, 0, 7)), b"data", wait=False)
    made.register(CC, ENABLED | SHUTDOWN)
    made.step()
    for value in (ENABLED, 0, ENABLED):
        made.register(CC, value)
    made.step()


def doorbells(made: Sequence) -> None:
    """In memory: what is read there is a pattern, too."""
    made.queue()
    made.send(0, sqe(0x7C, data=LIST))
    for tail in (1, 2, 3):
        word = struct.pack("<I", tail)
        made.put(bytes([CLEAR_PATTERNS]), bytes([ADD_PATTERN, 0, 0]) + word)
        made.put(bytes([ADD_PATTERN, 0, 0]) + sqe(2, 1, (0, 0, 7)))
        made.register(DOORBELLS + 8, tail)
        made.step()


def zones(made: Sequence) -> None:
    made.queue()
    made.send(1, sqe(0x7D, 1, (0, 0, 7)), b"appended")
    made.send(1, sqe(1, 1, (8, 0, 7)), b"written")
    made.send(1, sqe(2, 1, (0, 0, 7)))
    for action in (3, 1, 2, 4, 5, 0x10):
        made.send(1, sqe(0x79, 1, (0, 0, 0, action)), b"extension")
    made.send(1, sqe(0x79, 1, (0, 0, 0, 1 << 8 | 4)))
    made.send(1, sqe(0x7A, 1, (0, 0, 255, 0)))


def functions(made: Sequence) -> None:
    """Placement, and what a virtual function is given."""
    made.queue()
    for handle in (0, 1, 9):
        made.send(1, sqe(1, 1, (0, 0, 7 | 2 << 20, handle << 16)), b"placed")
    made.send(1, sqe(0x12, 1, (1, 255)))
    made.send(1, sqe(0x1D, 1, (1,)), struct.pack("<H", 1))
    for action, resource, count in ((8, 0, 2), (8, 1, 1), (9, 0, 0), (7, 0, 0), (1, 0, 2)):
        made.send(0, sqe(0x1C, cdw=(1 << 16 | resource << 8 | action, count)))


SEEDS = {
    "admin": admin,
    "logs": logs,
    "data": data,
    "forms": forms,
    "ends": ends,
    "doorbells": doorbells,
    "zones": zones,
    "functions": functions,
}


def lay(folder: Path, functions: bool) -> None:
    """All of them; on a machine that has no zones, a zone's commands are refused."""
    for name, send in SEEDS.items():
        made = Sequence(functions)
        send(made)
        (folder / f"seed-{name}").write_bytes(made.bytes())
