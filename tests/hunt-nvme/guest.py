# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine that does not wait for what it writes to registers."""

from __future__ import annotations

from pathlib import Path

from machine import RAM_BYTES, Machine
from nvme import QUEUE_ENTRIES, Completion, Controller, Queue
from test_realtime import HostController, HostQueue

# A pause while a command is waited for; each is twice the last one, up to the longest.
FIRST_NS, LONGEST_NS = 20_000, 5_000_000
WAITS = 4_000  # twenty seconds of the drive's clock


class SharedMachine(Machine):
    """Writes of registers are not waited for, until something is asked."""

    # With 0 the host's speed does not decide what a write of a register meets.
    most_unanswered = 64
    hang_s = 60.0  # on the host's clock all that a drive can have lasts for few seconds

    def __init__(self, qemu: Path, args: list[str]) -> None:
        self.commands = 0  # so many were submitted
        self._unanswered = 0
        self._kept: dict[object, int] = {}
        # One that does not start is closed, too.
        self._words = memoryview(b"").cast("I")
        super().__init__(qemu, args)
        self._words = memoryview(self.memory).cast("I")

    def command(self, text: str) -> str:
        self._qtest.send(text)
        while True:
            line = self._qtest.readline()
            if line.startswith("IRQ"):
                continue
            if not line.startswith("OK"):
                raise AssertionError(f"qtest: {text[:80]}: {line}")
            if not self._unanswered:
                return line[3:]
            self._unanswered -= 1

    def writel(self, addr: int, value: int) -> None:
        """In the order of all commands, but nobody waits for its end."""
        if addr < RAM_BYTES:
            # All of it at once: another thread may be reading the doorbell that it is.
            self._words[addr // 4] = value
            return
        self._qtest.send(f"writel {addr:#x} {value:#x}")
        self._unanswered += 1
        if self._unanswered > self.most_unanswered:
            self.settle()

    def settle(self) -> None:
        """All that was sent has been done."""
        if self._unanswered:
            self.round_trip()

    def read(self, addr: int, size: int) -> bytes:
        self.settle()
        return super().read(addr, size)

    def again(self, key: object, size: int) -> int:
        """Memory for it, the same each time."""
        if key not in self._kept:
            self._kept[key] = self.alloc(size)
        return self._kept[key]

    def close(self) -> None:
        self._words.release()
        super().close()


class SharedQueue(Queue):
    """Looks at the completion that comes next, and asks no device for it."""

    def __init__(self, ctrl: Controller, qid: int) -> None:
        """A queue has the memory of the one before it, which may post no more."""
        self.ctrl = ctrl
        self.qid = qid
        machine = ctrl.machine
        assert isinstance(machine, SharedMachine)
        self.sq_addr = machine.again((ctrl.bar, qid, "SQ"), QUEUE_ENTRIES * 64)
        self.cq_addr = machine.again((ctrl.bar, qid, "CQ"), QUEUE_ENTRIES * 16)
        # Of a queue that is to be in the controller's memory.
        self.sq_addr = getattr(ctrl, "sq_places", {}).get(qid, self.sq_addr)
        machine.settle()
        machine.write(self.cq_addr, bytes(QUEUE_ENTRIES * 16))
        self._tail = 0
        self._head = 0
        self._phase = 1
        self._cid = 0
        self._done = {}

    def submit(
        self,
        opcode: int,
        nsid: int = 0,
        prp: tuple[int, int] = (0, 0),
        cdw: tuple[int, ...] = (),
        ring: bool = True,
        flags: int = 0,
    ) -> int:
        assert isinstance(self.ctrl.machine, SharedMachine)
        self.ctrl.machine.commands += 1
        return super().submit(opcode, nsid, prp, cdw, ring, flags)

    def poll(self, now_ns: int = 0) -> None:
        machine = self.ctrl.machine
        assert isinstance(machine, SharedMachine)
        machine.settle()
        if machine.memory[self.cq_addr + self._head * 16 + 14] & 1 == self._phase:
            super().poll(now_ns)


class VirtualQueue(SharedQueue):
    def wait(self, cid: int) -> Completion:
        step = FIRST_NS
        for _ in range(WAITS):
            if done := self.done(cid):
                return done
            self.ctrl.machine.step(step)
            step = min(2 * step, LONGEST_NS)
        raise AssertionError(f"queue {self.qid}: command {cid} never completed")


class VirtualController(Controller):
    queue_class = VirtualQueue


class RealQueue(SharedQueue, HostQueue):
    pass


class RealController(HostController):
    queue_class = RealQueue
