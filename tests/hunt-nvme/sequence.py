# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine and a sequence of commands and interruptions, both of a seed.

What every command ends with, and what every read sees, is checked against a model (model.py).
QEMU stays up, and ends content.  A sequence is made of steps, each drawn by its own number, so
that those that are left are the same when others are cut.
"""

from __future__ import annotations

import hashlib
import random
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import functions
import hostile
import interrupt
import logpages
import prp
import sgl
import themes
import zones
from doorbells import HostShadowController, VirtualShadowController
from fixture import KIB
from model import UNIT, Counts, Model, Wrong, content
from nvme import PAGE, Controller, Op, Queue
from pci import enable_mmconfig
from setup import FUNCTIONS, SLOT, arguments, draw

from guest import RealController, SharedMachine, VirtualController

MOST_UNITS = 32
BUFFERS = 48
BUFFER_BYTES = (MOST_UNITS + 1) * UNIT  # data may begin anywhere in its first page
ABORTED, COMPARE_FAILURE = 0x007, 0x285
DATA_PLACEMENT = 2
# In the controller's memory: two submission queues, then lists, then buffers.
CMB_BUFFERS = 4
CMB_PLACE = 0xE8000000
CMB_LISTS, CMB_DATA = 64 * KIB, 128 * KIB
CMB_BAR, CMBMSC = 2, 0x50
BLOCKED = re.compile(r".*: warning: Blocked re-entrant IO on MemoryRegion: nvme at .*")


@dataclass
class Pending:
    name: str
    queue: Queue
    cid: int
    ns: int
    buffer: int = -1
    read: tuple[int, int] | None = None  # unit, count: compared with what it sees
    addr: int = 0
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, list[set[int]]]] = field(default_factory=list)
    wanted: int | None = 0  # None: as the data is, when the command is served
    aborted: bool = False


# A namespace, a buffer, a queue; None: there is no place for it now.
Kind = Callable[[int, int, Queue], Pending | None]


class Hunt:
    def __init__(self, qemu: Path, seed: int, clock: str, theme: str = "") -> None:
        self.seed = seed
        self.pick = random.Random(seed)
        self.setup = draw(seed, self.pick, clock == "realtime")
        self.theme = themes.THEMES[theme] if theme else None
        if self.theme:
            self.setup = self.theme.change(self.setup)
        self.ran: list[int] = []
        self.count = Counter[str]()
        self.digest = hashlib.sha256()
        self.machine = SharedMachine(qemu, arguments(self.setup))
        self.kind: type[Controller] = VirtualController
        if self.setup.realtime:
            self.kind = HostShadowController if self.setup.shadow else RealController
        elif self.setup.shadow:
            self.kind = VirtualShadowController
        self.buffers = [self.machine.alloc(BUFFER_BYTES) for _ in range(BUFFERS)]
        self.lists = [self.machine.alloc(prp.LIST_BYTES) for _ in range(BUFFERS)]
        self.idle = list(range(BUFFERS))
        self.page = self.machine.alloc(PAGE)
        self.scratch = self.machine.alloc(2 * PAGE)
        self.models = [Model(hostile.HOSTILE_UNIT) for _ in range(self.setup.namespaces)]
        self.block = [512] * self.setup.namespaces
        self.zones = zones.Zones() if self.setup.zoned else None
        self.smart = [Counts() for _ in range(self.setup.namespaces + self.setup.zoned)]
        self.sanitized = 0  # bytes that were written before the last Sanitize
        self.pages: dict[tuple[int, bool], bytes] = {}
        self.function_bytes = 0
        self.next_content = 1
        self.pending: list[Pending] = []
        self.aim: tuple[int, int] | None = None  # the units of the next command, if they are free
        self.regretted: list[tuple[int, int, int]] = []  # namespace, unit, count: cancelled writes
        self.strays = 0  # lists that the host has placed where the registers are
        if self.setup.place != "removable":
            enable_mmconfig(self.machine)
        count = self.setup.controllers
        more = FUNCTIONS if self.setup.place == "functions" else 0
        self.queue_numbers = [self.pick.choice((1, 2)) for _ in range(count)] + [1] * more
        self.ctrls: list[Controller | None] = [None] * (count + more)
        self.queues: list[list[Queue]] = [[] for _ in self.ctrls]
        if self.setup.cmb:
            # Two more buffers' worth of them are there, for the first controller's own.
            for index in range(CMB_BUFFERS):
                self.buffers[index] = CMB_PLACE + CMB_DATA + index * BUFFER_BYTES
                self.lists[index] = CMB_PLACE + CMB_LISTS + index * prp.LIST_BYTES
        for index in range(count):
            self.make(index)
        for number in range(1, more + 1):
            functions.online(self, number)

    # ---- controllers ----

    def make(self, index: int) -> None:
        """Its driver, from the beginning on."""
        ctrl = self.kind(self.machine, SLOT + index, enable=False)
        self.ctrls[index] = ctrl
        if self.setup.cmb and index == 0:
            ctrl.place(SLOT, CMB_BAR, CMB_PLACE)
            if self.setup.cmb == "new":
                self.machine.writel(ctrl.bar + CMBMSC + 4, 0)
                self.machine.writel(ctrl.bar + CMBMSC, CMB_PLACE | 3)
            ctrl.sq_places = {1: CMB_PLACE}  # type: ignore[attr-defined]
        ctrl.enable()
        self.renew(index)

    def renew(self, index: int) -> None:
        ctrl = self.ctrls[index]
        assert ctrl
        self.queues[index] = [ctrl.create_queue() for _ in range(self.queue_numbers[index])]

    def is_virtual(self, ctrl: Controller) -> bool:
        return ctrl in self.ctrls[self.setup.controllers :]

    def controller_and_number(self) -> tuple[int, Controller]:
        found = [(index, each) for index, each in enumerate(self.ctrls) if each]
        return self.pick.choice(found)

    def any_controller(self) -> Controller:
        return self.controller_and_number()[1]

    def any_queue(self, buffer: int = -1) -> Queue:
        return self.pick.choice(self.queues[self.controller_and_number()[0]])

    def wait_for_cmb(self, index: int) -> None:
        """No other controller is to reach for the memory of one that goes."""
        if self.setup.cmb and index == 0:
            for pending in [each for each in self.pending if each.buffer < CMB_BUFFERS]:
                self.wait(pending)

    # ---- commands ----

    def place(self, ns: int, write: bool) -> tuple[int, int] | None:
        model = self.models[ns]
        if self.aim:
            return self.aim if model.is_free(*self.aim, write) else None
        for _ in range(8):
            count = self.pick.choice((1, 1, 2, 4, self.pick.randint(1, MOST_UNITS)))
            unit = self.pick.randrange(len(model.may_be) - count + 1)
            if self.pick.random() < 0.7:
                unit %= 64
            if unit + count <= len(model.may_be) and model.is_free(unit, count, write):
                return unit, count
        return None

    def numbers(self, count: int) -> list[int]:
        """Contents that there were not."""
        self.next_content += count
        return list(range(self.next_content - count, self.next_content))

    def start(self) -> None:
        if not self.idle:
            self.wait(self.pick.choice(self.pending))
            return
        kinds: tuple[Kind, ...] = (
            self.start_write,
            self.start_read,
            self.start_zeroes,
            self.start_deallocate,
            self.start_copy,
            self.start_compare,
            self.start_other,
        )
        kind = self.pick.choices(kinds, (6, 6, 2, 2, 2, 2, 2))[0]
        ns = self.pick.randrange(self.setup.namespaces)
        at = self.pick.randrange(len(self.idle))
        self.idle[at], self.idle[-1] = self.idle[-1], self.idle[at]
        self.begin(kind, ns, self.any_queue())

    def start_at(
        self,
        kind: Kind,
        ns: int = -1,
        aim: tuple[int, int] | None = None,
        buffer: int = -1,
        queue: Queue | None = None,
    ) -> Pending | None:
        """One of a kind; where, with which buffer and in which queue, if that matters."""
        if not self.idle:
            return None
        at = self.idle.index(buffer) if buffer >= 0 else self.pick.randrange(len(self.idle))
        self.idle[at], self.idle[-1] = self.idle[-1], self.idle[at]
        if ns < 0:
            ns = self.pick.randrange(self.setup.namespaces)
        self.aim = aim
        pending = self.begin(kind, ns, queue or self.any_queue())
        self.aim = None
        return pending

    def begin(self, kind: Kind, ns: int, queue: Queue) -> Pending | None:
        """With the last idle buffer; None: it found no place."""
        pending = kind(ns, self.idle[-1], queue)
        if not pending:
            return None
        self.idle.pop()
        for unit, contents in pending.writes:
            self.models[ns].take(unit, len(contents), True)
        for unit, count in pending.reads:
            self.models[ns].take(unit, count, False)
        self.pending.append(pending)
        self.count[pending.name] += 1
        return pending

    def peer_buffers(self) -> list[int]:
        """Those in the first controller's memory that no command has."""
        return sorted(each for each in self.idle if each < CMB_BUFFERS) if self.setup.cmb else []

    def lba(self, ns: int, unit: int) -> int:
        return unit * UNIT // self.block[ns]

    def submit(
        self,
        queue: Queue,
        opcode: int,
        ns: int,
        unit: int,
        count: int,
        more: int = 0,
        where: tuple[int, int] = (0, 0),
        flags: int = 0,
    ) -> int:
        placed = 0
        if self.setup.handles and opcode in (Op.WRITE, Op.WRITE_ZEROES):
            # Of a handle, of none, or of one that is not: that is the first.
            more |= self.pick.choice((0, DATA_PLACEMENT, DATA_PLACEMENT, 1)) << 20
            placed = self.pick.choice((*range(self.setup.handles), 9, 0xFFFF)) << 16
        cdw = (self.lba(ns, unit), 0, self.lba(ns, count) - 1 | more, placed)
        return queue.submit(opcode, ns + 1, where, cdw, flags=flags)

    def pointer(self, buffer: int, count: int) -> tuple[tuple[int, int], int, int]:
        """PRPs, or a scatter-gather list; its flag; and where the data is."""
        addr, lists = self.buffers[buffer], self.lists[buffer]
        size = count * UNIT
        if self.pick.random() < 0.6:
            addr += self.pick.choice((0, 0, 4 * self.pick.randrange(PAGE // 4)))
            return prp.valid(self.machine, self.pick, lists, addr, size), 0, addr
        return sgl.valid(self.machine, self.pick, lists, addr, size), sgl.FLAG, addr

    def start_write(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        unit, count = place
        numbers = self.numbers(count)
        where, flags, addr = self.pointer(buffer, count)
        self.machine.write(addr, b"".join(content(number) for number in numbers))
        fua = self.pick.choice((0, 0, 1 << 30))
        self.smart[ns].may_write(count * UNIT)
        cid = self.submit(queue, Op.WRITE, ns, unit, count, fua, where, flags)
        writes = [(unit, [{number} for number in numbers])]
        return Pending("write", queue, cid, ns, buffer, writes=writes)

    def start_read(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, False)):
            return None
        where, flags, addr = self.pointer(buffer, place[1])
        self.machine.write(addr, b"\xee" * (place[1] * UNIT))
        self.smart[ns].may_read(place[1] * UNIT)
        cid = self.submit(queue, Op.READ, ns, *place, 0, where, flags)
        return Pending("read", queue, cid, ns, buffer, place, addr, [place])

    def start_compare(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        """With what is there, or with what is not; what may be one or the other is read first."""
        if not (place := self.place(ns, False)):
            return None
        there = self.models[ns].may_be[place[0] : place[0] + place[1]]
        if any(len(each) > 1 for each in there):
            return None
        numbers = [next(iter(each)) for each in there]
        wanted = 0
        where, flags, addr = self.pointer(buffer, place[1])
        data = bytearray(b"".join(content(number) for number in numbers))
        if self.pick.random() < 0.4:
            data[self.pick.randrange(len(data))] ^= 1 << self.pick.randrange(8)
            wanted = COMPARE_FAILURE
        self.machine.write(addr, bytes(data))
        self.smart[ns].may_read(place[1] * UNIT)
        cid = self.submit(queue, Op.COMPARE, ns, *place, 0, where, flags)
        return Pending("compare", queue, cid, ns, buffer, None, addr, [place], wanted=wanted)

    def start_zeroes(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        cid = self.submit(queue, Op.WRITE_ZEROES, ns, *place)
        return Pending("zeroes", queue, cid, ns, buffer, writes=[(place[0], [{0}] * place[1])])

    def start_deallocate(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        unit, count = place
        span = struct.pack("<IIQ", 0, self.lba(ns, count), self.lba(ns, unit))
        self.machine.write(self.lists[buffer], span)
        cid = queue.submit(Op.DSM, ns + 1, (self.lists[buffer], 0), (0, 4))
        return Pending("deallocate", queue, cid, ns, buffer, writes=[(unit, [{0}] * count)])

    def start_copy(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        source, target = self.place(ns, False), self.place(ns, True)
        if not source or not target:
            return None
        count = min(source[1], target[1], 16)
        if abs(source[0] - target[0]) < count:
            return None
        span = (self.lba(ns, source[0]), self.lba(ns, count) - 1)
        self.machine.write(self.lists[buffer], struct.pack("<QQHHIIIHH", 0, *span, *[0] * 6))
        at = self.lba(ns, target[0])
        self.smart[ns].may_read(count * UNIT)
        self.smart[ns].may_write(count * UNIT)
        cid = queue.submit(Op.COPY, ns + 1, (self.lists[buffer], 0), (at, 0, 0))
        # A source that nobody has read yet may be one or the other.
        contents = [set(self.models[ns].may_be[source[0] + index]) for index in range(count)]
        return Pending(
            "copy", queue, cid, ns, buffer, None, 0, [(source[0], count)], [(target[0], contents)]
        )

    def start_other(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if self.pick.random() < 0.5:
            # All namespaces: those with zones, too.
            cid = queue.submit(Op.FLUSH, self.pick.choice((ns + 1, 0xFFFFFFFF)))
            return Pending("flush", queue, cid, ns, buffer)
        place = self.place(ns, False)
        if not place:
            return None
        self.smart[ns].may_read(place[1] * UNIT)
        cid = self.submit(queue, Op.VERIFY, ns, *place)
        return Pending("verify", queue, cid, ns, buffer, None, 0, [place])

    # ---- their end ----

    def wait(self, pending: Pending) -> None:
        self.ended(pending, pending.queue.wait(pending.cid).status)

    def release(self, pending: Pending) -> None:
        self.pending.remove(pending)
        self.idle.append(pending.buffer)
        for unit, contents in pending.writes:
            self.models[pending.ns].give(unit, len(contents), True)
        for unit, count in pending.reads:
            self.models[pending.ns].give(unit, count, False)

    def ended(self, pending: Pending, status: int) -> None:
        self.release(pending)
        model = self.models[pending.ns]
        self.digest.update(f"{pending.name} {status} ".encode())
        if status == ABORTED and pending.aborted:
            self.cancelled(pending)
            return
        if pending.wanted is not None and status != pending.wanted:
            raise Wrong(f"{pending.name}: status {status:#x}, wanted {pending.wanted:#x}")
        if pending.wanted is None and status not in (0, COMPARE_FAILURE):
            raise Wrong(f"{pending.name}: status {status:#x}")
        for unit, contents in pending.writes:
            model.done(unit, contents)
        if pending.name == "write":
            self.smart[pending.ns].has_written(len(pending.writes[0][1]) * UNIT)
        if pending.name in ("read", "compare") and not status:
            self.smart[pending.ns].has_read(pending.reads[0][1] * UNIT)
        if pending.read:
            unit, count = pending.read
            if wrong := model.seen(unit, self.machine.read(pending.addr, count * UNIT)):
                raise Wrong(f"{pending.name}: {wrong}")

    def cancelled(self, pending: Pending) -> None:
        for unit, contents in pending.writes:
            self.models[pending.ns].cancelled(unit, contents)
            self.regretted.append((pending.ns, unit, len(contents)))

    def lose(self, index: int) -> None:
        """What was in a controller's queues is cancelled, but may have ended before."""
        for pending in [each for each in self.pending if each.queue in self.queues[index]]:
            self.release(pending)
            self.cancelled(pending)

    # ---- the sequence ----

    def run(self, steps: Iterable[int], commands: int, calm: bool) -> None:
        """Those steps, until there were so many commands."""
        if calm:
            self.machine.most_unanswered = 0
        for number in steps:
            if self.machine.commands >= commands:
                break
            self.ran.append(number)
            self.pick = random.Random(f"{self.seed} {number}")
            self.one_step(calm)
        while self.pending:
            self.wait(self.pending[0])
        self.read_all()
        status = self.machine.quit()
        said = self.machine.stderr()
        if self.strays:
            # The guest's own fault is said once; it is not ours to be silent about.
            said = BLOCKED.sub("", said).strip()
        if status or said:
            raise Wrong(f"QEMU ended with {status}: {said}")
        if not self.setup.realtime:
            self.digest.update((self.machine.dir / "f0.cmd").read_bytes())

    def one_step(self, calm: bool) -> None:
        for _ in range(self.pick.randint(1, 12)):
            self.start()
        self.interrupted(calm)
        for index, ctrl in enumerate(self.ctrls):
            if ctrl and (said := self.machine.readl(ctrl.bar + interrupt.CSTS)) != interrupt.READY:
                raise Wrong(f"controller {index} is in use, and its state is {said:#x}")
        for pending in self.pick.sample(self.pending, self.pick.randint(0, len(self.pending))):
            # A thing that one waits for may bring others to their end.
            if pending in self.pending:
                self.wait(pending)

    def interrupted(self, calm: bool) -> None:
        if self.theme and not calm and self.pick.random() < themes.OFTEN:
            self.count[self.theme.step.__name__] += 1
            self.theme.step(self)
            return
        kinds = [interrupt.step] if calm else [kind for kind, _ in self.interruptions()]
        weights = [1] if calm else [weight for _, weight in self.interruptions()]
        interruption = self.pick.choices(kinds, weights)[0]
        self.count[interruption.__name__] += 1
        interruption(self)

    def interruptions(self) -> list[tuple[Callable[[Hunt], None], int]]:
        """What may come between commands, and how often."""
        found: list[tuple[Callable[[Hunt], None], int]] = [
            (interrupt.step, 40),
            (interrupt.abort, 10),
            (interrupt.odd_abort, 2),
            (interrupt.reset, 2),
            (interrupt.reset_function, 1),
            (interrupt.delete_queue, 2),
            (interrupt.shutdown, 2),
            (interrupt.format_namespace, 2),
            (hostile.bad, 10),
            (hostile.bad_sgl, 8),
            (hostile.bad_prp, 8),
            (hostile.feature, 8),
            (hostile.garbage, 12),
            (hostile.turned_on_itself, 3),
            (logpages.log_page, 12),
            (logpages.handles, 6),
        ]
        if self.setup.shadow:
            found.append((hostile.doorbells, 8))
        if self.setup.zoned:
            found.append((zones.zone, 25))
        if self.setup.power:
            found.append((interrupt.cut, 4))
        if self.setup.place == "removable":
            found.append((interrupt.pull, 2))
        if self.setup.place == "functions":
            found += [(functions.function, 4), (functions.refused, 4)]
        return found

    def read_all(self) -> None:
        for ns, model in enumerate(self.models):
            for unit in range(0, len(model.may_be), MOST_UNITS):
                count = min(MOST_UNITS, len(model.may_be) - unit)
                where, flags, addr = self.pointer(BUFFERS - 1, count)
                queue = self.any_queue()
                cid = self.submit(queue, Op.READ, ns, unit, count, 0, where, flags)
                if status := queue.wait(cid).status:
                    raise Wrong(f"read of all: status {status:#x}")
                if wrong := model.seen(unit, self.machine.read(addr, count * UNIT)):
                    raise Wrong(f"read of all: {wrong}")
