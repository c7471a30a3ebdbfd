# SPDX-License-Identifier: GPL-2.0-or-later
"""Controllers whose doorbells are in memory, too, where a guest may write anything."""

from __future__ import annotations

from nvme import PAGE, QUEUE_ENTRIES, Controller, Queue

from guest import (
    RealController,
    RealQueue,
    SharedMachine,
    SharedQueue,
    VirtualController,
    VirtualQueue,
)

CONFIG = 0x7C
# Of no queue, as head or as tail.
BAD = (QUEUE_ENTRIES, QUEUE_ENTRIES + 1, 0x7FFF, 0x10001, 0xFFFFFFFF)


class ShadowQueue(SharedQueue):
    def place(self) -> int:
        """Where its tail is in memory, and then its head; 0: nowhere."""
        shadow: int = getattr(self.ctrl, "shadow", 0)
        return shadow + self.qid * 8 if shadow and self.qid else 0

    def ring(self) -> None:
        if place := self.place():
            self.ctrl.machine.writel(place, self._tail)
        super().ring()

    def poll(self, now_ns: int = 0) -> None:
        before = self._head
        super().poll(now_ns)
        if (place := self.place()) and self._head != before:
            self.ctrl.machine.writel(place + 4, self._head)

    def mislead(self, tail: int, head: int) -> None:
        """Both are what they cannot be, for a moment."""
        if not (place := self.place()):
            return
        machine, registers = self.ctrl.machine, self.ctrl.bar + 0x1000 + self.qid * 8
        assert isinstance(machine, SharedMachine)
        # A register that comes late says a tail of before.  The one in memory is newer, as long as
        # it is one at all; else the commands in between would be served once more.
        machine.settle()
        machine.writel(place, tail)
        machine.writel(place + 4, head)
        machine.writel(registers, self._tail)
        machine.writel(registers + 4, self._head)
        machine.step(1000)
        machine.writel(place + 4, self._head)
        self.ring()


class VirtualShadowQueue(ShadowQueue, VirtualQueue):
    pass


class HostShadowQueue(ShadowQueue, RealQueue):
    pass


class ShadowController(Controller):
    queue_class: type[Queue] = ShadowQueue
    shadow = 0

    def enable(self) -> None:
        self.shadow = 0
        super().enable()
        assert isinstance(self.machine, SharedMachine)
        shadow = self.machine.again((self.bar, "doorbells"), PAGE)
        events = self.machine.again((self.bar, "events"), PAGE)
        self.machine.write(shadow, bytes(PAGE))
        self.shadow_and_events = shadow, events
        self.configure()
        self.shadow = shadow

    def configure(self) -> None:
        """Also once more, where they are: queues that there are keep what they have."""
        self.admin.wait(self.admin.submit(CONFIG, 0, self.shadow_and_events))

    def create_queue(self) -> Queue:
        # What an earlier queue of this number has left there is not the new one's.
        self.machine.write(self.shadow + (len(self.queues) + 1) * 8, bytes(8))
        return super().create_queue()


class VirtualShadowController(ShadowController, VirtualController):
    queue_class = VirtualShadowQueue


class HostShadowController(ShadowController, RealController):
    queue_class = HostShadowQueue
