# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine and a sequence of commands and interruptions, both of a seed.

What every command ends with, and what every read sees, is checked against a model (model.py).
QEMU stays up, and ends content.  A sequence is made of steps, each drawn by its own number, so
that those that are left are the same when others are cut.
"""

from __future__ import annotations

import hashlib
import random
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import sgl
from doorbells import BAD, HostShadowController, ShadowController, ShadowQueue
from fixture import DESCRIPTION, KIB, MIB
from machine import Machine
from model import UNIT, Model, content
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue
from test_realtime import HostController

SECTORS = UNIT // 512
MOST_UNITS = 32
NS_BYTES = 2 * MIB
BUFFERS = 48
SLOT = 4
ABORTED, FORMAT_IN_PROGRESS, SQ_DELETED = 0x007, 0x084, 0x008
# What Set Features may have: none of them changes what commands end with, or what a read sees.
FEATURES = (1, 2, 4, 6, 7, 8, 9, 0x0A, 0x0B, 0x0E, 0x11, 0x1D, 0x1E, 0x7F, 0xC0)
# Each is refused so, whatever else is in flight: opcode, NSID, command words, status.
BAD_IO: tuple[tuple[str, int, int, tuple[int, ...], int], ...] = (
    ("opcode", 0x7F, 1, (), 0x001),
    ("namespace", Op.READ, 9, (0, 0, 0), 0x002),
    ("namespace 0", Op.READ, 0, (0, 0, 0), 0x00B),
    ("all namespaces", Op.READ, 0xFFFFFFFF, (0, 0, 0), 0x00B),
    ("beyond the end", Op.READ, 1, (NS_BYTES // 512 - 1, 0, 7), 0x080),
    ("far beyond the end", Op.READ, 1, (0xFFFFFFFF, 0xFFFFFFFF, 0), 0x080),
    ("zeroes beyond the end", Op.WRITE_ZEROES, 1, (NS_BYTES // 512, 0, 0), 0x080),
    ("too long", Op.READ, 1, (0, 0, 0xFFF), 0x002),
    ("copy without ranges", Op.COPY, 1, (0, 0, 0x0F00), 0x002),
)
BAD_ADMIN: tuple[tuple[str, int, int, tuple[int, ...], int], ...] = (
    ("opcode", 0x7E, 0, (), 0x001),
    ("queue deleted twice", Admin.DELETE_SQ, 0, (60,), 0x101),
    ("admin queue deleted", Admin.DELETE_SQ, 0, (0,), 0x101),
    ("completion queue that is not", Admin.DELETE_CQ, 0, (60,), 0x100),  # as stock does
    ("FDP events of all", Admin.SET_FEATURES, 0xFFFFFFFF, (0x1E, 1 << 16), 0x002),
    ("log page", Admin.GET_LOG, 0xFFFFFFFF, (0x3F << 16 | 0xCC,), 0x002),
    ("identify", Admin.IDENTIFY, 0, (0xEE,), 0x002),
    ("control of the flash", Admin.FLASH, 0, (9,), 0x002),
    ("format", Admin.FORMAT, 1, (0x7,), 0x10A),
)


class Wrong(Exception):
    """The device did what it must not."""


@dataclass
class Pending:
    name: str
    queue: Queue
    cid: int
    ns: int
    buffer: int = -1
    read: tuple[int, int] | None = None  # unit, count: compared with what it sees
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, list[set[int]]]] = field(default_factory=list)
    aborted: bool = False


class Hunt:
    def __init__(self, qemu: Path, seed: int, clock: str) -> None:
        self.seed = seed
        self.pick = random.Random(seed)
        self.realtime = clock == "realtime"
        self.ran: list[int] = []
        self.count = Counter[str]()
        self.digest = hashlib.sha256()
        self.namespaces = self.pick.choice((1, 2))
        controllers = self.pick.choice((1, 1, 2))
        buffered = self.pick.choice(("", f";controller.buffer_bytes={256 * KIB}"))
        link = self.pick.choice((50, 800, 3200))
        args = [
            "-device",
            f"nvme-flash,id=f0,description={DESCRIPTION},clock="
            f"{'realtime' if self.realtime else 'virtual'},cmd-log={{dir}}/f0.cmd,"
            f"overrides=controller.link_mbs={link}{buffered}",
            "-device",
            "nvme-subsys,id=subsys0",
        ]
        for index in range(controllers):
            args += [
                "-device",
                f"nvme,id=nvme{index},serial=s,subsys=subsys0,addr={SLOT + index}",
            ]
        for index in range(self.namespaces):
            args += ["-device", f"nvme-ns,bus=nvme0,flash=f0,nsid={index + 1},size={NS_BYTES}"]
        self.machine = Machine(qemu, args)
        self.kind: type[Controller] = HostController if self.realtime else Controller
        if self.pick.random() < 0.4:
            self.kind = HostShadowController if self.realtime else ShadowController
        self.buffers = []
        helper = Namespace.__new__(Namespace)
        helper.machine = self.machine
        for _ in range(BUFFERS):
            self.buffers.append(Namespace.buffer(helper, MOST_UNITS * UNIT))
        self.idle = list(range(BUFFERS))
        self.page = self.machine.alloc(PAGE)
        self.scratch = self.machine.alloc(2 * UNIT)
        self.lists = [self.machine.alloc(PAGE) for _ in range(BUFFERS)]
        self.arena = self.machine.alloc(0)
        self.models = [Model(NS_BYTES // UNIT) for _ in range(self.namespaces)]
        self.ctrls = [self.kind(self.machine, SLOT + index) for index in range(controllers)]
        self.queues = [
            [c.create_queue() for _ in range(self.pick.choice((1, 2)))] for c in self.ctrls
        ]
        self.pending: list[Pending] = []
        self.next_content = 1

    # ---- commands ----

    def place(self, ns: int, write: bool) -> tuple[int, int] | None:
        model = self.models[ns]
        for _ in range(8):
            count = self.pick.choice((1, 1, 2, 4, self.pick.randint(1, MOST_UNITS)))
            unit = self.pick.randrange(len(model.may_be) - count + 1)
            if self.pick.random() < 0.7:
                unit %= 64
            if unit + count <= len(model.may_be) and model.is_free(unit, count, write):
                return unit, count
        return None

    def start(self) -> None:
        if not self.idle:
            self.wait(self.pick.choice(self.pending))
            return
        kinds: tuple[Callable[[int, int, Queue], Pending | None], ...] = (
            self.start_write,
            self.start_read,
            self.start_zeroes,
            self.start_deallocate,
            self.start_copy,
            self.start_other,
        )
        kind = self.pick.choices(kinds, (6, 6, 2, 2, 2, 2))[0]
        ns = self.pick.randrange(self.namespaces)
        queue = self.pick.choice(self.pick.choice(self.queues))
        pending = kind(ns, self.idle[-1], queue)
        if not pending:
            return
        self.idle.pop()
        for unit, contents in pending.writes:
            self.models[ns].take(unit, len(contents), True)
        for unit, count in pending.reads:
            self.models[ns].take(unit, count, False)
        self.pending.append(pending)
        self.count[pending.name] += 1

    def submit(
        self,
        queue: Queue,
        opcode: int,
        ns: int,
        unit: int,
        count: int,
        more: int = 0,
        buffer: int = -1,
    ) -> int:
        cdw = (unit * SECTORS, 0, count * SECTORS - 1 | more)
        where, flags = self.pointer(buffer, count) if buffer >= 0 else ((0, 0), 0)
        return queue.submit(opcode, ns + 1, where, cdw, flags=flags)

    def pointer(self, buffer: int, count: int) -> tuple[tuple[int, int], int]:
        """PRPs, or a scatter-gather list."""
        addr, prp = self.buffers[buffer]
        if self.pick.random() < 0.6:
            return self.prp(prp, count), 0
        where = sgl.valid(self.machine, self.pick, self.lists[buffer], addr, count * UNIT)
        return where, sgl.FLAG

    def start_write(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        unit, count = place
        numbers = range(self.next_content, self.next_content + count)
        self.next_content += count
        addr, _ = self.buffers[buffer]
        self.machine.write(addr, b"".join(content(number) for number in numbers))
        fua = self.pick.choice((0, 0, 1 << 30))
        cid = self.submit(queue, Op.WRITE, ns, unit, count, fua, buffer)
        writes = [(unit, [{number} for number in numbers])]
        return Pending("write", queue, cid, ns, buffer, writes=writes)

    def prp(self, prp: tuple[int, int], count: int) -> tuple[int, int]:
        if count == 1:
            return prp[0], 0
        return prp if count > 2 else (prp[0], prp[0] + PAGE)

    def start_read(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, False)):
            return None
        addr, _ = self.buffers[buffer]
        self.machine.write(addr, b"\xee" * (place[1] * UNIT))
        cid = self.submit(queue, Op.READ, ns, *place, 0, buffer)
        return Pending("read", queue, cid, ns, buffer, place, [place])

    def start_zeroes(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        cid = self.submit(queue, Op.WRITE_ZEROES, ns, *place)
        return Pending("zeroes", queue, cid, ns, buffer, writes=[(place[0], [{0}] * place[1])])

    def start_deallocate(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if not (place := self.place(ns, True)):
            return None
        unit, count = place
        self.machine.write(
            self.lists[buffer], struct.pack("<IIQ", 0, count * SECTORS, unit * SECTORS)
        )
        cid = queue.submit(Op.DSM, ns + 1, (self.lists[buffer], 0), (0, 4))
        return Pending("deallocate", queue, cid, ns, buffer, writes=[(unit, [{0}] * count)])

    def start_copy(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        source, target = self.place(ns, False), self.place(ns, True)
        if not source or not target:
            return None
        count = min(source[1], target[1], 16)
        if abs(source[0] - target[0]) < count:
            return None
        self.machine.write(
            self.lists[buffer],
            struct.pack("<QQHHIIIHH", 0, source[0] * SECTORS, count * SECTORS - 1, *[0] * 6),
        )
        at = target[0] * SECTORS
        cid = queue.submit(Op.COPY, ns + 1, (self.lists[buffer], 0), (at, 0, 0))
        # A source that nobody has read yet may be one or the other.
        contents = [set(self.models[ns].may_be[source[0] + index]) for index in range(count)]
        return Pending(
            "copy", queue, cid, ns, buffer, None, [(source[0], count)], [(target[0], contents)]
        )

    def start_other(self, ns: int, buffer: int, queue: Queue) -> Pending | None:
        if self.pick.random() < 0.5:
            cid = queue.submit(Op.FLUSH, self.pick.choice((ns + 1, 0xFFFFFFFF)))
            return Pending("flush", queue, cid, ns, buffer)
        place = self.place(ns, False)
        if not place:
            return None
        return Pending(
            "verify", queue, self.submit(queue, Op.VERIFY, ns, *place), ns, buffer, None, [place]
        )

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
        if status:
            raise Wrong(f"{pending.name}: status {status:#x}")
        for unit, contents in pending.writes:
            model.done(unit, contents)
        if pending.read:
            unit, count = pending.read
            data = self.machine.read(self.buffers[pending.buffer][0], count * UNIT)
            if wrong := model.seen(unit, data):
                raise Wrong(f"{pending.name}: {wrong}")

    def cancelled(self, pending: Pending) -> None:
        for unit, contents in pending.writes:
            self.models[pending.ns].cancelled(unit, contents)

    def lose(self, queues: list[Queue]) -> None:
        """What was in them is cancelled, but may have ended before."""
        for pending in [each for each in self.pending if each.queue in queues]:
            self.release(pending)
            self.cancelled(pending)

    # ---- what interrupts ----

    def step(self) -> None:
        if self.realtime:
            time.sleep(self.pick.choice((0, 0.0002)))
        else:
            self.digest.update(
                str(self.machine.step(self.pick.choice((1, 5000, 200_000)))).encode()
            )

    def abort(self) -> None:
        if self.pending:
            victim = self.pick.choice(self.pending)
            victim.aborted = True
            victim.queue.ctrl.check(Admin.ABORT, cdw=(victim.cid << 16 | victim.queue.qid,))

    def renew(self, index: int) -> None:
        self.queues[index] = [self.ctrls[index].create_queue() for _ in self.queues[index]]

    def reset(self) -> None:
        index = self.pick.randrange(len(self.ctrls))
        self.ctrls[index].disable()
        self.lose(self.queues[index])
        self.ctrls[index].enable()
        self.renew(index)

    def reset_function(self) -> None:
        index = self.pick.randrange(len(self.ctrls))
        self.machine.outl(0xCF8, 0x80000000 | SLOT + index << 11 | 0x88)
        self.machine.outl(0xCFC, 1 << 15)
        self.lose(self.queues[index])
        self.ctrls[index] = self.kind(self.machine, SLOT + index)
        self.renew(index)

    def delete_queue(self) -> None:
        index = self.pick.randrange(len(self.ctrls))
        ctrl = self.ctrls[index]
        for queue in self.queues[index]:
            ctrl.check(Admin.DELETE_SQ, cdw=(queue.qid,))
        self.lose(self.queues[index])
        for queue in self.queues[index]:
            ctrl.check(Admin.DELETE_CQ, cdw=(queue.qid,))
        ctrl.queues.clear()
        self.renew(index)

    def format(self) -> None:
        """It waits for what is in flight; what comes after it has ended finds zeroes."""
        ns = self.pick.randrange(self.namespaces)
        self.pick.choice(self.ctrls).check(Admin.FORMAT, ns + 1)
        for pending in [each for each in self.pending if each.ns == ns]:
            # Those were before it, and so was what they read.
            pending.read = None
            self.wait(pending)
        self.models[ns].done(0, [{0}] * len(self.models[ns].may_be))

    def bad(self) -> None:
        ctrl = self.pick.choice(self.ctrls)
        if self.pick.random() < 0.5:
            name, opcode, nsid, cdw, wanted = self.pick.choice(BAD_ADMIN)
            status = ctrl.command(opcode, nsid, self.page, cdw).status
        else:
            name, opcode, nsid, cdw, wanted = self.pick.choice(BAD_IO)
            queue = self.pick.choice(self.queues[self.ctrls.index(ctrl)])
            status = queue.wait(queue.submit(opcode, nsid, (self.page, 0), cdw)).status
        if status != wanted:
            raise Wrong(f"bad {name}: status {status:#x}, wanted {wanted:#x}")

    def bad_sgl(self) -> None:
        queue = self.pick.choice(self.pick.choice(self.queues))
        name, where, wanted = sgl.bad(self.machine, self.pick, self.page, self.scratch, UNIT)
        cid = queue.submit(Op.READ, 1, where, (0, 0, SECTORS - 1), flags=sgl.FLAG)
        if (status := queue.wait(cid).status) != wanted:
            raise Wrong(f"SGL {name}: status {status:#x}, wanted {wanted:#x}")

    def feature(self) -> None:
        """Any namespace, any select, any value: it ends, and QEMU stays up."""
        ctrl = self.pick.choice(self.ctrls)
        nsid = self.pick.choice((0, 1, 2, 9, 0xFFFFFFFE, 0xFFFFFFFF))
        value = self.pick.choice((0, 1, 0xFF, 1 << 16, self.pick.randrange(1 << 32)))
        if self.pick.random() < 0.5:
            fid = self.pick.choice((*FEATURES, 0x05, self.pick.randrange(256)))
            cdw = (self.pick.randrange(8) << 8 | fid, value)
            ctrl.command(0x0A, nsid, self.page, cdw)
        else:
            self.machine.write(self.page, bytes(PAGE))
            fid = self.pick.choice(FEATURES) | self.pick.choice((0, 0, 1 << 31))
            ctrl.command(Admin.SET_FEATURES, nsid, self.page, (fid, value))

    def odd_abort(self) -> None:
        """Of a queue or a command that is not."""
        cdw = self.pick.choice((60, 0xFFFF, self.pick.randrange(1 << 32) | 0x8000))
        self.pick.choice(self.ctrls).command(Admin.ABORT, cdw=(cdw,))

    def doorbells(self) -> None:
        """In memory they are out of range for a while; those of no queue may be anything."""
        ctrl = self.pick.choice(self.ctrls)
        if not isinstance(ctrl, ShadowController):
            return
        self.machine.writel(ctrl.shadow + 60 * 8, self.pick.randrange(1 << 32))
        queue = self.pick.choice(self.queues[self.ctrls.index(ctrl)])
        assert isinstance(queue, ShadowQueue)
        tail, head = self.pick.choice(BAD), self.pick.choice(BAD)
        queue.mislead(tail, head)

    def log_page(self) -> None:
        """At any offset and length: it ends, and QEMU stays up."""
        ctrl = self.pick.choice(self.ctrls)
        lid = self.pick.choice(
            (*range(1, 16), 0x20, 0x21, 0xC0, 0xCA, 0xCB, self.pick.randrange(256))
        )
        dwords = self.pick.choice((0, 1, 127, 1023, self.pick.randrange(1024)))
        offset = self.pick.choice((0, 4, 512, 4096, self.pick.randrange(1 << 32) & ~3))
        cdw = (dwords << 16 | lid, 0, offset, self.pick.choice((0, 0, 0xFFFFFFFF)))
        ctrl.command(Admin.GET_LOG, 0xFFFFFFFF, self.page, cdw)

    def run(self, steps: Iterable[int], commands: int, calm: bool) -> None:
        """Those steps, until there were so many commands."""
        for number in steps:
            if self.count.total() >= commands or self.machine.alloc(0) > self.arena + 64 * MIB:
                break  # or its queues have used up the machine's memory
            self.ran.append(number)
            self.pick = random.Random(f"{self.seed} {number}")
            self.one_step(calm)
        while self.pending:
            self.wait(self.pending[0])
        self.read_all()
        status = self.machine.quit()
        if status or self.machine.stderr():
            raise Wrong(f"QEMU ended with {status}: {self.machine.stderr()}")
        if not self.realtime:
            self.digest.update((self.machine.dir / "f0.cmd").read_bytes())

    def one_step(self, calm: bool) -> None:
        for _ in range(self.pick.randint(1, 12)):
            self.start()
        interruptions = (
            self.step,
            self.abort,
            self.reset,
            self.reset_function,
            self.delete_queue,
            self.format,
            self.bad,
            self.log_page,
            self.bad_sgl,
            self.feature,
            self.odd_abort,
            self.doorbells,
        )
        weights = [40] + [0] * 11 if calm else [40, 10, 2, 1, 2, 1, 10, 10, 8, 8, 2, 8]
        interruption = self.pick.choices(interruptions, weights)[0]
        self.count[interruption.__name__] += 1
        interruption()
        for pending in self.pick.sample(self.pending, self.pick.randint(0, len(self.pending))):
            self.wait(pending)

    def read_all(self) -> None:
        for ns, model in enumerate(self.models):
            for unit in range(0, len(model.may_be), MOST_UNITS):
                addr, _ = self.buffers[0]
                queue = self.queues[0][0]
                cid = self.submit(queue, Op.READ, ns, unit, MOST_UNITS, 0, 0)
                if status := queue.wait(cid).status:
                    raise Wrong(f"read of all: status {status:#x}")
                if wrong := model.seen(unit, self.machine.read(addr, MOST_UNITS * UNIT)):
                    raise Wrong(f"read of all: {wrong}")
