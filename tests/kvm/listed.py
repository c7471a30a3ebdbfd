# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands for the bare guest, drawn from the hunt's tables: what it does, and what must come.

The guest (guest/list.c) carries out a list of steps: it stores words in its memory, submits a
command, waits for the end of one, and compares memory.  All of that is known beforehand: no command
is cancelled, so the hunt's model (tests/hunt-nvme/model.py) has one content for each unit.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import hostile
import logpages
import prp
import sgl
from model import UNIT, Model
from nvme import PAGE, Admin, Op
from setup import NS_BYTES

STORE, FILL, SUBMIT, END, EQUAL, ALL = range(1, 7)
ANY = 0xFFFFFFFF
RAM, RAM_END = 0x2000000, 0x3000000
QUEUES = 2
IN_FLIGHT = 16
MOST_UNITS = 8
UNREAD = 0xDEADBEEF
COMPARE_FAILURE = 0x285
PAGE_WORDS = PAGE // 4
IDENTIFIERS = 4096


def word(number: int) -> int:
    """What a unit of that content is full of; 0: zeroes."""
    return number * 2654435761 & 0xFFFFFFFF


class Memory:
    """Takes the place of a machine: what is written to it becomes a step."""

    def __init__(self) -> None:
        self.steps: list[bytes] = []
        self._free = RAM

    def alloc(self, size: int) -> int:
        at = self._free
        self._free += -(-size // PAGE) * PAGE
        assert self._free <= RAM_END
        return at

    def step(self, kind: int, *words: int) -> None:
        self.steps.append(struct.pack(f"<{2 + len(words)}I", kind, len(words), *words))

    def write(self, address: int, data: bytes) -> None:
        data += bytes(-len(data) % 4)
        self.step(STORE, address, *struct.unpack(f"<{len(data) // 4}I", data))


@dataclass
class Pending:
    queue: int
    cid: int
    status: int
    buffer: int
    reads: list[tuple[int, int]] = field(default_factory=list)  # unit, count
    writes: list[tuple[int, list[int]]] = field(default_factory=list)  # unit, contents
    seen: list[tuple[int, int]] = field(default_factory=list)  # address, number of a unit's content


class Drawn:
    """A list of a seed."""

    def __init__(self, seed: int, commands: int) -> None:
        self.pick = random.Random(seed)
        self.memory: Any = Memory()
        self.model = Model(NS_BYTES // UNIT)
        self.pending: list[Pending] = []
        # A queue's identifiers, in turn: none comes twice among those in flight.
        self.cid = Counter[int]()
        self.contents = 0
        self.ran: dict[str, set[str]] = {}
        self.page = self.memory.alloc(PAGE)
        self.scratch = self.memory.alloc(2 * PAGE)
        self.lists = [self.memory.alloc(prp.LIST_BYTES) for _ in range(IN_FLIGHT)]
        self.buffers = [self.memory.alloc((MOST_UNITS + 1) * UNIT) for _ in range(IN_FLIGHT)]
        self.idle = list(range(IN_FLIGHT))
        tables = (self.data, self.bad_io, self.bad_admin, self.log_page, self.get_feature,
                  self.bad_prp, self.bad_sgl, self.harmless)  # fmt: skip
        for _ in range(commands):
            self.pick.choices(tables, (24, 3, 3, 3, 3, 3, 3, 3))[0]()
        while self.pending:
            self.end(self.pending[0])
        self.read_all()

    def bytes(self) -> bytes:
        return b"".join(self.memory.steps)

    def kinds(self) -> str:
        """How many kinds of each table the list has."""
        return ", ".join(f"{name} {len(kinds)}" for name, kinds in sorted(self.ran.items()))

    def _ran(self, table: str, kind: object) -> None:
        self.ran.setdefault(table, set()).add(str(kind))

    # ---- commands ----

    def submit(
        self,
        queue: int,
        opcode: int,
        nsid: int,
        where: tuple[int, int],
        cdw: tuple[int, ...] = (),
        flags: int = 0,
    ) -> int:
        self.cid[queue] = cid = (self.cid[queue] + 1) % IDENTIFIERS
        rest = [*cdw, *[0] * (6 - len(cdw))]
        command = struct.pack(
            "<BBHIQQQQ6I", opcode, flags, cid, nsid, 0, 0, where[0], where[1], *rest
        )
        self.memory.step(SUBMIT, queue, *struct.unpack("<16I", command))
        return cid

    def at_once(
        self,
        status: int,
        queue: int,
        opcode: int,
        nsid: int,
        where: tuple[int, int],
        cdw: tuple[int, ...] = (),
        flags: int = 0,
    ) -> None:
        """A command of which only the end is looked at."""
        cid = self.submit(queue, opcode, nsid, where, cdw, flags)
        self.memory.step(END, queue, cid, status)

    def end(self, pending: Pending) -> None:
        self.memory.step(END, pending.queue, pending.cid, pending.status)
        for address, number in pending.seen:
            self.memory.step(ALL, address, PAGE_WORDS, word(number))
        for unit, count in pending.reads:
            self.model.give(unit, count, False)
        for unit, contents in pending.writes:
            self.model.give(unit, len(contents), True)
            self.model.done(unit, [{each} for each in contents])
        self.pending.remove(pending)
        self.idle.append(pending.buffer)

    # ---- data ----

    def place(self, write: bool) -> tuple[int, int] | None:
        count = self.pick.randint(1, MOST_UNITS)
        unit = self.pick.randrange(len(self.model.may_be) - count + 1)
        return (unit, count) if self.model.is_free(unit, count, write) else None

    def there(self, unit: int, count: int) -> list[int]:
        return [next(iter(each)) for each in self.model.may_be[unit : unit + count]]

    def pointer(self, buffer: int, count: int) -> tuple[tuple[int, int], int]:
        lists, address, size = self.lists[buffer], self.buffers[buffer], count * UNIT
        if self.pick.random() < 0.6:
            return prp.valid(self.memory, self.pick, lists, address, size), 0
        return sgl.valid(self.memory, self.pick, lists, address, size), sgl.FLAG

    def fill(self, buffer: int, numbers: list[int]) -> None:
        for index, number in enumerate(numbers):
            address = self.buffers[buffer] + index * UNIT
            self.memory.step(FILL, address, PAGE_WORDS, word(number))

    def data(self) -> None:
        if not self.idle or self.pick.random() < 0.3:
            if self.pending:
                self.end(self.pick.choice(self.pending))
            return
        kinds = (self.write, self.read, self.compare, self.zeroes, self.deallocate, self.copy,
                 self.flush, self.verify)  # fmt: skip
        kind = self.pick.choices(kinds, (6, 6, 2, 2, 2, 2, 1, 1))[0]
        queue = self.pick.randint(1, QUEUES)
        if pending := kind(queue, self.idle[-1]):
            self._ran("data", kind.__name__)
            self.idle.pop()
            self.pending.append(pending)
            for unit, count in pending.reads:
                self.model.take(unit, count, False)
            for unit, contents in pending.writes:
                self.model.take(unit, len(contents), True)

    def blocks(self, unit: int, count: int) -> tuple[int, int, int]:
        return unit * UNIT // 512, 0, count * UNIT // 512 - 1

    def write(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(True)):
            return None
        unit, count = place
        numbers = list(range(self.contents + 1, self.contents + count + 1))
        self.contents += count
        where, flags = self.pointer(buffer, count)
        self.fill(buffer, numbers)
        cid = self.submit(queue, Op.WRITE, 1, where, self.blocks(unit, count), flags)
        return Pending(queue, cid, 0, buffer, writes=[(unit, numbers)])

    def read(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(False)):
            return None
        unit, count = place
        where, flags = self.pointer(buffer, count)
        self.memory.step(FILL, self.buffers[buffer], count * PAGE_WORDS, UNREAD)
        cid = self.submit(queue, Op.READ, 1, where, self.blocks(unit, count), flags)
        numbers = self.there(unit, count)
        seen = [(self.buffers[buffer] + at * UNIT, each) for at, each in enumerate(numbers)]
        return Pending(queue, cid, 0, buffer, reads=[place], seen=seen)

    def compare(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(False)):
            return None
        unit, count = place
        where, flags = self.pointer(buffer, count)
        self.fill(buffer, self.there(unit, count))
        status = 0
        if self.pick.random() < 0.4:
            at = self.pick.randrange(count * PAGE_WORDS)
            self.memory.step(FILL, self.buffers[buffer] + 4 * at, 1, UNREAD)
            status = COMPARE_FAILURE
        cid = self.submit(queue, Op.COMPARE, 1, where, self.blocks(unit, count), flags)
        return Pending(queue, cid, status, buffer, reads=[place])

    def zeroes(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(True)):
            return None
        cid = self.submit(queue, Op.WRITE_ZEROES, 1, (0, 0), self.blocks(*place))
        return Pending(queue, cid, 0, buffer, writes=[(place[0], [0] * place[1])])

    def deallocate(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(True)):
            return None
        unit, count = place
        span = struct.pack("<IIQ", 0, count * UNIT // 512, unit * UNIT // 512)
        self.memory.write(self.lists[buffer], span)
        cid = self.submit(queue, Op.DSM, 1, (self.lists[buffer], 0), (0, 4))
        return Pending(queue, cid, 0, buffer, writes=[(unit, [0] * count)])

    def copy(self, queue: int, buffer: int) -> Pending | None:
        source, target = self.place(False), self.place(True)
        if not source or not target:
            return None
        count = min(source[1], target[1])
        if abs(source[0] - target[0]) < count:
            return None
        first, _, last = self.blocks(source[0], count)
        span = struct.pack("<QQHHIIIHH", 0, first, last, *[0] * 6)
        self.memory.write(self.lists[buffer], span)
        where = (self.lists[buffer], 0)
        cid = self.submit(queue, Op.COPY, 1, where, (target[0] * UNIT // 512, 0, 0))
        numbers = self.there(source[0], count)
        return Pending(
            queue, cid, 0, buffer, reads=[(source[0], count)], writes=[(target[0], numbers)]
        )

    def flush(self, queue: int, buffer: int) -> Pending:
        return Pending(queue, self.submit(queue, Op.FLUSH, 1, (0, 0)), 0, buffer)

    def verify(self, queue: int, buffer: int) -> Pending | None:
        if not (place := self.place(False)):
            return None
        cid = self.submit(queue, Op.VERIFY, 1, (0, 0), self.blocks(*place))
        return Pending(queue, cid, 0, buffer, reads=[place])

    def read_all(self) -> None:
        for unit in range(0, len(self.model.may_be), MOST_UNITS):
            self.memory.step(FILL, self.buffers[0], MOST_UNITS * PAGE_WORDS, UNREAD)
            where = prp.valid(self.memory, self.pick, self.lists[0], self.buffers[0],
                              MOST_UNITS * UNIT)  # fmt: skip
            self.at_once(0, 1, Op.READ, 1, where, self.blocks(unit, MOST_UNITS))
            for at, number in enumerate(self.there(unit, MOST_UNITS)):
                self.memory.step(ALL, self.buffers[0] + at * UNIT, PAGE_WORDS, word(number))

    # ---- the hunt's tables ----

    def bad_io(self) -> None:
        name, opcode, nsid, cdw, status = self.pick.choice(hostile.BAD_IO)
        self._ran("BAD_IO", name)
        queue = self.pick.randint(1, QUEUES)
        self.at_once(status, queue, opcode, nsid, (self.page, 0), cdw)

    def bad_admin(self) -> None:
        name, opcode, nsid, cdw, status = self.pick.choice(hostile.BAD_ADMIN)
        self._ran("BAD_ADMIN", name)
        self.at_once(status, 0, opcode, nsid, (self.page, 0), cdw)

    def log_page(self) -> None:
        lid = self.pick.choice((*logpages.SIZES, logpages.EVENTS))
        size = 4 * self.pick.choice((1, 128, 1024, self.pick.randint(1, 1024)))
        offset = self.pick.choice((0, 0, 4, 508, 512, 4096))
        which = self.pick.choice((logpages.ENDURANCE_GROUP, 2))
        hunt: Any = SimpleNamespace(setup=SimpleNamespace(handles=0))
        status = logpages.expected(hunt, lid, size, offset, which, 0)
        self._ran("log pages", lid)
        dwords = size // 4 - 1
        words = ((dwords & 0xFFFF) << 16 | lid, which << 16 | dwords >> 16, offset, 0)
        self.memory.step(FILL, self.scratch, PAGE_WORDS, UNREAD)
        self.at_once(
            ANY if status is None else status, 0, Admin.GET_LOG, ANY, (self.scratch, 0), words
        )
        here = 0 if status else min(size, (logpages.length(hunt, lid) or size) - offset)
        if here < PAGE:
            self.memory.step(ALL, self.scratch + here, (PAGE - here) // 4, UNREAD)

    def get_feature(self) -> None:
        feature = self.pick.choice(hostile.FEATURES)
        self._ran("FEATURES", feature)
        select = self.pick.randrange(4)
        nsid = self.pick.choice((0, 1, 2, 0xFFFFFFFF))
        words = (select << 8 | feature,)
        self.at_once(ANY, 0, hostile.GET_FEATURES, nsid, (self.page, 0), words)

    def bad_prp(self) -> None:
        # The host does not know where the guest's firmware puts the registers.
        mark = len(self.memory.steps)
        while True:
            name, size, where, statuses = prp.bad(
                self.memory, self.pick, self.page, self.scratch, prp.NOWHERE
            )
            if not name.startswith("registers"):
                break
            del self.memory.steps[mark:]
        self._ran("PRP", name)
        words = (0, 0, size // 512 - 1)
        self.at_once(statuses[0], self.pick.randint(1, QUEUES), Op.READ, 1, where, words)

    def bad_sgl(self) -> None:
        name, where, status = sgl.bad(self.memory, self.pick, self.page, self.scratch, UNIT)
        self._ran("SGL", name)
        words = (0, 0, UNIT // 512 - 1)
        queue = self.pick.randint(1, QUEUES)
        self.at_once(status, queue, Op.READ, 1, where, words, flags=sgl.FLAG)

    def harmless(self) -> None:
        """A command that changes nothing, with words of any value: it ends."""
        # A list of PRPs that is followed from here leads to this page again and again.
        self.memory.step(FILL, self.page, PAGE_WORDS, 0)
        self.memory.write(self.page, struct.pack("<Q", self.page) * (PAGE // 8))
        values = (0, 1, 0xFF, 0x100, 0xFFFF, 1 << 16, 0x7FFFFFFF, 0xFFFFFFFF)
        words = tuple(self.pick.choice((*values, self.pick.randrange(1 << 32))) for _ in range(6))
        nsid = self.pick.choice((0, 1, 9, 0xFFFFFFFE, 0xFFFFFFFF))
        where = (self.scratch, self.pick.choice((self.page, self.scratch + 4)))
        if self.pick.random() < 0.5:
            opcode = self.pick.choice(hostile.HARMLESS_ADMIN)
            self._ran("HARMLESS_ADMIN", opcode)
            self.at_once(ANY, 0, opcode, nsid, where, words)
        else:
            opcode = self.pick.choice(hostile.HARMLESS)
            self._ran("HARMLESS", opcode)
            self.at_once(ANY, self.pick.randint(1, QUEUES), opcode, nsid, where, words)
