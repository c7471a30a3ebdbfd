# SPDX-License-Identifier: GPL-2.0-or-later
"""A minimal NVMe driver over qtest."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from machine import Machine

PAGE = 4096
SECTOR = 512
QUEUE_ENTRIES = 256
WAIT_STEPS = 100_000
# With which wait_coarsely() begins.
COARSE_NS = 100_000


class Op(IntEnum):
    FLUSH = 0x00
    WRITE = 0x01
    READ = 0x02
    COMPARE = 0x05
    WRITE_ZEROES = 0x08
    DSM = 0x09
    VERIFY = 0x0C
    COPY = 0x19
    ZONE_SEND = 0x79
    ZONE_APPEND = 0x7D


class Admin(IntEnum):
    DELETE_SQ = 0x00
    CREATE_SQ = 0x01
    GET_LOG = 0x02
    DELETE_CQ = 0x04
    CREATE_CQ = 0x05
    IDENTIFY = 0x06
    ABORT = 0x08
    SET_FEATURES = 0x09
    NAMESPACE = 0x0D
    SELF_TEST = 0x14
    FORMAT = 0x80
    SANITIZE = 0x84
    LBA_STATUS = 0x86
    FLASH = 0xC0
    FLASH_SCHEME = 0xC1


class Status(IntEnum):
    OK = 0x000
    INVALID_OPCODE = 0x001
    INVALID_FIELD = 0x002
    ABORT_REQUESTED = 0x007
    INVALID_NSID = 0x00B
    SEQUENCE_ERROR = 0x00C
    SANITIZE_IN_PROGRESS = 0x01D
    LBA_RANGE = 0x080
    FORMAT_IN_PROGRESS = 0x084
    INVALID_FORMAT = 0x10A
    INSUFFICIENT_CAPACITY = 0x115
    NSID_UNAVAILABLE = 0x116
    NAMESPACE_IS_PRIVATE = 0x119
    NOT_ATTACHED = 0x11A
    THIN_NOT_SUPPORTED = 0x11B
    SELF_TEST_IN_PROGRESS = 0x11D
    COMMAND_SET_NOT_SUPPORTED = 0x129
    COMPARE_FAILURE = 0x285
    DULBE = 0x287


FUA = 1 << 30
STATUS_MASK = 0x7FF


@dataclass
class Completion:
    cid: int
    status: int  # without DNR, more and phase
    result: int
    seen_ns: int


class Queue:
    """A submission and completion queue pair."""

    entries = QUEUE_ENTRIES

    def __init__(self, ctrl: Controller, qid: int) -> None:
        self.ctrl = ctrl
        self.qid = qid
        machine = ctrl.machine
        self.sq_addr = machine.alloc(self.entries * 64)
        self.cq_addr = machine.alloc(self.entries * 16)
        machine.write(self.cq_addr, bytes(self.entries * 16))
        self._tail = 0
        self._head = 0
        self._phase = 1
        self._cid = 0
        self._done: dict[int, Completion] = {}

    def submit(
        self,
        opcode: int,
        nsid: int = 0,
        prp: tuple[int, int] = (0, 0),
        cdw: tuple[int, ...] = (),
        ring: bool = True,
        flags: int = 0,
    ) -> int:
        command = self._next(opcode, nsid, prp, cdw, flags)
        self.ctrl.machine.write(self.sq_addr + self._tail * 64, command)
        self._tail = (self._tail + 1) % self.entries
        if ring:
            self.ring()
        return self._cid

    def submit_equal(
        self,
        count: int,
        opcode: int,
        nsid: int,
        prp: tuple[int, int] = (0, 0),
        cdw: tuple[int, ...] = (),
    ) -> list[int]:
        """So many equal commands with one doorbell, much faster than one by one."""
        assert self._tail + count < self.entries
        first = self._cid + 1
        commands = b"".join(self._next(opcode, nsid, prp, cdw) for _ in range(count))
        self.ctrl.machine.write(self.sq_addr + self._tail * 64, commands)
        self._tail += count
        self.ring()
        return list(range(first, first + count))

    def _next(
        self, opcode: int, nsid: int, prp: tuple[int, int], cdw: tuple[int, ...], flags: int = 0
    ) -> bytes:
        self._cid = (self._cid + 1) & 0xFFFF
        dwords = list(cdw) + [0] * (6 - len(cdw))
        return struct.pack(
            "<BBHIQQQQ6I", opcode, flags, self._cid, nsid, 0, 0, prp[0], prp[1], *dwords
        )

    def ring(self) -> None:
        self.ctrl.machine.writel(self.ctrl.bar + 0x1000 + self.qid * 8, self._tail)

    def poll(self, now_ns: int = 0) -> None:
        """Collect what the controller has posted."""
        machine = self.ctrl.machine
        before = self._head
        while True:
            at = self.cq_addr + self._head * 16
            # The phase before the rest, which a thread may be writing just now.
            if machine.read(at + 14, 1)[0] & 1 != self._phase:
                break
            result, _, _, _, cid, status = struct.unpack("<IIHHHH", machine.read(at, 16))
            assert cid not in self._done, f"command {cid} ended twice"
            self._done[cid] = Completion(cid, (status >> 1) & STATUS_MASK, result, now_ns)
            self._head = (self._head + 1) % self.entries
            if self._head == 0:
                self._phase ^= 1
        if self._head != before:
            machine.writel(self.ctrl.bar + 0x1000 + self.qid * 8 + 4, self._head)

    def posted(self) -> dict[int, int]:
        """The status of each command whose completion is in memory, in the queue's first round.

        The controller, which may have forgotten the queue, is told nothing.
        """
        self.ctrl.machine.round_trip()
        entries = self.ctrl.machine.read(self.cq_addr, self.entries * 16)
        return {
            cid: status >> 1 & STATUS_MASK
            for *_, cid, status in struct.iter_unpack("<IIHHHH", entries)
            if status & 1
        }

    def done(self, cid: int, now_ns: int = 0) -> Completion | None:
        self.poll(now_ns)
        return self._done.pop(cid, None)

    def unclaimed(self) -> list[int]:
        """Commands that completed and that nobody has waited for."""
        self.ctrl.machine.round_trip()
        self.poll()
        return sorted(self._done)

    def wait(self, cid: int) -> Completion:
        """Let time pass until the command completes."""
        now_ns = self.ctrl.machine.step(1)
        for _ in range(WAIT_STEPS):
            completion = self.done(cid, now_ns)
            if completion:
                return completion
            now_ns = self.ctrl.machine.step_to_next()
        raise AssertionError(f"queue {self.qid}: command {cid} never completed")

    def wait_coarsely(self, cids: list[int]) -> list[Completion]:
        """Let time pass until all have completed, and at most as long again.

        For tests that do not ask when each did: wait() stops at every event of the machine.
        """
        found: dict[int, Completion] = {}
        now_ns, step_ns = 0, COARSE_NS
        while step_ns < 1 << 60:
            for cid in cids:
                if cid not in found and (completion := self.done(cid, now_ns)):
                    found[cid] = completion
            if len(found) == len(cids):
                return [found[cid] for cid in cids]
            now_ns = self.ctrl.machine.step(step_ns)
            step_ns *= 2
        raise AssertionError(f"queue {self.qid}: {len(cids) - len(found)} commands never completed")


class Controller:
    """An NVMe controller in a given slot of bus 0."""

    queue_class = Queue

    def __init__(self, machine: Machine, slot: int = 4, enable: bool = True) -> None:
        self.machine = machine
        self.bar = 0xD0000000 + slot * 0x100000
        self.place(slot, 0, self.bar)
        self._config_write(slot, 0x04, 0x06)  # memory, bus master
        if enable:
            self.enable()

    def place(self, slot: int, number: int, address: int) -> None:
        """Where one of its regions is in memory, of 64 bits."""
        self._config_write(slot, 0x10 + 4 * number, address)
        self._config_write(slot, 0x14 + 4 * number, 0)

    def _config_write(self, slot: int, offset: int, value: int) -> None:
        self.machine.outl(0xCF8, 0x80000000 | slot << 11 | offset)
        self.machine.outl(0xCFC, value)

    def _wait_ready(self, ready: int) -> None:
        for _ in range(1000):
            if self.machine.readl(self.bar + 0x1C) & 1 == ready:
                return
            self.machine.step(1000)
        raise AssertionError("the controller does not change to " + ("ready" if ready else "idle"))

    def enable(self) -> None:
        self.ask_enable()
        self._wait_ready(1)

    def ask_enable(self) -> None:
        self.admin = self.queue_class(self, 0)
        entries = QUEUE_ENTRIES - 1
        self.machine.writel(self.bar + 0x24, entries << 16 | entries)
        for offset, addr in ((0x28, self.admin.sq_addr), (0x30, self.admin.cq_addr)):
            self.machine.writel(self.bar + offset, addr)
            self.machine.writel(self.bar + offset + 4, 0)
        self.machine.writel(self.bar + 0x14, 0x00460061)  # IOCQES 4, IOSQES 6, CSS all, EN
        self.queues: list[Queue] = []

    def wait_ready(self) -> int:
        """Let time pass until it is ready; returns for how long the host has waited."""
        began = now = self.machine.step(1) - 1
        for _ in range(WAIT_STEPS):
            if self.machine.readl(self.bar + 0x1C) & 1:
                return now - began
            now = self.machine.step_to_next()
        raise AssertionError("the controller does not become ready")

    def disable(self) -> None:
        self.machine.writel(self.bar + 0x14, 0)
        self._wait_ready(0)

    def shutdown(self) -> None:
        self.notify_shutdown()
        self.wait_for_shutdown()

    def notify_shutdown(self) -> None:
        self.machine.writel(self.bar + 0x14, 0x00464061)  # SHN: normal

    def wait_for_shutdown(self) -> None:
        for _ in range(WAIT_STEPS):
            if self.machine.readl(self.bar + 0x1C) & 0xC == 0x8:
                return
            self.machine.step_to_next()
        raise AssertionError("the controller does not shut down")

    def command(
        self, opcode: int, nsid: int = 0, data: int = 0, cdw: tuple[int, ...] = ()
    ) -> Completion:
        return self.admin.wait(self.admin.submit(opcode, nsid, (data, 0), cdw))

    def check(self, opcode: int, nsid: int = 0, data: int = 0, cdw: tuple[int, ...] = ()) -> None:
        completion = self.command(opcode, nsid, data, cdw)
        if completion.status:
            raise AssertionError(f"admin {opcode:#x}: status {completion.status:#x}")

    def create_queue(self) -> Queue:
        queue = self.queue_class(self, len(self.queues) + 1)
        self.queues.append(queue)
        size = (queue.entries - 1) << 16 | queue.qid
        self.check(Admin.CREATE_CQ, data=queue.cq_addr, cdw=(size, 1))
        self.check(Admin.CREATE_SQ, data=queue.sq_addr, cdw=(size, queue.qid << 16 | 1))
        return queue

    def identify(self, cns: int, nsid: int = 0) -> bytes:
        buffer = self.machine.alloc(PAGE)
        self.check(Admin.IDENTIFY, nsid, buffer, (cns,))
        return self.machine.read(buffer, PAGE)

    def get_log(self, lid: int, size: int, nsid: int = 0xFFFFFFFF) -> tuple[int, bytes]:
        buffer = self.machine.alloc(PAGE)
        assert size <= PAGE
        done = self.command(Admin.GET_LOG, nsid, buffer, ((size // 4 - 1) << 16 | lid,))
        return done.status, self.machine.read(buffer, size)


class Namespace:
    """Reads and writes of one namespace through one queue pair."""

    def __init__(self, queue: Queue, nsid: int = 1, block: int = SECTOR) -> None:
        self.queue = queue
        self.machine = queue.ctrl.machine
        self.nsid = nsid
        self.block = block

    def buffer(self, size: int) -> tuple[int, tuple[int, int]]:
        """Guest memory and the PRPs that describe it."""
        addr = self.machine.alloc(size)
        pages = [addr + offset for offset in range(0, size, PAGE)]
        if len(pages) <= 2:
            return addr, (addr, pages[1] if len(pages) == 2 else 0)
        prp_list = self.machine.alloc(PAGE)
        self.machine.write(prp_list, struct.pack(f"<{len(pages) - 1}Q", *pages[1:]))
        return addr, (addr, prp_list)

    def _cdw(self, offset: int, size: int, flags: int = 0) -> tuple[int, ...]:
        assert offset % self.block == 0 and size % self.block == 0
        slba = offset // self.block
        return slba & 0xFFFFFFFF, slba >> 32, (size // self.block - 1) | flags

    def start(
        self,
        opcode: int,
        offset: int,
        size: int,
        prp: tuple[int, int] = (0, 0),
        flags: int = 0,
        ring: bool = True,
        dsm: int = 0,
    ) -> int:
        cdw = (*self._cdw(offset, size, flags), dsm)
        return self.queue.submit(opcode, self.nsid, prp, cdw, ring)

    def write(self, offset: int, data: bytes, flags: int = 0) -> Completion:
        addr, prp = self.buffer(len(data))
        self.machine.write(addr, data)
        return self.queue.wait(self.start(Op.WRITE, offset, len(data), prp, flags))

    def read(self, offset: int, size: int) -> bytes:
        addr, prp = self.buffer(size)
        self.machine.write(addr, b"\xee" * size)
        done = self.queue.wait(self.start(Op.READ, offset, size, prp))
        if done.status:
            raise AssertionError(f"read: status {done.status:#x}")
        return self.machine.read(addr, size)

    def compare(self, offset: int, data: bytes) -> int:
        addr, prp = self.buffer(len(data))
        self.machine.write(addr, data)
        return self.queue.wait(self.start(Op.COMPARE, offset, len(data), prp)).status

    def simple(self, opcode: int, offset: int, size: int, flags: int = 0) -> int:
        return self.queue.wait(self.start(opcode, offset, size, flags=flags)).status

    def flush(self) -> int:
        return self.queue.wait(self.queue.submit(Op.FLUSH, self.nsid)).status

    def deallocate(self, ranges: list[tuple[int, int]]) -> int:
        addr = self.machine.alloc(PAGE)
        self.machine.write(
            addr,
            b"".join(
                struct.pack("<IIQ", 0, size // self.block, offset // self.block)
                for offset, size in ranges
            ),
        )
        cid = self.queue.submit(Op.DSM, self.nsid, (addr, 0), (len(ranges) - 1, 4))
        return self.queue.wait(cid).status

    def copy(self, source: int, target: int, size: int) -> int:
        addr = self.machine.alloc(PAGE)
        self.machine.write(
            addr,
            struct.pack(
                "<QQHHIIIHH", 0, source // self.block, size // self.block - 1, 0, 0, 0, 0, 0, 0
            ),
        )
        slba = target // self.block
        cid = self.queue.submit(Op.COPY, self.nsid, (addr, 0), (slba & 0xFFFFFFFF, slba >> 32, 0))
        return self.queue.wait(cid).status
